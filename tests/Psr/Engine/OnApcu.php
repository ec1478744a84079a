<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

use Larder\Cache;
use PHPUnit\Framework\Attributes\After;

/** APCu alone, which no other process of the command line sees. */
trait OnApcu
{
    private string $prefix = '';

    protected function cache(): Cache
    {
        return Cache::open($this->options());
    }

    /** @return array<string, string> */
    protected function options(): array
    {
        if (!\apcu_enabled()) {
            self::markTestSkipped('APCu is off: run with -d apc.enable_cli=1.');
        }
        $this->prefix = $this->prefix !== '' ? $this->prefix : 't' . \bin2hex(\random_bytes(5));

        return ['dsn' => 'apcu://?prefix=' . $this->prefix];
    }

    protected function reachable(): bool
    {
        return false;
    }

    #[After]
    protected function removePrefix(): void
    {
        if ($this->prefix !== '') {
            Cache::open($this->options())->flush();
            $this->prefix = '';
        }
    }
}
