<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Config\InvalidConfiguration;
use Larder\Console\Support\Place;
use Larder\Page\Files\ApacheConfiguration;
use Larder\Page\Files\FileOptions;
use Larder\Page\Files\NginxConfiguration;
use Larder\Page\Files\Patterns;
use Larder\Page\Files\VarnishConfiguration;
use Larder\Page\Proxies;
use Larder\Page\RequestKey;
use Larder\Page\Settings;
use Larder\System\Quiet;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Exception\InvalidArgumentException;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('page:config', 'Print what a web server needs to send stored pages by itself')]
final class PageConfigCommand extends PageCommand
{
    /** Seconds after which Varnish asks again: what came to it while it was purged ends then. */
    private const LIFE = 60;

    /** Links to the machine's time zone (localtime(5)). */
    private const LOCALTIME = '/etc/localtime';

    protected function configure(): void
    {
        parent::configure();
        $this
            ->addArgument('server', InputArgument::REQUIRED, 'nginx, apache or varnish')
            ->addOption('root', null, InputOption::VALUE_REQUIRED, 'The site\'s document root')
            ->addOption('static', null, InputOption::VALUE_REQUIRED, 'The directory of the page cache\'s option "static" (default: that of --options, else --root)')
            ->addOption('module', null, InputOption::VALUE_REQUIRED | InputOption::VALUE_IS_ARRAY, 'nginx has this module: br (ngx_brotli), zstd (zstd-nginx-module)')
            ->addOption('backend', null, InputOption::VALUE_REQUIRED, 'The web server behind Varnish', '127.0.0.1:8080')
            ->addOption('output', null, InputOption::VALUE_REQUIRED, 'Write it to this file, whole or not at all (default: standard output)')
            ->addOption('timezone', null, InputOption::VALUE_REQUIRED, 'Apache\'s time zone (default: this machine\'s)')
            ->setHelp(<<<'HELP'
                Prints what stands inside nginx's server { } or inside Apache's <VirtualHost>. They send the pages that the page cache
                writes to its directory "static", and ask PHP for everything else: nginx in the location @php, which your own
                configuration defines.

                  <info>%command.full_name% nginx --root=/var/www/shop --static=/var/lib/shop/pages --output=/etc/nginx/snippets/pages.conf</info>
                  <info>%command.full_name% apache --root=/var/www/shop --options=page-options.php</info>

                For Varnish it prints a VCL, which keeps what the page cache has stored and removes what is purged: name Varnish's
                address in the page cache's option "proxies".

                  <info>%command.full_name% varnish --backend=127.0.0.1:8080 --output=/etc/varnish/default.vcl</info>

                With ">" in the place of --output the shell would empty the file before this command can fail. Print it again when you change the page cache's options.
                HELP);
    }

    protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int
    {
        $given = self::owners($cache, $input)->given();
        $root = self::directory(self::text($input, 'root'), 'root');
        $static = self::text($input, 'static');
        if ($static !== null || $root !== null) {
            $given['static'] = $static ?? $given['static'] ?? $root;
        }
        $settings = Settings::from($given);
        $files = $settings->files;
        $server = self::argument($input, 'server');
        $guarded = \array_filter([...Patterns::VISITORS, ...RequestKey::OVERRIDES, ...RequestKey::KEYED], static fn(string $name): bool => !RequestKey::matches($name, $settings->rules['ignoredFields']));
        $variables = [...RequestKey::IDENTITY, ...$guarded, ...($settings->rules['clientControl'] ? ['HTTP_CACHE_CONTROL', 'HTTP_PRAGMA'] : [])];
        $patterns = new Patterns($settings->rules['ignoredCookies'], $settings->rules['ignoredQuery'], $variables, RequestKey::ACCEPT);
        if ($server === 'varnish') {
            [$host, $port] = self::backend(self::text($input, 'backend') ?? '');
            $life = $given['staticLife'] ?? self::LIFE;

            return self::deliver($input, $output, VarnishConfiguration::text($patterns, Proxies::FIELD, $host, $port, \is_int($life) ? $life : self::LIFE));
        }
        if ($files === null) {
            throw new InvalidArgumentException('Name the directory of the pages: --static=/var/lib/shop/pages, or --root.');
        }

        return self::deliver($input, $output, match ($server) {
            'nginx' => NginxConfiguration::text($patterns, $root ?? $files->directory, $files->directory, $files->sent(), self::words($input->getOption('module'))),
            'apache' => ApacheConfiguration::text($patterns, $files->directory, $files->sent(), self::zone(self::text($input, 'timezone'))),
            default => throw InvalidConfiguration::choice('server', $server, ['nginx', 'apache', 'varnish']),
        });
    }

    private static function deliver(InputInterface $input, OutputInterface $output, string $text): int
    {
        $file = self::text($input, 'output');
        if ($file === null) {
            $output->write($text, false, OutputInterface::OUTPUT_RAW);

            return Application::OK;
        }
        $new = $file . '.' . \bin2hex(\random_bytes(4));
        $isWritten = Quiet::call(static fn(): bool => \file_put_contents($new, $text) === \strlen($text) && \chmod($new, 0o644) && \rename($new, $file));
        if (!$isWritten) {
            $reason = Quiet::$reason;
            \is_file($new) && \unlink($new);
            throw new InvalidArgumentException("$file cannot be written: $reason");
        }

        return Application::OK;
    }

    /** A path that stands in a configuration. */
    private static function directory(?string $path, string $option): ?string
    {
        if ($path !== null && FileOptions::path($path) === null) {
            throw InvalidConfiguration::wrongType($option, FileOptions::PATH, $path);
        }

        return $path === null ? null : FileOptions::path($path);
    }

    /**
     * @return array{string, int}
     *
     * @throws InvalidArgumentException
     */
    private static function backend(string $given): array
    {
        return \preg_match('/^([\w.-]+):([0-9]{1,5})$/D', $given, $part) === 1 ? [$part[1], (int) $part[2]] : throw new InvalidArgumentException('Write --backend=127.0.0.1:8080, the address of the web server behind Varnish.');
    }

    private static function zone(?string $given): string
    {
        $link = \is_link(self::LOCALTIME) ? (string) \realpath(self::LOCALTIME) : '';
        $zone = $given ?? (\preg_match('~/zoneinfo/(.+)$~', $link, $part) === 1 ? $part[1] : 'UTC');

        return \in_array($zone, \timezone_identifiers_list(\DateTimeZone::ALL_WITH_BC), true) ? $zone : throw InvalidConfiguration::choice('timezone', $zone, \timezone_identifiers_list());
    }
}
