<?php

declare(strict_types=1);

namespace Larder\Bench;

use Larder\Lab\Run\Machine;
use Random\Engine\Mt19937;
use Random\Randomizer;

/**
 * Compares things side by side: all of them in each round, in an order drawn anew, so that whatever the machine does
 * meanwhile happens to all of them.
 *
 * This folder measures the library against what it stands on, for its developers. It decides nothing: a ratio that is
 * missed is printed, never a failed test, for machines are noisy.
 */
final readonly class Harness
{
    /** A sample takes at least this long (nanoseconds): two readings of the clock, 0.1 us, are then far below 1 %. */
    private const SAMPLE = 10_000_000;

    public Randomizer $random;

    public function __construct(
        public int $rounds = 15,
        public int $seed = 1,
    ) {
        $this->random = new Randomizer(new Mt19937($seed));
    }

    /**
     * From the command line: --rounds=N and --seed=N.
     *
     * @param list<string> $arguments
     */
    public static function fromArguments(array $arguments): self
    {
        $values = ['rounds' => 15, 'seed' => \random_int(1, 999_999)];
        foreach ($arguments as $argument) {
            if (\preg_match('/^--(rounds|seed)=([1-9][0-9]{0,8})$/D', $argument, $match) !== 1) {
                throw new \InvalidArgumentException($argument . ' is unknown here: --rounds=15 and --seed=1 are possible.');
            }
            $values[$match[1]] = (int) $match[2];
        }

        return new self($values['rounds'], $values['seed']);
    }

    /** What has to be said before any figure: where it comes from and how to get it again. */
    public function banner(string $script): string
    {
        $machine = Machine::facts();

        return \sprintf(
            "PHP %s, %s, %s\n%d rounds; each runs all sides in random order. Again: php %s --rounds=%d --seed=%d\n\n",
            \PHP_VERSION,
            $machine['kernel'],
            $machine['processor'],
            $this->rounds,
            $script,
            $this->rounds,
            $this->seed,
        );
    }

    /**
     * Checks, warms up and measures. The first side is the one that the others are compared with; it also runs a second
     * time under another name, and how far that ratio is from 1 is the noise of this comparison.
     */
    public function compare(string $title, Side $base, Side ...$others): Comparison
    {
        $again = new Side($base->name . ' (again)', $base->run, $base->prepare, null, $base->times);
        $sides = [$base, $again, ...\array_values($others)];
        $times = [];
        foreach ($sides as $i => $side) {
            if ($side->check !== null && !($side->check)()) {
                throw new \RuntimeException($title . ': ' . $side->name . ' gives a wrong value, so its time means nothing.');
            }
            $times[$i] = $side->times > 0 ? $side->times : $this->calibrate($side);
            $this->sample($side, $times[$i]);
        }

        $samples = \array_fill(0, \count($sides), []);
        for ($round = 0; $round < $this->rounds; ++$round) {
            /** @var list<int> $order */
            $order = $this->random->shuffleArray(\array_keys($sides));
            foreach ($order as $i) {
                $samples[$i][] = $this->sample($sides[$i], $times[$i]);
            }
        }

        return new Comparison($title, \array_map(static fn(Side $side): string => $side->name, $sides), $samples, $this->random);
    }

    /** How many operations fill a sample. */
    private function calibrate(Side $side): int
    {
        for ($times = 1; ; $times *= 2) {
            $needed = $this->sample($side, $times) * $times;
            if ($needed >= self::SAMPLE || $times >= 1 << 30) {
                return $times;
            }
        }
    }

    /** Nanoseconds an operation. */
    private function sample(Side $side, int $times): float
    {
        if ($side->prepare !== null) {
            ($side->prepare)($times);
        }
        $run = $side->run;
        // Garbage of the sides before shall not be collected, nor counted, in this one.
        \gc_collect_cycles();
        $start = \hrtime(true);
        $run($times);

        return (\hrtime(true) - $start) / $times;
    }
}
