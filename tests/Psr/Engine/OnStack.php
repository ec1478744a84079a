<?php

declare(strict_types=1);

namespace Larder\Tests\Psr\Engine;

/** APCu before Redis. */
trait OnStack
{
    use OnRedisServer;

    /** @return array<string, string> */
    protected function options(): array
    {
        return ['near' => 'apcu://', 'far' => 'redis://' . self::redis()->socket] + $this->common();
    }
}
