<?php

declare(strict_types=1);

namespace Larder\Tests\Console\Fleet;

use PHPUnit\Framework\TestCase;

/** A test on a server with two users, which only root can have. */
abstract class FleetCase extends TestCase
{
    protected const ANNA = 200_001;
    protected const BERT = 200_002;

    protected Server $server;

    protected function setUp(): void
    {
        \posix_geteuid() === 0 || self::markTestSkipped('Only root can be several users.');
        $this->server = new Server();
    }
}
