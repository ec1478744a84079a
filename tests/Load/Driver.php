<?php

declare(strict_types=1);

namespace Larder\Tests\Load;

/**
 * One process of a server: many requests under way at once, on a schedule that does not wait for any of them.
 *
 * A request that computes sleeps; this process goes on with the others meanwhile, as the other processes of a pool
 * would. Requests are due at fixed times, so that a slow side does not get a smaller load.
 */
final class Driver
{
    private int $gets = 0;

    /** @var array<string, int> by side */
    private array $misses = [];

    /** @var array<string, int> by side */
    private array $sets = [];

    /** @var \SplQueue<array{float, string, object, string}> who computes: until when, for which side, request, key */
    private \SplQueue $computing;

    private float $latest = 0.0;

    /**
     * @param non-empty-array<string, Side> $sides by name
     * @param non-empty-list<string>        $keys
     * @param float                         $rate  gets a second of each key by this process
     */
    public function __construct(private readonly array $sides, private readonly array $keys, private readonly float $rate)
    {
        $this->computing = new \SplQueue();
        foreach ($sides as $name => $_) {
            $this->misses[$name] = $this->sets[$name] = 0;
        }
    }

    /**
     * @param float  $start seconds since 1970
     * @param ?float $flush seconds after it at which this process flushes both sides
     *
     * @return array<string, array<string, int|float>> by side
     */
    public function run(float $start, float $seconds, ?float $flush): array
    {
        $keys = $this->keys;
        $interval = 1 / ($this->rate * \count($keys));
        // Not all processes at the same moments.
        $next = $start + \mt_rand() / \mt_getrandmax() * $interval;
        $end = $start + $seconds;
        $i = \count($keys);
        while (($now = \microtime(true)) < $end) {
            $this->finish($now);
            if ($flush !== null && $now >= $start + $flush) {
                $flush = null;
                foreach ($this->sides as $side) {
                    $side->flush();
                }
            }
            if ($next > $now) {
                $until = $this->computing->isEmpty() ? $next : \min($next, $this->computing->bottom()[0]);
                \usleep(\max(1, (int) (($until - $now) * 1e6)));
                continue;
            }
            $this->latest = \max($this->latest, $now - $next);
            $next += $interval;
            if ($i === \count($keys)) {
                \shuffle($keys);
                $i = 0;
            }
            $this->request($keys[$i++]);
        }
        $did = [];
        foreach ($this->sides as $name => $side) {
            $did[$name] = ['gets' => $this->gets, 'misses' => $this->misses[$name], 'sets' => $this->sets[$name]]
                + $side->counts() + ['latest' => $this->latest];
        }

        return $did;
    }

    private function request(string $key): void
    {
        $this->gets++;
        foreach ($this->sides as $name => $side) {
            $request = $side->request($key);
            if ($request !== null) {
                $this->misses[$name]++;
                $this->computing->enqueue([\microtime(true) + BoundedLife::COMPUTATION, $name, $request, $key]);
            }
        }
    }

    private function finish(float $now): void
    {
        while (!$this->computing->isEmpty() && $this->computing->bottom()[0] <= $now) {
            [, $name, $request, $key] = $this->computing->dequeue();
            // Never the same twice: a time stamp, an answer from elsewhere.
            $this->sides[$name]->computed($request, $key, $key . ' at ' . \microtime(true) . ' ' . \bin2hex(\random_bytes(80)));
            $this->sets[$name]++;
        }
    }
}
