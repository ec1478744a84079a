<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

use Larder\Lab\Service\Account;
use Larder\Lab\Service\ApacheServer;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\NginxServer;
use Larder\Lab\Service\PhpFpmServer;
use Larder\Lab\Service\Server;
use Larder\Tests\Page\Files\Site;
use Symfony\Component\Process\Process;

/**
 * Through PageCache in php-fpm, behind a web server: the script reads from a file what the application answers. With the fast door
 * it notes where that has its constants, and that it came so far.
 */
final class FpmDoor implements Door
{
    private const SCRIPT = <<<'PHP'
        <?php
        %s
        require %s;
        $told = json_decode((string) file_get_contents(__DIR__ . '/told'), true);
        (new Larder\Page\PageCache(Larder\Cache::open($told['cache']), $told['options']))->start();
        $asked = [];
        foreach ($_SERVER as $name => $value) {
            if (str_starts_with($name, 'HTTP_')) {
                $asked[strtolower(strtr(substr($name, 5), '_', '-'))] = [$value];
            }
        }
        file_put_contents(__DIR__ . '/asked', json_encode($asked));
        foreach ($told['lines'] as $line) {
            header($line, false);
        }
        http_response_code($told['answers']);
        echo $told['body'];
        PHP;

    /** Seconds, on a machine on which much else runs. */
    private const PATIENCE = 60;

    private readonly Directory $directory;
    private readonly string $root;
    private readonly string $static;
    private readonly PhpFpmServer $fpm;
    private readonly Server $server;

    /** @var array<string, mixed> of the cache, and of the page cache */
    private array $cache = [];
    /** @var array<string, mixed> */
    private array $options = [];

    private const FAST = <<<'PHP'
        require %s;
        file_put_contents(__DIR__ . '/place', Larder\Page\Serve::$place);
        PHP;

    /**
     * @param bool                  $isFast  with larder-serve.php
     * @param ?array<string, mixed> $sends   the page cache's options, as the web server is told them which sends files of
     *                                       pages; null: it sends none
     * @param string                $kind    of the web server: nginx or apache
     */
    public function __construct(bool $isFast = false, private readonly ?array $sends = null, string $kind = 'nginx')
    {
        $this->directory = Directory::temporary()->open();
        $root = $this->directory->sub('www')->open();
        $this->fpm = new PhpFpmServer($this->directory, Account::own(), 2, [
            'default_charset' => '', 'expose_php' => 0, 'log_errors' => 1,
            // Says the status at 200 too, which web servers otherwise take for 302 where there is a Location.
            'cgi.nph' => 1,
            // Each rule has a cache and options of its own, and so the fast door other constants.
            'opcache.enable' => 0,
        ]);
        $this->fpm->start();
        $larder = \dirname(__DIR__, 3);
        $fast = $isFast ? \sprintf(self::FAST, \var_export("$larder/larder-serve.php", true)) : '';
        \file_put_contents($root->file('index.php'), \sprintf(self::SCRIPT, $fast, \var_export("$larder/vendor/autoload.php", true)));
        $this->root = $root->path;
        $this->static = $this->directory->file('static');
        $configuration = $sends === null ? '' : Site::printed($kind, $root->path, $this->static, $sends);
        $socket = $this->fpm->socket();
        $this->server = match (true) {
            $kind === 'apache' => new ApacheServer($this->directory, Account::ofServers(), $root->path, $socket, [$configuration]),
            $sends === null => new NginxServer($this->directory, Account::ofServers(), $root->path, $socket, ['if_modified_since off;', 'gzip off;', 'max_ranges 0;']),
            default => new NginxServer($this->directory, Account::ofServers(), $root->path, $socket, [], [], "$configuration\nlocation @php {\n{php}\nfastcgi_param HTTP_HOST \$http_host;\nfastcgi_param SCRIPT_FILENAME $root->path/index.php;\n}\n"),
        };
        // The web server is another user than PHP, where the tests can have another one.
        \chmod($socket, 0o666);
        \chmod(\dirname($socket), 0o711);
        $this->server->start();
    }

    public function stop(): void
    {
        $this->server->stop();
        $this->fpm->stop();
        foreach (\glob("$this->root/place*") ?: [] as $file) {
            $place = (string) \file_get_contents($file);
            \array_map(\unlink(...), $place === '' ? [] : (\glob("$place/*") ?: []));
            \is_dir($place) && \rmdir($place);
        }
        $this->directory->remove();
    }

    /** Whether the fast door has left the last request to start(). */
    public function isStarted(): bool
    {
        \clearstatcache();

        return \is_file("$this->root/place");
    }

    /**
     * @param array<string, mixed> $cache
     * @param array<string, mixed> $options
     */
    public function over(array $cache, array $options): self
    {
        [$this->cache, $this->options] = [$cache, $options];
        if ($this->sends !== null) {
            // The files of another cache.
            (new Process(['rm', '-rf', $this->static]))->mustRun();
            $this->options['static'] = $this->static;
        }

        return $this;
    }

    public function origin(): string
    {
        return 'http://' . \implode(':', $this->server->address());
    }

    public function visit(Step $step, string $body): Visit
    {
        $asked = "$this->root/asked";
        \is_file($asked) && \unlink($asked);
        \is_file("$this->root/place") && \rename("$this->root/place", "$this->root/place-before");
        $lines = $step->lines;
        if ($this->sends !== null && $step->answers !== 304 && \preg_grep('/^Content-Type:/i', $lines) === []) {
            // The only type of which nginx sends files.
            $lines[] = 'Content-Type: text/html; charset=utf-8';
        }
        $told = ['cache' => $this->cache, 'options' => $this->options, 'answers' => $step->answers, 'lines' => $lines, 'body' => $body];
        // In one step, for a renewal in the background may be reading it.
        \file_put_contents("$this->root/telling", \json_encode($told, \JSON_THROW_ON_ERROR));
        \rename("$this->root/telling", "$this->root/told");
        // HTTP/1.0, so that the body is not cut into chunks.
        $request = "$step->method $step->target HTTP/1.0\r\nHost: " . \substr($this->origin(), 7) . "\r\n";
        foreach ($step->fields as $name => $value) {
            $request .= "$name: $value\r\n";
        }
        $request .= (\in_array($step->method, ['GET', 'HEAD'], true) ? '' : "Content-Length: 0\r\n") . "\r\n";
        $socket = \stream_socket_client('tcp://' . \substr($this->origin(), 7), timeout: self::PATIENCE) ?: throw new \RuntimeException('The web server cannot be reached.');
        \stream_set_timeout($socket, self::PATIENCE);
        \fwrite($socket, $request);
        $answer = (string) \stream_get_contents($socket);
        [$head, $body] = \explode("\r\n\r\n", $answer, 2) + [1 => ''];
        $lines = \explode("\r\n", $head);
        $fields = [];
        foreach (\array_slice($lines, 1) as $line) {
            [$name, $value] = \explode(':', $line, 2) + [1 => ''];
            $fields[\strtolower($name)][] = \trim($value);
        }
        /** @var ?array<string, list<string>> $seen */
        $seen = \is_file($asked) ? \json_decode((string) \file_get_contents($asked), true) : null;

        return new Visit((int) (\explode(' ', $lines[0])[1] ?? 0), $fields, $body, $seen);
    }
}
