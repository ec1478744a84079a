<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Service;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Service\Cores;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\MemcachedServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\TestCase;

final class CoresTest extends TestCase
{
    public function testOneThatMeasuresAloneIsHeldToTheLast(): void
    {
        self::assertSame(['taskset', '-c', '5'], (new Cores([0, 2, 5]))->alone());
        self::assertTrue((new Cores([0, 2, 5]))->areHeld());
        self::assertSame('one process that measures, to core 5; its server, to core 5 ("same") or 0 ("other")', (new Cores([0, 2, 5]))->about());
    }

    public function testWhereThereAreNoTwoNothingIsHeld(): void
    {
        foreach ([[], [3]] as $numbers) {
            self::assertFalse((new Cores($numbers))->areHeld());
            self::assertSame([], (new Cores($numbers))->alone());
            self::assertStringContainsString('taskset', (new Cores($numbers))->about());
        }
    }

    /** Its threads too, of which memcached has several. Seen to fail: taskset without -a. */
    public function testARunningServerIsMovedWithAllOfItsThreads(): void
    {
        $cores = new Cores();
        if (!$cores->areHeld()) {
            self::markTestSkipped('There is one core here, or no taskset');
        }
        $parent = new TemporaryDirectory('larder-v');
        $server = new MemcachedServer(Directory::temporary($parent->path), true);
        $server->start();
        try {
            $all = self::where($server->pid());
            $cores->move($server, Cell::SAME);
            $same = self::where($server->pid());
            self::assertSame([$cores->alone()[2]], $same);
            $cores->move($server, Cell::OTHER);
            $other = self::where($server->pid());
            self::assertCount(1, $other);
            self::assertNotSame($same, $other);
            $cores->move($server, Cell::ANYWHERE);
            self::assertSame($all, self::where($server->pid()));
        } finally {
            $server->stop();
        }
        // One that has ended is no error here.
        $cores->move($server, Cell::SAME);
    }

    /** @return list<string> the cores of its threads, each list once */
    private static function where(int $pid): array
    {
        $lists = [];
        foreach (\glob("/proc/$pid/task/*/status") ?: [] as $file) {
            self::assertSame(1, \preg_match('/^Cpus_allowed_list:\s*(\S+)$/m', (string) \file_get_contents($file), $match));
            $lists[] = $match[1];
        }
        self::assertGreaterThan(1, \count($lists), 'threads');

        return \array_values(\array_unique($lists));
    }
}
