<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Plan\Subject;
use Larder\Lab\Run\Context;
use Larder\Lab\Service\Account;
use Larder\Lab\Service\Command;
use Larder\Lab\Service\Network;
use Larder\Lab\Service\Place;
use Larder\Lab\Service\RedisServer;
use Larder\Lab\Service\Service;
use Larder\Lab\Service\ServiceFailure;

/**
 * The sites that the scenarios measure: one a subject, with a database, a php-fpm and a web server of its own, brought
 * up when it is first asked for, and there until the run ends. They differ in nothing but their object cache.
 *
 * Of a subject's parameters those in capitals are constants for wp-config.php, "dropin" names a drop-in, and "plugin" is
 * the directory of a plugin or "larder". {socket}, {host} and {port} stand for Redis's, {shared} for a
 * directory in memory.
 */
final class Stage
{
    public const WORKERS = 4;

    /** As on a site that visitors see; and OPcache with room for all of WordPress. */
    private const CONSTANTS = ['WP_DEBUG' => false, 'WP_DEBUG_DISPLAY' => false, 'WP_CACHE_KEY_SALT' => 'lab'];
    private const INI = [
        'memory_limit' => '512M', 'max_execution_time' => 300, 'opcache.enable_cli' => 0, 'opcache.memory_consumption' => 192,
        'opcache.max_accelerated_files' => 16_000, 'opcache.revalidate_freq' => 2, 'apc.shm_size' => '128M',
    ];

    /** @var array<string, Site> */
    private array $sites = [];
    private ?string $plugin = null;

    public function __construct(private readonly Choice $choice) {}

    public function site(Subject $subject, Context $context): Site
    {
        return $this->sites[$subject->name] ??= $this->make($subject, $context);
    }

    /** The Redis that a subject's cache lies in, or may lie in; null: no server. */
    public function server(Subject $subject, Context $context): ?RedisServer
    {
        $service = self::service($subject, $context);
        $server = $service instanceof Network ? $service->server : $service;

        return $server instanceof RedisServer ? $server : null;
    }

    /** How often Redis has read from a connection so far, not counting this question. */
    public static function packets(RedisServer $server): int
    {
        $answer = Place::answer('unix://' . $server->address()['socket'], "INFO stats\r\nQUIT\r\n");

        return \preg_match('/^total_reads_processed:(\d+)/m', $answer, $found) === 1 ? (int) $found[1] : 0;
    }

    /** Other processes for php-fpm's workers; what they share in memory stays, as compiled files do. */
    public static function renew(Site $site): void
    {
        $old = $site->fpm->workers();
        foreach ($old as $pid) {
            \posix_kill($pid, \SIGQUIT);
        }
        $site->fpm->awaitOthers($old);
    }

    /** As a machine that starts again leaves it: nothing in any process's memory. The database goes on, and so does the boot's id. */
    public function reboot(Subject $subject, Context $context): void
    {
        $site = $this->site($subject, $context);
        $site->fpm->stop();
        $shared = self::shared($subject, $context, false);
        Command::run(['find', $shared, '-mindepth', '1', '-delete']);
        $site->fpm->start();
    }

    private static function service(Subject $subject, Context $context): ?Service
    {
        return $subject->service === null ? null : $context->services->get($subject->service);
    }

    private function make(Subject $subject, Context $context): Site
    {
        $site = new Site(new Options(
            version: $this->choice->wordpress,
            constants: $this->constants($subject, $context) + self::CONSTANTS,
            ini: \array_map(fn(string|int $value): string|int => $this->fill($value, $subject, $context), $subject->ini) + self::INI,
            workers: self::WORKERS,
            errors: \E_ALL & ~\E_DEPRECATED,
            seed: Shop::seed(),
        ));
        Shop::furnish($site);
        // A WordPress that was given may have one.
        $site->removeDropIn();
        $this->install($subject, $site, $context);
        Stopwatch::mount($site);
        $site->restart();
        $context->services->tell($site->database, $site->nginx, $site->fpm);
        $context->services->note('WordPress', $site->release->version);

        return $site;
    }

    private function install(Subject $subject, Site $site, Context $context): void
    {
        $plugin = (string) ($subject->parameters['plugin'] ?? '');
        $directory = $plugin === 'larder' ? $this->larder($context) : $plugin;
        if ($directory !== '') {
            $name = \basename($directory);
            $copy = Command::run(['cp', '--archive', '--dereference', $directory, $site->content("plugins/$name")], 60.0);
            $copy->succeeded || throw new ServiceFailure("Cannot copy the plugin $directory: $copy->errors");
            $site->account->receive($site->content('plugins'));
        }
        $dropIn = $plugin === 'larder' ? "$directory/drop-ins/object-cache.php" : (string) ($subject->parameters['dropin'] ?? '');
        $dropIn === '' || $site->putDropIn($dropIn);
        $main = $directory === '' ? null : self::main($directory);
        if ($main !== null) {
            $site->activate(\basename($directory) . "/$main");
        }
    }

    /** The plugin as it is installed, built once a run. */
    private function larder(Context $context): string
    {
        if ($this->plugin === null) {
            $build = Command::run([\dirname(__DIR__, 2) . '/wordpress/build', "$context->directory/plugin"], 60.0);
            $build->succeeded || throw new ServiceFailure("Larder's plugin cannot be built: $build->errors");
            $this->plugin = "$context->directory/plugin/larder";
        }

        return $this->plugin;
    }

    /** A plugin's main file: the one that names it in its first comment. */
    private static function main(string $directory): ?string
    {
        foreach (\glob("$directory/*.php") ?: [] as $file) {
            if (\preg_match('/^[ \t\/*#@]*Plugin Name:/mi', (string) \file_get_contents($file, false, null, 0, 8_192)) === 1) {
                return \basename($file);
            }
        }

        return null;
    }

    /** @return array<string, string|int> */
    private function constants(Subject $subject, Context $context): array
    {
        $constants = [];
        foreach ($subject->parameters as $name => $value) {
            if ($name === \strtoupper($name)) {
                $constants[$name] = $this->fill($value, $subject, $context);
            }
        }

        return $constants;
    }

    private function fill(string|int $value, Subject $subject, Context $context): string|int
    {
        if (!\is_string($value) || !\str_contains($value, '{')) {
            return $value;
        }
        if (\str_contains($value, '{shared}')) {
            return \str_replace('{shared}', self::shared($subject, $context, true), $value);
        }
        $address = self::service($subject, $context)?->address() ?? [];
        if (isset($address['socket'])) {
            $context->services->directory()->open();
            // The pool's user passes through to what is its own.
            \chmod(\dirname((string) $address['socket']), 0o711);
            Account::ofServers()->receive((string) $address['socket']);
        }
        foreach ($address as $name => $part) {
            // A port by itself stays a number.
            $value = $value === "{{$name}}" ? $part : \str_replace("{{$name}}", (string) $part, (string) $value);
        }

        return $value;
    }

    /** Where files in memory are this subject's; its php-fpm may write there. */
    private static function shared(Subject $subject, Context $context, bool $make): string
    {
        $memory = $context->services->memory()->open();
        $path = $memory->file('site-' . \strtr($subject->name, ':', '-'));
        if ($make && !\is_dir($path)) {
            \mkdir($path, 0o700);
            Account::ofServers()->receive($path);
        }

        return $path;
    }
}
