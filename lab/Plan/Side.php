<?php

declare(strict_types=1);

namespace Larder\Lab\Plan;

/** A cell and the subject that is measured for it. */
final readonly class Side
{
    public function __construct(
        public Cell $cell,
        public Subject $subject,
    ) {}

    /**
     * @param int<1, max> $concurrency as Cell takes it, and all that follow
     * @param int<1, max> $request
     */
    public static function of(
        string $scenario,
        Subject $subject,
        string $payload,
        string $operation,
        int $concurrency = 1,
        string $unit = Cell::MICROSECONDS,
        string $placement = Cell::ANYWHERE,
        int $request = Cell::REQUEST,
    ): self {
        return new self(new Cell($scenario, $subject->name, $subject->engine, $subject->connection, $subject->serializer, $subject->compressor, $payload, $operation, $concurrency, $unit, $placement, $request), $subject);
    }
}
