<?php

declare(strict_types=1);

namespace Larder\Lab\Web;

use Larder\Bridge\Laravel\LarderServiceProvider;
use Larder\Lab\Installation;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Service\Directory;

/**
 * The application of the scenario `laravel`, over one cache store: the framework, and three routes.
 *
 *     /read    reads keys, and computes those that are not there
 *     /write   also stores one of 100 keys anew
 *     /limit   reads them behind Laravel's rate limiter, which counts in the cache
 */
final class LaravelSite
{
    public const SCRIPT = 'laravel';

    private const KEYS = 20;

    /** As Laravel's own migrations make them. */
    private const TABLES = <<<'SQL'
        CREATE TABLE cache (key VARCHAR NOT NULL PRIMARY KEY, value TEXT NOT NULL, expiration INTEGER NOT NULL);
        CREATE TABLE cache_locks (key VARCHAR NOT NULL PRIMARY KEY, owner VARCHAR NOT NULL, expiration INTEGER NOT NULL);
        SQL;

    /** As a new application has it, requests that write at once fail: "database is locked". */
    private const CONFIGURATION = <<<'PHP'
        <?php
        $all = require {framework};
        $all['connections']['sqlite'] = ['busy_timeout' => 5000, 'journal_mode' => 'WAL', 'synchronous' => 'NORMAL', 'transaction_mode' => 'IMMEDIATE'] + $all['connections']['sqlite'];

        return $all;
        PHP;

    private const APPLICATION = <<<'PHP'
        <?php
        use Illuminate\Support\Facades\{Cache, Route};
        {environment}
        $loader = require {autoload};
        $loader->addClassMap(require __DIR__ . '/map.php');
        $read = static function (): string {
            $all = '';
            for ($i = 1; $i <= {keys}; $i++) {
                $all .= implode(',', Cache::rememberForever("key-$i", static fn() => array_fill(0, 20, md5("key-$i"))));
            }
            return md5($all);
        };
        Illuminate\Foundation\Application::configure(__DIR__)
            ->withProviders({providers})
            ->withRouting(using: static function () use ($read): void {
                Route::get('/read', $read);
                Route::get('/write', static fn() => Cache::put('of-' . random_int(1, 100), random_int(1, 1000000), 600) ? $read() : 'not stored');
                Route::get('/limit', $read)->middleware('throttle:1000000000,1');
            })
            ->withMiddleware()->withExceptions()->create()
            ->handleRequest(Illuminate\Http\Request::capture());
        PHP;

    /** @param array<string, string|int> $address of the subject's server */
    public static function write(Directory $root, Subject $subject, string $dsn, array $address): void
    {
        foreach (['config', 'bootstrap', 'bootstrap/cache', 'storage', 'storage/framework', 'storage/framework/cache', 'storage/framework/cache/data', 'storage/framework/views', 'storage/logs'] as $folder) {
            \mkdir($root->file($folder), 0o700);
        }
        $database = $root->file('database.sqlite');
        (new \PDO("sqlite:$database"))->exec(self::TABLES);
        $framework = (string) Loader::package('laravel/framework');
        \file_put_contents($root->file('config/database.php'), \strtr(self::CONFIGURATION, ['{framework}' => \var_export("$framework/config/database.php", true)]));
        // As composer.json of a new application asks Composer for it.
        \file_put_contents($root->file('map.php'), '<?php return ' . Loader::map(Installation::library() . '/src', \dirname($framework, 2)) . ';');
        $environment = '';
        foreach (['APP_ENV' => 'production', 'APP_KEY' => 'base64:' . \base64_encode(\str_repeat('k', 32)), 'LOG_CHANNEL' => 'single', 'CACHE_STORE' => (string) $subject->parameters['store'], 'DB_CONNECTION' => 'sqlite', 'DB_DATABASE' => $database, 'REDIS_CLIENT' => 'phpredis', 'REDIS_HOST' => (string) ($address['socket'] ?? ''), 'REDIS_PORT' => '0', 'LARDER_DSN' => $dsn] as $name => $value) {
            $environment .= "\$_SERVER['$name'] = " . \var_export($value, true) . "; ";
        }
        \file_put_contents($root->file('index.php'), \strtr(self::APPLICATION, [
            '{environment}' => $environment,
            '{autoload}' => \var_export(\dirname($framework, 2) . '/autoload.php', true),
            '{keys}' => (string) self::KEYS,
            '{providers}' => $dsn === '' ? '[]' : '[\\' . LarderServiceProvider::class . '::class]',
        ]));
    }

    /** What all routes answer. */
    public static function checksum(): string
    {
        return \md5(\implode('', \array_map(static fn(int $key): string => \implode(',', \array_fill(0, 20, \md5("key-$key"))), \range(1, self::KEYS))));
    }
}
