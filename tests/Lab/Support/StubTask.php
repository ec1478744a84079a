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

    /**
     * @param \Closure(int): list<Measured> $perform    is given how often it was performed before
     * @param non-empty-list<string>        $operations of a side each; a pair has two of the first
     */
    public function __construct(private readonly string $name, private readonly \Closure $perform, private readonly ?Pair $pair = null, private readonly array $operations = ['read']) {}

    public function id(): string
    {
        return $this->name . ($this->pair === null ? '' : '/pair');
    }

    public function sides(): array
    {
        $subject = Tasks::subject($this->name, LookupDriver::class);
        $sides = \array_map(static fn(string $operation): Side => Side::of('test', $subject, 'short', $operation), $this->operations);

        return $this->pair === null ? $sides : [$sides[0], $sides[0]];
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
