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

    /** @var ?resource */
    private $lock = null;

    protected function setUp(): void
    {
        \posix_geteuid() === 0 || self::markTestSkipped('Only root can be several users.');
        $this->lock = \fopen(\sys_get_temp_dir() . '/larder-fleet-tests.lock', 'ce') ?: self::fail('There is no lock.');
        \flock($this->lock, \LOCK_SH);
        $this->server = new Server();
    }

    protected function tearDown(): void
    {
        $this->lock === null || \fclose($this->lock);
        $this->lock = null;
    }

    /** The users of these tests have the same numbers in all: from here on no process of another test runs as one of them. */
    final protected function alone(): void
    {
        self::assertNotNull($this->lock);
        \flock($this->lock, \LOCK_UN);
        \flock($this->lock, \LOCK_EX);
    }
}
