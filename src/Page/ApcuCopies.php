<?php

declare(strict_types=1);

namespace Larder\Page;

/**
 * Copies in APCu: `<prefix><name>` holds the head, `<prefix><name><id><form>` a form of the body, `<prefix><set> <request>` what
 * is ready, and `<prefix><shard>` what there is in a shard. An id is the body's, so that a reader does not take one's head with another's body.
 *
 * APCu empties itself when it is full (apc.ttl=0), so the copies keep their budget well before that; what was asked for
 * longest ago goes first, which APCu itself notes.
 *
 * @phpstan-import-type Copy from Serve
 */
final class ApcuCopies implements Copies
{
    /** APCu, of which the copies take one part in this many at most. */
    private const PART = 2;

    /** Of a shard that has become too large, so much stays. */
    private const KEPT = 0.8;

    /** Bytes of an entry besides its strings, about. */
    private const ENTRY = 2_048;

    /** @param string $prefix with a secret, for all pools of a php-fpm master share APCu */
    public function __construct(private readonly string $prefix, private readonly int $budget) {}

    public function put(mixed $lock, string $name, array $copy, array $ready, string $body, int $life): void
    {
        $this->drop($name);
        $head = \serialize($copy);
        $size = \strlen($body) + \strlen($head) + \strlen(\implode('', $ready)) + self::ENTRY;
        /** @var array{num_seg: int, seg_size: float}|false $memory */
        $memory = \apcu_sma_info(true);
        $most = \intdiv(\min($this->budget, $memory === false ? 0 : (int) ($memory['num_seg'] * $memory['seg_size'] / self::PART)), self::SHARDS);
        if ($size > $most) {
            return;
        }
        $shard = $this->shard($name[0]);
        unset($shard[$name]);
        $total = \array_sum(\array_column($shard, 0)) + $size;
        if ($total > $most) {
            $shard = $this->evict($shard, (int) ($most * self::KEPT) - $size);
        }
        $entries = [];
        $from = 0;
        foreach ($copy['page']['forms'] ?? [] as $form => $length) {
            $entries[$this->prefix . $name . $copy['id'] . $form] = \substr($body, $from, $length);
            $from += $length;
        }
        foreach ($ready as $accepted => $each) {
            // Without the counter, which a reader does not know for certain.
            $request = \strstr($each, "\n", true) ?: '';
            $entries[$this->prefix . $accepted . ' ' . \substr($request, 0, (int) \strrpos($request, ' '))] = $each;
        }
        // Before the copy, so that a process that dies in between has counted too much and not too little.
        if (\apcu_store($this->prefix . $name[0], $shard + [$name => [$size, \array_keys($entries)]])) {
            $life = \max(1, $life);
            \apcu_store($entries, null, $life);
            \apcu_store($this->prefix . $name, $head, $life);
        }
    }

    public function drop(string $name): void
    {
        \apcu_delete([$this->prefix . $name, ...$this->shard($name[0])[$name][1] ?? []]);
    }

    public function counter(string $name, string $key): ?int
    {
        $head = \apcu_fetch($this->prefix . $name);
        $copy = \is_string($head) ? Serve::copy($head) : [];
        if (!isset($copy['key'], $copy['counter']) || $copy['key'] !== $key) {
            return null;
        }
        foreach ($copy['page']['forms'] ?? [] as $form => $_) {
            if (!\apcu_exists($this->prefix . $name . $copy['id'] . $form)) {
                return null;
            }
        }

        return $copy['counter'];
    }

    public function wipe(): void
    {
        for ($each = 0; $each < self::SHARDS; $each++) {
            $shard = \dechex($each);
            foreach ($this->shard($shard) as $name => [, $entries]) {
                \apcu_delete([$this->prefix . $name, ...$entries]);
            }
            \apcu_delete($this->prefix . $shard);
        }
    }

    /** @return array<string, array{int, list<string>}> by name: the size, and the entries of the forms */
    private function shard(string $shard): array
    {
        /** @var array<string, array{int, list<string>}>|false $found */
        $found = \apcu_fetch($this->prefix . $shard);

        return $found === false ? [] : $found;
    }

    /**
     * @param array<string, array{int, list<string>}> $shard
     *
     * @return array<string, array{int, list<string>}> what is left of it
     */
    private function evict(array $shard, int $most): array
    {
        $times = [];
        $left = 0;
        foreach ($shard as $name => [$size, $entries]) {
            // What is ready is read without the head.
            $used = \array_column(\array_map(\apcu_key_info(...), [$this->prefix . $name, ...$entries]), 'access_time');
            if ($used === []) {
                // Its life is over.
                \apcu_delete($entries);
                unset($shard[$name]);
            } else {
                $times[$name] = \max($used);
                $left += $size;
            }
        }
        \asort($times);
        foreach ($times as $name => $_) {
            if ($left <= $most) {
                break;
            }
            [$size, $entries] = $shard[$name];
            \apcu_delete([$this->prefix . $name, ...$entries]);
            $left -= $size;
            unset($shard[$name]);
        }

        return $shard;
    }
}
