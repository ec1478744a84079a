<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Need;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Web\Endpoint;
use Larder\Lab\Web\LaravelSite;
use Larder\Lab\Web\Loader;

/**
 * What answers over HTTP in the scenarios `fpm`, `requests`, `pages`, `counters`, `queues` and `laravel`. Of the parameters "script" is what the web
 * server runs, "server" one of nginx's own ways, and "driver" what an endpoint stands on. {socket}, {host} and {port} in a DSN stand for the service's address, {directory} for a
 * directory of the subject's own.
 */
final class WebSubjects
{
    public const EMPTY = 'empty';
    public const FAKE = 'fake';
    public const ZMQ = 'zmq';
    public const ECHO = 'echo';
    public const APPLICATION = 'application';
    public const FAST = 'larder-door-apcu';
    public const NGINX = 'larder-nginx';
    public const APACHE = 'larder-apache';
    public const FILE = 'nginx-file';
    public const APACHE_FILE = 'apache-file';

    private const SQLITE = 'sqlite://{directory}?near=none';

    /** @return list<Subject> */
    public static function fpm(): array
    {
        return [
            self::subject(self::EMPTY, ['script' => 'empty']),
            self::subject('filesystem', ['script' => 'filesystem']),
            self::subject('memcached', ['script' => 'memcached'], [Need::extension('memcached')], 'memcached-socket'),
            self::subject('redis', ['script' => 'redis'], [Need::extension('redis')], 'redis'),
            self::subject('larder-sqlite', ['script' => 'larder', 'dsn' => self::SQLITE], [Need::sqlite()]),
            self::subject('larder-apcu', ['script' => 'larder', 'dsn' => 'sqlite://{directory}?near=apcu'], [Need::sqlite(), Need::extension('apcu')]),
            self::subject('larder-segment', ['script' => 'larder', 'dsn' => 'sqlite://{directory}?near=segment'], [Need::sqlite(), LarderExtension::need()]),
            self::subject('larder-redis', ['script' => 'larder', 'dsn' => 'redis://{socket}?near=none'], [Need::extension('redis')], 'redis'),
        ];
    }

    /**
     * What a PHP developer would take instead, over the same engines. "cache" is how it is opened, "get" how its readers
     * ask, with {key} and {compute}.
     *
     * @return list<Subject>
     */
    public static function requests(): array
    {
        [$sqlite, $apcu, $redis] = [Need::sqlite(), Need::extension('apcu'), Need::extension('redis')];
        $connect = '(static function () { $r = new \Redis(); $r->connect({socket}); return $r; })()';

        return [
            self::reader('symfony-files', "new {symfony}FilesystemAdapter('', 0, {directory})"),
            self::reader('symfony-phpfiles', "new {symfony}PhpFilesAdapter('', 0, {directory})"),
            self::reader('symfony-pdo', "new {symfony}PdoAdapter('sqlite:' . {directory} . '.db')", [$sqlite]),
            self::reader('symfony-apcu', "new {symfony}ApcuAdapter('app')", [$apcu]),
            self::reader('symfony-redis', "new {symfony}RedisAdapter($connect)", [$redis], 'redis'),
            self::reader('symfony-chain', "new {symfony}ChainAdapter([new {symfony}ApcuAdapter('chain'), new {symfony}PdoAdapter('sqlite:' . {directory} . '.db')])", [$sqlite, $apcu]),
            self::reader('laravel-files', 'new {illuminate}Cache\FileStore(new {illuminate}Filesystem\Filesystem(), {directory})'),
            self::reader('laravel-apcu', "new {illuminate}Cache\ApcStore(new {illuminate}Cache\ApcWrapper(), 'laravel')", [$apcu]),
            self::reader('laravel-redis', "new {illuminate}Cache\RedisStore(new {illuminate}Redis\RedisManager(new {illuminate}Container\Container(), 'phpredis', ['default' => ['scheme' => 'unix', 'path' => {socket}, 'host' => {socket}, 'port' => 0]]), 'laravel')", [$redis], 'redis'),
            self::reader('larder-files', 'file://{directory}?near=none'),
            self::reader('larder-sqlite', self::SQLITE, [$sqlite]),
            self::reader('larder-apcu', 'sqlite://{directory}?near=apcu', [$sqlite, $apcu]),
            self::reader('larder-segment', 'sqlite://{directory}?near=segment', [$sqlite, LarderExtension::need()]),
            self::reader('larder-redis', 'redis://{socket}?near=none', [$redis], 'redis'),
            self::reader('larder-redis-apcu', 'redis://{socket}?near=apcu', [$redis, $apcu], 'redis'),
        ];
    }

    /** @return list<Subject> */
    public static function pages(): array
    {
        return [
            self::subject(self::ECHO, ['script' => 'echo']),
            self::subject(self::APPLICATION, ['script' => 'application']),
            self::subject('larder-sqlite', ['script' => 'pages', 'dsn' => self::SQLITE], [Need::sqlite()]),
            self::subject('larder-file', ['script' => 'pages', 'dsn' => 'file://{directory}?near=none']),
            self::subject('larder-apcu', ['script' => 'pages', 'dsn' => 'sqlite://{directory}?near=apcu'], [Need::sqlite(), Need::extension('apcu')]),
            self::subject('larder-segment', ['script' => 'pages', 'dsn' => 'sqlite://{directory}?near=segment'], [Need::sqlite(), LarderExtension::need()]),
            self::subject('larder-redis', ['script' => 'pages', 'dsn' => 'redis://{socket}?near=none'], [Need::extension('redis')], 'redis'),
            self::subject('larder-door-files', ['script' => 'fast', 'dsn' => self::SQLITE, 'copies' => 'files'], [Need::sqlite()]),
            self::subject(self::FAST, ['script' => 'fast', 'dsn' => self::SQLITE, 'copies' => 'apcu'], [Need::sqlite(), Need::extension('apcu')]),
            self::subject(self::NGINX, ['script' => 'static', 'server' => 'nginx', 'dsn' => self::SQLITE], [Need::sqlite()]),
            self::subject(self::APACHE, ['script' => 'static', 'server' => 'apache', 'dsn' => self::SQLITE], [Need::sqlite(), Need::program(['apache2'], 'apache2')]),
            self::subject(self::FILE, ['server' => 'file']),
            self::subject('nginx-fastcgi-cache', ['script' => 'application', 'server' => 'cache']),
            self::subject('nginx-fastcgi-cache-lock', ['script' => 'application', 'server' => 'cache-lock']),
            self::subject(self::APACHE_FILE, ['server' => 'file'], [Need::program(['apache2'], 'apache2')]),
            self::subject('apache-cache', ['script' => 'application', 'server' => 'cache-of-apache'], [Need::program(['apache2'], 'apache2')]),
            self::subject('varnish', ['script' => 'application', 'server' => 'varnish'], [Need::program(['varnishd'], 'varnish')]),
        ];
    }

    /** @return list<Subject> */
    public static function counters(): array
    {
        return [
            self::endpoint(self::FAKE, 'fake'),
            self::endpoint('memcached', 'counter/memcached', [Need::extension('memcached')], 'memcached-socket'),
            self::endpoint('redis', 'counter/redis', [Need::extension('redis')], 'redis'),
            self::endpoint('predis', 'counter/predis', [Need::predis()], 'redis'),
            self::endpoint('larder-sqlite', 'counter/larder', [Need::sqlite()], dsn: 'sqlite://{directory}'),
            self::endpoint('larder-combine', 'counter/larder', [Need::sqlite(), LarderExtension::need()], dsn: 'sqlite://{directory}?combine=1'),
            self::endpoint('larder-redis', 'counter/larder', [Need::extension('redis')], 'redis', 'redis://{socket}'),
            self::endpoint('larder-predis', 'counter/larder', [Need::predis()], 'redis', 'predis://{socket}'),
            self::endpoint('larder-cache', 'counter/cache', [Need::sqlite()], dsn: self::SQLITE),
        ];
    }

    /** @return list<Subject> */
    public static function queues(): array
    {
        return [
            self::endpoint(self::FAKE, 'fake'),
            self::endpoint(self::ZMQ, 'queue/zmq', [Need::extension('zmq')], dsn: 'ipc://{directory}/zmq.sock'),
            self::endpoint('redis', 'queue/redis', [Need::extension('redis')], 'redis'),
            self::endpoint('predis', 'queue/predis', [Need::predis()], 'redis'),
            self::endpoint('larder-sqlite', 'queue/larder', [Need::sqlite()], dsn: 'sqlite://{directory}?limit=100000000'),
            self::endpoint('larder-redis', 'queue/larder', [Need::extension('redis')], 'redis', 'redis://{socket}?limit=100000000'),
            self::endpoint('larder-predis', 'queue/larder', [Need::predis()], 'redis', 'predis://{socket}?limit=100000000'),
        ];
    }

    /** @return list<Subject> */
    public static function laravel(): array
    {
        [$sqlite, $redis] = [Need::sqlite(), Need::extension('redis')];

        return [
            self::application('laravel-database', 'database'),
            self::application('laravel-file', 'file'),
            self::application('laravel-redis', 'redis', [$redis], 'redis'),
            self::application('larder-sqlite', 'larder', [$sqlite], dsn: self::SQLITE),
            self::application('larder-segment', 'larder', [$sqlite, LarderExtension::need()], dsn: 'sqlite://{directory}?near=segment'),
            self::application('larder-redis', 'larder', [$redis], 'redis', 'redis://{socket}?near=none'),
        ];
    }

    /** @param list<Need> $needs */
    private static function application(string $engine, string $store, array $needs = [], ?string $service = null, string $dsn = ''): Subject
    {
        $framework = Need::that(Loader::package('laravel/framework') !== null, 'laravel/framework', 'make frameworks');

        return self::subject($engine, ['script' => LaravelSite::SCRIPT, 'store' => $store, 'dsn' => $dsn], [$framework, Need::sqlite(), ...$needs], $service);
    }

    /**
     * @param string     $cache how it is opened, or Larder's DSN
     * @param list<Need> $needs
     */
    private static function reader(string $engine, string $cache, array $needs = [], ?string $service = null): Subject
    {
        [$parameters, $library] = match (\explode('-', $engine)[0]) {
            'symfony' => [['cache' => $cache, 'get' => 'get({key}, {compute})'], Need::library(\Symfony\Component\Cache\Adapter\ApcuAdapter::class, 'symfony/cache')],
            'laravel' => [
                ['cache' => "new {illuminate}Cache\Repository($cache)", 'get' => 'rememberForever({key}, {compute})', 'framework' => 'laravel'],
                Need::that(Loader::package('laravel/framework') !== null, 'laravel/framework', 'make frameworks'),
            ],
            default => [['cache' => '\Larder\Cache::open({dsn})', 'get' => 'remember({key}, {compute})', 'dsn' => $cache], null],
        };

        return self::subject($engine, ['script' => 'requests'] + $parameters, [...$library === null ? [] : [$library], ...$needs], $service);
    }

    /** @param list<Need> $needs */
    private static function endpoint(string $engine, string $driver, array $needs = [], ?string $service = null, string $dsn = ''): Subject
    {
        return self::subject($engine, ['script' => Endpoint::SCRIPT, 'server' => 'counted', 'driver' => $driver, 'dsn' => $dsn], $needs, $service);
    }

    /**
     * @param array<string, string> $parameters
     * @param list<Need>            $needs
     */
    private static function subject(string $engine, array $parameters, array $needs = [], ?string $service = null): Subject
    {
        $fpm = \sprintf('php-fpm%d.%d', \PHP_MAJOR_VERSION, \PHP_MINOR_VERSION);
        $programs = [Need::program(['nginx'], 'nginx'), Need::program([$fpm, 'php-fpm'], \substr($fpm, 0, 3) . \substr($fpm, 7) . '-fpm'), Need::program(['hey'], 'hey'), Need::program(['wrk'], 'wrk'), Need::program(['ab'], 'apache2-utils')];
        if ($service !== null) {
            $programs[] = $service === 'redis' ? Need::redisServer() : Need::program(['memcached'], 'memcached');
        }

        return new Subject("$engine:process", $engine, Cell::PROCESS, 'none', 'none', [...$programs, ...$needs], self::class, $parameters, $service);
    }
}
