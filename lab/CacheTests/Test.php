<?php

declare(strict_types=1);

namespace Larder\Lab\CacheTests;

/** One test of the suite, as the suite describes it. */
final readonly class Test
{
    /**
     * @param string       $group     the part of the suite that has it
     * @param list<string> $dependsOn ids of tests without which it says nothing
     */
    public function __construct(
        public string $id,
        public string $name,
        public string $group,
        public Kind $kind,
        public array $dependsOn,
    ) {}
}
