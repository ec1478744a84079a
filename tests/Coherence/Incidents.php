<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/** What was done to an experiment, and when. */
final class Incidents
{
    /** Nanoseconds in which each server has begun a request since. */
    private const NEXT = 500_000_000;

    /** @var array<string, int> how often what was done */
    public array $done = [];

    /** @var array<string, int> by process, the name of its diary: when it was dead */
    public array $deaths = [];

    /** @var list<array{int, int}> from when until when the engine may have lost what it had: when exactly, only a new primary knows */
    public array $losses = [];

    /** @var list<array{int, int}> from when until when two servers took themselves for the primary, which docs/several-servers.md excepts */
    public array $overlaps = [];

    /**
     * @param bool $forgets the engine may lose any record at any time
     * @param bool $keeps   what the engine cannot record is kept on the one server that there is, and holds at once
     * @param int  $ahead   seconds by which one clock may be ahead of another
     */
    public function __construct(public readonly bool $forgets = false, public readonly bool $keeps = false, public readonly int $ahead = 0) {}

    public function count(string $what): void
    {
        $this->done[$what] = ($this->done[$what] ?? 0) + 1;
    }

    public function died(string $diary): void
    {
        $this->deaths[$diary] = \hrtime(true);
    }

    /**
     * The engine loses what it has while this is done.
     *
     * @param \Closure(): mixed $do may return from when until when that was, where it is more exactly known
     */
    public function lose(\Closure $do): void
    {
        $from = \hrtime(true);
        $turn = $do();
        $this->losses[] = \is_array($turn) ? $turn : [$from, \hrtime(true)];
    }

    /**
     * A server goes on that does not know yet that another has taken its place. Until it does, a process may change something there;
     * the next request of its server begins anew.
     *
     * @param \Closure(): bool $do whether another had
     */
    public function overlap(\Closure $do): void
    {
        $from = \hrtime(true);
        if ($do()) {
            $to = \hrtime(true);
            $this->losses[] = [$from, $to];
            $this->overlaps[] = [$from, $to + self::NEXT];
            $this->count('two primaries');
        }
    }
}
