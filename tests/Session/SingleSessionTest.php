<?php

declare(strict_types=1);

namespace Larder\Tests\Session;

use Larder\Driver\Redis\Shards;
use Larder\Session\RedisEngine;
use Larder\Tests\Support\BehindStrictEndpoint;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;

#[CoversClass(RedisEngine::class)]
#[Group('slow')]
final class SingleSessionTest extends SessionRules
{
    use BehindStrictEndpoint;

    protected function endTheLock(): void
    {
        $key = \hash('sha256', self::ID);
        self::behind()->command('DEL', 'larder:session:' . Shards::tag($key) . ":$key:lock");
    }

    protected function connections(): int
    {
        return self::behind()->connections();
    }

    protected function bytes(): string
    {
        $bytes = '';
        foreach ((array) self::behind()->command('KEYS', '*') as $key) {
            \assert(\is_string($key));
            $bytes .= "$key " . self::behind()->command('GET', $key);
        }

        return $bytes;
    }
}
