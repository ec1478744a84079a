<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Statistics;

use Random\Engine\Xoshiro256StarStar;
use Random\Randomizer;

/** Rounds of a machine that never was, whose noise is known: the same ones for the same seed. */
final class Rounds
{
    /** The noises that an interval has to cope with. */
    public const NOISES = ['normal', 'heavy', 'outliers', 'skewed', 'two levels', 'drift'];

    private readonly Randomizer $randomizer;

    public function __construct(int $seed)
    {
        $this->randomizer = new Randomizer(new Xoshiro256StarStar($seed));
    }

    /** Between 0 and 1, neither of them. */
    public function uniform(): float
    {
        return ($this->randomizer->getInt(0, (1 << 52) - 1) + 0.5) / (1 << 52);
    }

    public function normal(): float
    {
        return \sqrt(-2 * \log($this->uniform())) * \cos(2 * \M_PI * $this->uniform());
    }

    public function exponential(): float
    {
        return -\log($this->uniform());
    }

    /**
     * Two subjects in the same rounds.
     *
     * @param float $ratio of the first to the second
     * @param float $noise of each in each round: 0.03 is 3 %
     *
     * @return array{list<float>, list<float>} microseconds a round
     */
    public function pair(string $kind, int $rounds, float $ratio, float $noise = 0.03): array
    {
        $of = $to = [];
        for ($round = 0; $round < $rounds; ++$round) {
            // A machine that slows down by a third from the first round to the last.
            $base = $kind === 'drift' ? 50 * (1 + $round / $rounds / 3) : 50.0;
            $of[] = $base * $ratio * \exp($this->noise($kind, $noise));
            $to[] = $base * \exp($this->noise($kind, $noise));
        }

        return [$of, $to];
    }

    private function noise(string $kind, float $size): float
    {
        return match ($kind) {
            'normal', 'drift' => $size * $this->normal(),
            // Student's with two degrees of freedom: its variance is infinite.
            'heavy' => $size * $this->normal() / \sqrt($this->exponential()),
            // One round in ten is longer by a fifth to the double.
            'outliers' => $size * $this->normal() + ($this->uniform() < 0.1 ? \log(1.2 + 0.8 * $this->uniform()) : 0.0),
            'skewed' => $size * $this->exponential(),
            // Three processes in ten get the slow core, or the bad layout of memory.
            'two levels' => $size * $this->normal() + ($this->uniform() < 0.3 ? 0.25 : 0.0),
            default => throw new \LogicException("No noise is called $kind."),
        };
    }
}
