<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

/** What one round found for one cell. */
final readonly class Measured
{
    /**
     * @param list<float> $samples   in the cell's unit; none where it failed
     * @param ?float      $perSecond operations a second of all processes together
     * @param ?string     $wrong     why it counts for nothing: a wrong value, an engine that failed
     */
    public function __construct(
        public array $samples,
        public ?float $perSecond = null,
        public ?string $wrong = null,
    ) {}
}
