<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

/** How long a process measures a cell. */
final readonly class Effort
{
    /**
     * @param int<1, max> $samples      at most, of a process
     * @param float       $milliseconds that one process alone takes samples for; it takes five samples whatever they last
     * @param float       $window       milliseconds that processes at once work for, all from the same moment
     * @param int<0, max> $operations   of each sample; 0: found so that reading the clock costs less than 1 %
     * @param int<1, max> $least        samples that are taken whatever they last
     */
    public function __construct(
        public int $samples,
        public float $milliseconds,
        public float $window,
        public int $operations = 0,
        public int $least = 5,
    ) {}

    public static function full(): self
    {
        return new self(100, 60.0, 100.0);
    }

    /** For small differences: so many operations a sample that what a request costs once does not show. */
    public static function ofPair(int $operations): self
    {
        return new self(20, 200.0, 1.0, \max(1, $operations));
    }

    public static function quick(): self
    {
        return new self(30, 10.0, 25.0, 0, 3);
    }
}
