<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

/** What one round found for one cell. */
final readonly class Measured
{
    /**
     * @param list<float>                  $samples    in the cell's unit; none where it failed
     * @param ?float                       $perSecond  operations a second of all processes together
     * @param ?string                      $wrong      why it counts for nothing: a wrong value, an engine that failed
     * @param ?int                         $operations of each sample; null where they are not the same number
     * @param ?array{int, float, float}    $spent      operations of all processes, the seconds that they took by the clock, and by all processors; null where they were not counted
     */
    public function __construct(
        public array $samples,
        public ?float $perSecond = null,
        public ?string $wrong = null,
        public ?int $operations = 1,
        public ?array $spent = null,
    ) {}

    /** @param array<mixed> $found members by the names of the constructor's parameters; of what is not there, nothing is known */
    public static function from(array $found): self
    {
        $number = static fn(mixed $one): float => \is_int($one) || \is_float($one) ? (float) $one : throw new \RuntimeException('What was measured is not a number.');
        $samples = \is_array($found['samples'] ?? null) ? $found['samples'] : [];
        $spent = \is_array($found['spent'] ?? null) ? \array_map($number, \array_values($found['spent'])) : [];

        return new self(
            \array_map($number, \array_values($samples)),
            isset($found['perSecond']) ? $number($found['perSecond']) : null,
            \is_string($found['wrong'] ?? null) ? $found['wrong'] : null,
            \is_int($found['operations'] ?? null) ? $found['operations'] : null,
            \count($spent) === 3 ? [(int) $spent[0], $spent[1], $spent[2]] : null,
        );
    }
}
