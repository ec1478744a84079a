<?php

declare(strict_types=1);

namespace Larder\Lab\Plan;

/** How much of the scenarios is to be measured. */
final readonly class Scope
{
    /** What a reader wants to know first, in under ten minutes. */
    public const PART = 'part';
    /** Every combination, with few samples; each serializer only on the array. */
    public const QUICK = 'quick';
    public const EVERY = 'every';

    /**
     * @param string       $level    one of the constants
     * @param list<string> $subjects words of --subjects; none: all
     */
    public function __construct(
        public string $level,
        public array $subjects = [],
    ) {}

    public function wants(Subject $subject): bool
    {
        if ($this->subjects === []) {
            return true;
        }
        foreach ($this->subjects as $word) {
            if ($subject->answersTo($word)) {
                return true;
            }
        }

        return false;
    }
}
