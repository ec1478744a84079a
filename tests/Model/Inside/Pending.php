<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Inside;

use Larder\Tests\Model\Machine;

/**
 * In the place of Store\PendingInvalidations: each server has one list of keys, which outlives its processes. (What lies in
 * the file after a killed write, or when it is full, is for the tests of the real class.)
 */
final class Pending
{
    /** As in the real class: how many times one process applies what others added while it applied the rest. */
    private const ROUNDS = 20;

    public function __construct(?string $file, ?string $spare = null) {}

    public function where(): string
    {
        return 'the model';
    }

    public function pending(): bool
    {
        return Machine::step('pending') === true;
    }

    /** @param list<string> $keys */
    public function keep(array $keys, string $writer = ''): bool
    {
        return Machine::step('keep', \array_map(static fn(string $key): string => "$writer $key", $keys)) === true;
    }

    /** @param \Closure(non-empty-array<string, list<string>>): mixed $apply */
    public function apply(\Closure $apply): bool
    {
        if (Machine::step('gate') !== true) {
            return false;
        }
        $done = 0;
        try {
            for ($round = 0; $round < self::ROUNDS; $round++) {
                // Empty: all that was there is applied, and was forgotten in the same step.
                /** @var list<string> $kept */
                $kept = Machine::step('take', $done);
                if ($kept === []) {
                    return true;
                }
                $keys = [];
                foreach ($kept as $entry) {
                    [$writer, $key] = \explode(' ', $entry, 2);
                    $keys[$key][] = $writer;
                }
                $apply($keys);
                $done += \count($kept);
            }

            return false;
        } finally {
            Machine::step('leave the gate');
        }
    }
}
