<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Support;

use Larder\Lab\Plan\Pair;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Task;
use Larder\Lab\Run\Context;
use Larder\Lab\Run\Measured;
use Larder\Lab\Subject\LookupDriver;

/** A task that measures what a test tells it to. */
final class StubTask implements Task
{
    /** @var list<int> seeds it was performed with */
    public array $seeds = [];

    /** @param \Closure(int): list<Measured> $perform is given how often it was performed before */
    public function __construct(private readonly string $name, private readonly \Closure $perform, private readonly ?Pair $pair = null) {}

    public function id(): string
    {
        return $this->name . ($this->pair === null ? '' : '/pair');
    }

    public function sides(): array
    {
        $subject = Tasks::subject($this->name, LookupDriver::class);
        $side = Side::of('test', $subject, 'short', 'read');

        return $this->pair === null ? [$side] : [$side, $side];
    }

    public function pair(): ?Pair
    {
        return $this->pair;
    }

    public function perform(Context $context): array
    {
        $this->seeds[] = $context->seed;

        return ($this->perform)(\count($this->seeds) - 1);
    }
}
