<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Need;
use Larder\Lab\Plan\Promise;
use Larder\Lab\Plan\Subject;
use Larder\Lab\WordPress\Choice;
use Larder\Lab\WordPress\Site;

/**
 * The subjects of the scenarios `transients` and `catalog`: a WordPress without a drop-in, with each that was given, and
 * with Larder's, each of its stacks.
 */
final class WordPressSubjects
{
    /** WordPress's own object cache: transients are in the database, and all else dies with the request. */
    public const NONE = 'wordpress:process';
    public const DEFAULT = 'larder-sqlite:process';
    public const APCU = 'larder-apcu:process';
    public const SEGMENT = 'larder-segment:process';

    /** It dies with its process, so it is no cache of a site: what one costs at the least. */
    public const FLOOR = 'larder-memory:process';

    private const AHEAD = [self::DEFAULT, self::APCU, self::SEGMENT];

    private const SEGMENT_FILE = '{shared}/segment';

    /** @return list<Subject> */
    public static function all(Choice $choice): array
    {
        $subjects = [self::subject(self::NONE, [], [])];
        foreach ($choice->dropIns as $name => $path) {
            \array_push($subjects, ...self::dropIn($name, $path, \count($subjects)));
        }
        $apcu = Need::extension('apcu');
        $sqlite = Need::sqlite();
        $segment = LarderExtension::ini() + ['larder.segment' => self::SEGMENT_FILE];
        foreach ([Cell::SOCKET, Cell::NETWORK] as $way) {
            $redis[] = self::larderRedis("larder-redis:$way", ['LARDER_NEAR' => 'none'], []);
            $redis[] = self::larderRedis("larder-redis-apcu:$way", ['LARDER_NEAR' => 'apcu'], [$apcu]);
            $redis[] = self::larderRedis("larder-redis-segment:$way", ['LARDER_NEAR' => 'segment'], [LarderExtension::need()], $segment);
        }

        return [
            ...$subjects,
            // Where the extension is loaded the segment would stand before everything by itself.
            self::larder(self::DEFAULT, ['LARDER_NEAR' => 'none'], [$sqlite]),
            self::larder(self::APCU, ['LARDER_NEAR' => 'apcu'], [$sqlite, $apcu]),
            self::larder(self::SEGMENT, ['LARDER_NEAR' => 'segment'], [$sqlite, LarderExtension::need()], $segment),
            ...$redis,
            self::larder(self::FLOOR, ['LARDER_DSN' => 'memory://'], []),
        ];
    }

    /**
     * Larder's stacks of a single server are each to be before every other drop-in on it.
     *
     * @param list<Subject> $subjects
     * @param list<Cell>    $cells    in which it is to be so
     *
     * @return list<Promise>
     */
    public static function promises(array $subjects, array $cells): array
    {
        $others = [];
        foreach ($subjects as $subject) {
            if (isset($subject->parameters['dropin']) && $subject->connection !== Cell::NETWORK) {
                $others[] = $subject->name;
            }
        }
        $promises = [];
        foreach ($cells as $cell) {
            foreach (\in_array($cell->subject, self::AHEAD, true) ? $cells : [] as $other) {
                if (\in_array($other->subject, $others, true) && [$other->payload, $other->operation] === [$cell->payload, $cell->operation]) {
                    $promises[] = new Promise($cell->id(), $other->id(), 1.0, "$cell->subject against $other->subject: $cell->operation, $cell->payload");
                }
            }
        }

        return $promises;
    }

    /**
     * It may be one that wants Redis: it is told, in the words of Redis Object Cache and its like, where one is. One that
     * knows these words is measured with Redis on another machine too.
     *
     * @return non-empty-list<Subject>
     */
    private static function dropIn(string $name, string $path, int $number): array
    {
        $file = Choice::dropIn($path) ?? $path;
        $parameters = ['dropin' => $file] + (\is_dir($path) ? ['plugin' => $path] : []);
        if (!Need::redisServer()->met) {
            return [self::subject("$name:process", $parameters, [])];
        }
        $parameters += [
            'WP_REDIS_CLIENT' => \extension_loaded('redis') ? 'phpredis' : 'predis',
            'WP_REDIS_DATABASE' => 1 + $number % 15,
            'WP_REDIS_PREFIX' => "$name-",
        ];
        $subjects = [self::subject("$name:process", $parameters + ['WP_REDIS_SCHEME' => 'unix', 'WP_REDIS_PATH' => '{socket}'], [], 'redis')];
        if (\str_contains((string) \file_get_contents($file), 'WP_REDIS_HOST')) {
            $subjects[] = self::subject("$name:network", $parameters + ['WP_REDIS_SCHEME' => 'tcp', 'WP_REDIS_HOST' => '{host}', 'WP_REDIS_PORT' => '{port}'], [], 'redis@network');
        }

        return $subjects;
    }

    /**
     * @param array<string, string>     $constants
     * @param list<Need>                $needs
     * @param array<string, string|int> $ini
     */
    private static function larder(string $name, array $constants, array $needs, array $ini = []): Subject
    {
        return self::subject($name, ['plugin' => 'larder'] + $constants, [...$needs, Need::extension('zip')], ini: $ini);
    }

    /**
     * @param array<string, string>     $constants
     * @param list<Need>                $needs
     * @param array<string, string|int> $ini
     */
    private static function larderRedis(string $name, array $constants, array $needs, array $ini = []): Subject
    {
        $network = \str_ends_with($name, Cell::NETWORK);
        // Redis Object Cache waits a second for an answer, too. A shorter wait would leave a busy machine's Redis alone.
        $parameters = ['plugin' => 'larder', 'LARDER_DSN' => $network ? 'redis://{host}:{port}?timeout=1' : 'redis://{socket}'] + $constants;

        return self::subject($name, $parameters, [Need::extension('redis'), Need::redisServer(), ...$needs, Need::extension('zip')], $network ? 'redis@network' : 'redis', $ini);
    }

    /**
     * @param array<string, string|int> $parameters
     * @param list<Need>                $needs
     * @param array<string, string|int> $ini
     */
    private static function subject(string $name, array $parameters, array $needs, ?string $service = null, array $ini = []): Subject
    {
        [$engine, $connection] = \explode(':', $name);

        return new Subject($name, $engine, $connection, 'none', 'none', [Need::checkout(), ...self::site(), ...$needs], Site::class, $parameters, $service, $ini);
    }

    /** @return list<Need> of every site */
    private static function site(): array
    {
        $setup = 'bin/setup wordpress';

        return [
            Need::that(Need::find(['mariadbd']) !== null, 'MariaDB', $setup),
            Need::that(Need::find(['nginx']) !== null, 'nginx', $setup),
            Need::that(Need::find([\sprintf('php-fpm%d.%d', \PHP_MAJOR_VERSION, \PHP_MINOR_VERSION), 'php-fpm']) !== null, 'php-fpm', $setup),
            Need::extension('mysqli', $setup),
            Need::extension('curl', $setup),
        ];
    }

}
