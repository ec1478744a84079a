<?php

declare(strict_types=1);

namespace Larder\Bench;

use Larder\Cache;
use Larder\Tests\Support\TemporaryDirectory;

/**
 * First gets of a request from APCu as near tier over SQLite, against apcu_fetch of the plain values.
 *
 * Each sample reads many keys, each once: the second get of a key is answered by the request tier. Between samples
 * refresh() empties that, untimed.
 */
final readonly class NearTier
{
    public function __construct(private Harness $harness) {}

    public function run(): string
    {
        if (!\function_exists('apcu_enabled') || !\apcu_enabled()) {
            return "APCu as near tier: left out, APCu is off here (php -d apc.enable_cli=1 -d apc.shm_size=128M).\n\n";
        }

        return $this->compare('short value', 4_000, 3.0, Values::short(...))
            . $this->compare('20 kB string', 600, 1.5, Values::long(...))
            . $this->compare('50x50 array', 150, 1.05, Values::table(...));
    }

    /** @param \Closure(int): mixed $value */
    private function compare(string $name, int $count, float $limit, \Closure $value): string
    {
        \apcu_clear_cache();
        $directory = new TemporaryDirectory('larder-b');
        $cache = Cache::open('sqlite://' . $directory->path . '?near=apcu');
        $keys = [];
        for ($i = 0; $i < $count; ++$i) {
            $keys[] = $key = 'bench:' . $i;
            \apcu_store($key, $value($i));
            $cache->set($key, $value($i));
        }
        $hits = self::nearHits($cache);

        $comparison = $this->harness->compare(
            "APCu as near tier, first get of $count keys: $name",
            new Side('apcu_fetch', static function () use ($keys): void {
                foreach ($keys as $key) {
                    \apcu_fetch($key);
                }
            }, null, static function () use ($keys, $value): bool {
                foreach ($keys as $i => $key) {
                    if (\apcu_fetch($key) !== $value($i)) {
                        return false;
                    }
                }

                return true;
            }, $count),
            new Side('Cache::get', static function () use ($cache, $keys): void {
                foreach ($keys as $key) {
                    $cache->get($key);
                }
            }, static fn() => $cache->refresh(), static function () use ($cache, $keys, $value): bool {
                // Twice: what set() did not leave in the near tier, the first get puts there.
                for ($pass = 0; $pass < 2; ++$pass) {
                    $cache->refresh();
                    foreach ($keys as $i => $key) {
                        if ($cache->get($key) !== $value($i)) {
                            return false;
                        }
                    }
                }

                return true;
            }, $count),
        );
        $expected = ($this->harness->rounds + 2) * $count;
        if (self::nearHits($cache) - $hits < $expected) {
            throw new \RuntimeException('The near tier did not answer all gets, so these times are not its own. Is apc.shm_size at least 128M?');
        }

        return $comparison->table([2 => $limit]);
    }

    private static function nearHits(Cache $cache): int
    {
        return (int) ($cache->stats()['near']['hits'] ?? 0);
    }
}
