<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\System\PurgeCounter;
use Larder\System\Quiet;

/**
 * Moves the purge counters (see PurgeCounter) of the spaces that a flush or tag invalidation covers, around its commit.
 *
 * They lie in a directory beside the truth tier, which is there only if a program has asked for a counter: without it a
 * flush costs one stat more.
 */
final class PurgeCounters
{
    /** In a counter's name, for what a file name should not hold. Two spaces that get one name share a counter. */
    private const NAMES = ['/' => '..', '%' => '_'];
    private const LONGEST = 150;

    public function __construct(private readonly string $directory) {}

    /** @return ?PurgeCounter null: the space's path is too long for a file's name */
    public function of(string $path): ?PurgeCounter
    {
        $name = self::name($path);

        return \strlen($name) > self::LONGEST ? null : new PurgeCounter("$this->directory/$name.count");
    }

    /**
     * Before a write is committed.
     *
     * @param list<string> $keys that it changes
     *
     * @return list<array{PurgeCounter, resource}> for end()
     *
     * @throws \Larder\System\Failure
     */
    public function begin(array $keys): array
    {
        $begun = [];
        foreach ($this->moved($keys) as [$counter, $tags]) {
            $file = $counter->begin($tags);
            $file === null || $begun[] = [$counter, $file];
        }

        return $begun;
    }

    /**
     * After the commit.
     *
     * @param list<string>                        $keys
     * @param list<array{PurgeCounter, resource}> $begun
     * @param bool                                $isDone false: nothing may be copied until a purge has succeeded
     */
    public function end(array $keys, array $begun, bool $isDone): void
    {
        $known = [];
        foreach ($begun as [$counter, $file]) {
            if ($counter->isNamed($file)) {
                $known[$counter->path] = true;
            }
            $counter->end($file, $isDone);
        }
        foreach ($this->moved($keys) as $path => [$counter]) {
            // Made since begin(): copies of what was there before the commit may have its size.
            $file = isset($known[$path]) ? null : $counter->begin();
            $file === null || $counter->end($file, $isDone);
        }
    }

    /**
     * @param list<string> $keys
     *
     * @return array<string, array{PurgeCounter, ?list<string>}> by path, with the tags' markers (null: a flush)
     */
    private function moved(array $keys): array
    {
        $moved = [];
        $there = null;
        foreach ($keys as $key) {
            if (!Markers::is($key)) {
                continue;
            }
            $there ??= $this->there();
            $isFlush = $key[0] === Markers::FLUSHES;
            $path = \substr($key, 2, $isFlush ? null : (int) \strpos($key, ':', 2) - 2);
            $name = self::name($path);
            foreach ($there as $each) {
                if ($each === $name || ($isFlush && ($path === '' || \str_starts_with($each, $name . self::NAMES['/'])))) {
                    $counter = new PurgeCounter("$this->directory/$each.count");
                    $tags = \array_key_exists($counter->path, $moved) ? $moved[$counter->path][1] : [];
                    $moved[$counter->path] = [$counter, $isFlush || $tags === null ? null : [...$tags, $key]];
                }
            }
        }

        return $moved;
    }

    /** @return list<string> the names of all counters */
    private function there(): array
    {
        \clearstatcache();
        $names = [];
        foreach (\is_dir($this->directory) ? Quiet::call(fn(): array|false => \scandir($this->directory)) ?: [] : [] as $file) {
            \str_ends_with($file, '.count') && $names[] = \substr($file, 0, -6);
        }

        return $names;
    }

    private static function name(string $path): string
    {
        return \strtr($path, self::NAMES);
    }
}
