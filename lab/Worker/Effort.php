<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

use Larder\Lab\Plan\Cell;

/** How long a process measures a cell. */
final readonly class Effort
{
    /**
     * Of a sample: the same for all that is compared, so that percentiles compare like with like; and a multiple of the
     * keys a request (1, 10, 175).
     */
    public const OPERATIONS = 350;

    /** Over a network, where each takes milliseconds. */
    private const FAR = 20;

    /**
     * @param int<1, max> $samples      at most, of a process
     * @param float       $milliseconds that one process alone takes samples for
     * @param float       $window       milliseconds that processes at once work for, all from the same moment
     * @param int<1, max> $operations   of each sample
     * @param int<1, max> $least        samples that are taken whatever they last
     * @param bool        $warm         whether all is done untimed before: a script that runs once is not
     */
    public function __construct(
        public int $samples,
        public float $milliseconds,
        public float $window,
        public int $operations = self::OPERATIONS,
        public int $least = 5,
        public bool $warm = true,
    ) {}

    /** @param int<1, max> $operations */
    public static function full(int $operations = self::OPERATIONS): self
    {
        return new self(100, 60.0, 200.0, $operations, 3);
    }

    /** Over a network, where an operation takes milliseconds and its samples scatter little beside that. */
    public static function far(): self
    {
        return new self(100, 60.0, 200.0, least: 2);
    }

    /** For small differences. */
    public static function ofPair(int $operations): self
    {
        return new self(20, 200.0, 1.0, \max(1, $operations));
    }

    /** @param int<1, max> $operations */
    public static function quick(int $operations = self::OPERATIONS): self
    {
        return new self(30, 10.0, 100.0, $operations, 3);
    }

    /** One script, from its start to its end. */
    public static function script(int $operations): self
    {
        return new self(1, 1.0, 1.0, \max(1, $operations), 1, false);
    }

    /** @return int<1, max> of each sample of a cell: chosen by what is compared with it, never by how fast it is */
    public function operations(Cell $cell): int
    {
        return $cell->connection === Cell::NETWORK ? \max($cell->request, \min(self::FAR, $this->operations)) : $this->operations;
    }
}
