<?php

declare(strict_types=1);

namespace Larder\Tests\Counter;

final class PredisCounterTest extends RedisCounterTest
{
    protected const SCHEME = 'predis';
}
