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
    public function keep(array $keys): bool
    {
        return Machine::step('keep', $keys) === true;
    }

    /** @param \Closure(non-empty-list<string>): void $apply */
    public function apply(\Closure $apply): bool
    {
        if (Machine::step('gate') !== true) {
            return false;
        }
        $done = 0;
        try {
            for ($round = 0; $round < self::ROUNDS; $round++) {
                // Empty: all that was there is applied, and was forgotten in the same step.
                /** @var list<string> $keys */
                $keys = Machine::step('take', $done);
                if ($keys === []) {
                    return true;
                }
                $apply($keys);
                $done += \count($keys);
            }

            return false;
        } finally {
            Machine::step('leave the gate');
        }
    }
}
