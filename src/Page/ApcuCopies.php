<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\System\FileLock;

/**
 * Copies in APCu: `<prefix><name>` holds the copy and its body, `<prefix><shard>` the names and sizes of a shard.
 *
 * APCu empties itself when it is full (apc.ttl=0), so the copies keep their budget well before that; what was asked for
 * longest ago goes first, which APCu itself notes.
 *
 * @phpstan-import-type Copy from Serve
 */
final class ApcuCopies implements Copies
{
    /** Of a shard that has become too large, so much stays. */
    private const KEPT = 0.8;

    /** Bytes of an entry besides its strings, about. */
    private const ENTRY = 2_048;

    /**
     * @param string $prefix with a secret, for all pools of a php-fpm master share APCu
     * @param int    $budget bytes
     * @param string $files  the lock files begin so
     */
    public function __construct(private readonly string $prefix, private readonly int $budget, private readonly string $files) {}

    public function lock(string $name, float $seconds): mixed
    {
        $lock = FileLock::file("$this->files-$name[0].lock");

        return $lock !== null && FileLock::take($lock, $seconds) ? $lock : null;
    }

    public function put(mixed $lock, string $name, array $copy, string $body, int $life): void
    {
        $size = \strlen($body) + self::ENTRY + \strlen($copy['key']);
        $most = \intdiv($this->budget, self::SHARDS);
        if ($size > $most) {
            $this->drop($lock, $name);

            return;
        }
        $sizes = $this->sizes($name[0]);
        $sizes[$name] = $size;
        if (\array_sum($sizes) > $most) {
            $sizes = [$name => $size] + $this->evict($sizes, $name, (int) ($most * self::KEPT) - $size);
        }
        // Before the copy, so that a process that dies in between has counted too much and not too little.
        if (\apcu_store($this->prefix . $name[0], $sizes)) {
            \apcu_store($this->prefix . $name, [$copy, $body], \max(1, $life));
        }
    }

    public function drop(mixed $lock, string $name): void
    {
        \apcu_delete($this->prefix . $name);
    }

    public function counter(string $name, string $key): ?int
    {
        /** @var array{Copy, string}|false $found */
        $found = \apcu_fetch($this->prefix . $name);

        return $found !== false && $found[0]['key'] === $key ? $found[0]['counter'] : null;
    }

    public function wipe(): void
    {
        for ($shard = 0; $shard < self::SHARDS; $shard++) {
            $name = \dechex($shard);
            foreach ($this->sizes($name) as $each => $_) {
                \apcu_delete($this->prefix . $each);
            }
            \apcu_delete($this->prefix . $name);
        }
    }

    /** @return array<string, int> by name */
    private function sizes(string $shard): array
    {
        /** @var array<string, int>|false $sizes */
        $sizes = \apcu_fetch($this->prefix . $shard);

        return $sizes === false ? [] : $sizes;
    }

    /**
     * @param array<string, int> $sizes
     *
     * @return array<string, int> those that are left
     */
    private function evict(array $sizes, string $name, int $most): array
    {
        unset($sizes[$name]);
        $times = [];
        foreach ($sizes as $each => $_) {
            $info = \apcu_key_info($this->prefix . $each);
            if ($info === null) {
                unset($sizes[$each]);
            } else {
                $times[$each] = $info['access_time'];
            }
        }
        \asort($times);
        $left = \array_sum($sizes);
        foreach ($times as $each => $_) {
            if ($left <= $most) {
                break;
            }
            \apcu_delete($this->prefix . $each);
            $left -= $sizes[$each];
            unset($sizes[$each]);
        }

        return $sizes;
    }
}
