<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Worker;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Side;
use Larder\Lab\Run\Context;
use Larder\Lab\Service\Cores;
use Larder\Lab\Service\Services;
use Larder\Lab\Worker\Effort;
use Larder\Lab\Worker\ProcessTask;
use Larder\Tests\Lab\Support\Tasks;
use Larder\Tests\Lab\Support\WhereDriver;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\TestCase;

final class PlacementTest extends TestCase
{
    /** Seen to fail: a ProcessTask that moves no server, and one that holds no process. */
    public function testClientAndServerRunWhereTheCellSays(): void
    {
        if (!(new Cores())->areHeld()) {
            self::markTestSkipped('There is one core here, or no taskset');
        }
        $services = new Services();
        $all = WhereDriver::cores('self');
        try {
            [$client, $server] = self::found($services, Cell::SAME);
            self::assertMatchesRegularExpression('/^\d+$/', $client);
            self::assertSame($client, $server);
            [$client, $server] = self::found($services, Cell::OTHER);
            self::assertMatchesRegularExpression('/^\d+$/', $server);
            self::assertNotSame($client, $server);
            self::assertSame([$all, $all], self::found($services, Cell::ANYWHERE, 2));
            // What is counted by the second is compared with what several do.
            self::assertSame($all, self::found($services, Cell::ANYWHERE, 1, Cell::PER_SECOND)[0]);
        } finally {
            $services->stopAll();
        }
    }

    /**
     * @param int<1, max> $processes
     *
     * @return array{string, string} the cores of the measuring process and of the server
     */
    private static function found(Services $services, string $placement, int $processes = 1, string $unit = Cell::MICROSECONDS): array
    {
        $directory = new TemporaryDirectory('lab');
        $subject = Tasks::subject('where:x', WhereDriver::class, [], 'memcached-socket');
        $cell = new Cell('test', 'where:x', 'where', Cell::SOCKET, 'none', 'none', 'short', 'read', $processes, $unit, $placement);
        [$measured] = (new ProcessTask('test', [new Side($cell, $subject)], Effort::quick(), $processes))->perform(new Context($services, $directory->path, 1));
        self::assertNull($measured->wrong);

        return [(string) \file_get_contents($directory->file('test-where-x/where')), WhereDriver::cores($services->get('memcached-socket')->pids()[0])];
    }
}
