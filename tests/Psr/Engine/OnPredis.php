<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

/** Redis by Predis, over TCP. */
trait OnPredis
{
    use OnRedisServer;

    /** @return array<string, string> */
    protected function options(): array
    {
        return ['dsn' => 'predis://127.0.0.1:' . self::redis()->port . '/0'] + $this->common();
    }
}
