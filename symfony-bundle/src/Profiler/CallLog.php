<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle\Profiler;

/**
 * What the pools were asked in this request.
 *
 * @phpstan-type Call array{pool: string, method: string, keys: list<string>, number: int, hits: int, misses: int, tiers: array<string, int>, time: float, computed: ?float, position: int}
 */
final class CallLog
{
    /** Calls that are kept; a long process asks for more than a developer reads. */
    private const MOST = 10_000;

    /** @var list<Call> in the order in which they ended; times in milliseconds */
    public array $calls = [];

    /** @param ?\Closure(): bool $disabled whether the profiler collects nothing now */
    public function __construct(private readonly ?\Closure $disabled = null) {}

    public function isOpen(): bool
    {
        return \count($this->calls) < self::MOST && ($this->disabled === null || !($this->disabled)());
    }

    /** @param Call $call */
    public function add(array $call): void
    {
        $this->calls[] = $call;
    }

    public function clear(): void
    {
        $this->calls = [];
    }
}
