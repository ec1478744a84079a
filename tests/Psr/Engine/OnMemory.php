<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

use Larder\Cache;
use PHPUnit\Framework\Attributes\After;

/**
 * The engine that ends with its Cache: one Cache for the whole test.
 *
 * This folder says over which engine the rules are tested: a trait an engine, which gives an empty one to each test
 * and equal Caches over it.
 */
trait OnMemory
{
    private ?Cache $memory = null;

    protected function cache(): Cache
    {
        return $this->memory ??= Cache::open($this->options());
    }

    /** @return array<string, string> */
    protected function options(): array
    {
        return ['dsn' => 'memory://'];
    }

    protected function reachable(): bool
    {
        return false;
    }

    #[After]
    protected function forgetMemory(): void
    {
        $this->memory = null;
    }
}
