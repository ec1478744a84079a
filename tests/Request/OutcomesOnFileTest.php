<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Tests\Psr\Engine\OnFile;
use Psr\Log\NullLogger;

final class OutcomesOnFileTest extends Outcomes
{
    use OnFile;

    protected function refusing(): Cache
    {
        return Cache::open(['budget' => '1M', 'logger' => new NullLogger()] + $this->options());
    }
}
