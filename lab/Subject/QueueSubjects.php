<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Need;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Queue\LaravelPile;
use Larder\Lab\Queue\LarderPile;
use Larder\Lab\Queue\Pile;
use Larder\Lab\Queue\RedisPile;
use Larder\Lab\Queue\SqlitePile;

/** Queues that processes use without HTTP. The parameter "dsn" is its address. */
final class QueueSubjects
{
    /** SQLite without a library: what the others are compared with. */
    public const FLOOR = 'sqlite';

    /** @return list<Subject> */
    public static function all(): array
    {
        $sqlite = Need::sqlite();
        $redis = [Need::extension('redis'), Need::program(['redis-server'], 'redis-server')];

        $laravel = Need::that(\is_file(LaravelPile::LOADER), 'laravel/framework', 'make frameworks');

        return [
            self::subject(self::FLOOR, SqlitePile::class, '{directory}', [$sqlite]),
            self::subject('larder-sqlite', LarderPile::class, 'sqlite://{directory}?limit=100000000', [$sqlite]),
            self::subject('redis', RedisPile::class, '{socket}', $redis, 'redis'),
            self::subject('larder-redis', LarderPile::class, 'redis://{socket}?limit=100000000', $redis, 'redis'),
            self::subject('laravel-larder-sqlite', LaravelPile::class, 'larder sqlite://{directory}?limit=100000000', [$sqlite, $laravel]),
            self::subject('laravel-redis', LaravelPile::class, 'redis {socket}', [...$redis, $laravel], 'redis'),
            self::subject('laravel-larder-redis', LaravelPile::class, 'larder redis://{socket}?limit=100000000', [...$redis, $laravel], 'redis'),
        ];
    }

    /**
     * @param class-string<Pile> $driver
     * @param list<Need>         $needs
     */
    private static function subject(string $engine, string $driver, string $dsn, array $needs, ?string $service = null): Subject
    {
        return new Subject("$engine:script", $engine, Cell::PROCESS, 'script', 'none', $needs, $driver, ['dsn' => $dsn], $service);
    }
}
