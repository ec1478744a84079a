<?php

declare(strict_types=1);

namespace Larder\Tests\Segment;

use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\DataProvider;

/**
 * Processes that die inside a lock, in all the ways in which PHP's do: others go on, and miss nothing.
 *
 * That it holds for every named point is tested without PHP, by ext/tests/core.
 */
final class DeathTest extends SegmentTestCase
{
    /** Nobody has waited for it: kill(2) says that it is there, and its process id is taken. */
    // Seen to fail: seg_make_lock() without PTHREAD_MUTEX_ROBUST (nobody goes on).
    public function testAZombie(): void
    {
        $child = $this->full();
        $pid = $child->run(<<<'PHP'
            if (($pid = pcntl_fork()) === 0) {
                putenv('LARDER_POINT=publish');
                $s->get('k1');
                $s->set('k0', 'never seen');
            }
            while (!str_contains(file_get_contents("/proc/$pid/stat"), ') Z ')) usleep(1000);
            return $pid;
            PHP);
        self::assertIsInt($pid);
        self::assertTrue(\posix_kill($pid, 0));
        $this->assertNothingIsLost($child, 1);
        // It is a zombie still: what was held by it is free nevertheless.
        self::assertStringContainsString(') Z ', (string) \file_get_contents("/proc/$pid/stat"));
        self::assertSame(1, Child::at($this->path)->run('return $s->stats()["readers"];'), 'Only its parent reads.');
    }

    /** One that becomes another program in the middle, as the same process: that holds no lock and reads no value. */
    public function testAnotherProgramInItsPlace(): void
    {
        $child = $this->full();
        $pid = $child->run(<<<'PHP'
            if (($pid = pcntl_fork()) === 0) {
                putenv('LARDER_POINT=publish');
                putenv('LARDER_POINT_HOW=exec');
                $s->get('k1');
                $s->set('k0', 'never seen');
            }
            while (!str_starts_with(file_get_contents("/proc/$pid/cmdline"), 'sleep')) usleep(1000);
            return $pid;
            PHP);
        self::assertIsInt($pid);
        try {
            $this->assertNothingIsLost($child, 1);
            self::assertSame(1, Child::at($this->path)->run('return $s->stats()["readers"];'), 'Only its parent reads.');
            self::assertStringStartsWith('sleep', (string) \file_get_contents("/proc/$pid/cmdline"));
        } finally {
            \posix_kill($pid, \SIGKILL);
        }
    }

    /** A program in the place of a process that was doing nothing, and had read. */
    public function testAnotherProgramInTheMiddleOfARequest(): void
    {
        $child = $this->full();
        $other = Child::at($this->path);
        $other->start('$held = $s->get("k1"); pcntl_exec("/bin/sleep", ["100"]);');
        Wait::until(static fn(): bool => \str_starts_with((string) \file_get_contents('/proc/' . $other->process->pid . '/cmdline'), '/bin/sleep'), 'the program to have begun');
        self::assertSame([0, 0, null], $child->run('$s->delete("k1"); $n = $s->stats(); return [$n["readers"], $n["retired_bytes"], $s->check()];'));
    }

    /** @return iterable<string, array{list<string>}> */
    public static function repairs(): iterable
    {
        yield 'at the beginning of the repair' => [['repair-begin']];
        yield 'in the middle' => [['repair-shards']];
        yield 'with the last shard' => [['repair-shard:8']];
        yield 'at its end' => [['repair-end']];
        yield 'four in a row' => [['repair-begin', 'repair-entry:9', 'repair-rest', 'repair-counted']];
        yield 'having the lock of the dead' => [['lock-of-the-dead']];
        yield 'and again' => [['lock-said-broken', 'lock-consistent']];
    }

    /**
     * Who repairs dies as well.
     *
     * @param list<string> $points
     */
    // Seen to fail: take() (ext/segment/locks.c) that says nothing of the dead to others.
    #[DataProvider('repairs')]
    public function testTheOwnerDiesAndThenWhoRepairs(array $points): void
    {
        $child = $this->full();
        foreach (['publish', ...$points] as $point) {
            $victim = new Child(['LARDER_POINT' => $point]);
            $victim->open($this->path);
            $victim->start('for ($i = 0; $i < 50; $i++) $s->set("k0", "never seen");');
            self::assertSame(128 + \SIGKILL, $victim->process->wait(), $point);
        }
        $this->assertNothingIsLost($child, null);
    }

    /**
     * Containers have process ids of their own, and the kernel finds the dead holder of a lock by that: each has its own
     * segment beside, as long as others are in use; alone it takes over what is there.
     */
    // Seen to fail: attach() that does not compare header.pids (they share, and one's death opens the other's lock).
    public function testContainers(): void
    {
        $container = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
        \exec(\implode(' ', $container) . ' true 2>&1', $said, $status);
        if ($status !== 0) {
            self::markTestSkipped('Needs the right to make a namespace of process ids (unshare --pid): ' . \implode(' ', $said));
        }
        $host = $this->full();
        foreach ([1, 2] as $number) {
            $child = new Child(before: $container);
            $child->open($this->path);
            self::assertSame([1, null, null, 'zero-copy'], $child->run('return [getmypid(), $s->get("k5"), $s->check(), $s->stats()["mode"]];'));
            self::assertTrue($child->run('return $s->set("k5", $number);', number: $number));
            self::assertSame($number, $child->run('return $s->get("k5");'));
            self::assertCount(1 + $number, \glob($this->path . '{,-????????}', \GLOB_BRACE) ?: []);
            $children[] = $child;
        }
        // Number 1 cannot be killed by itself: number 2 dies, in its own.
        self::assertSame([2, \SIGKILL], $children[0]->run('if (($pid = pcntl_fork()) === 0) { putenv("LARDER_POINT=publish"); $s->set("k0", "never seen"); } pcntl_waitpid($pid, $status); return [$pid, pcntl_wtermsig($status)];'));
        self::assertSame([1, true, 1], $children[0]->run('return [$s->get("k5"), $s->set("k0", 1), $s->stats()["recoveries"]];'));
        self::assertSame([2, 0], $children[1]->run('return [$s->get("k5"), $s->stats()["recoveries"]];'));
        $this->assertNothingIsLost($host, 0);
        // Nobody has the first one open any more.
        $host->kill();
        $late = new Child(before: $container);
        $late->open($this->path);
        $this->assertNothingIsLost($late, 1);
    }

    /** A child that has stored k0 to k99. */
    private function full(): Child
    {
        $child = Child::at($this->path);
        $child->run('for ($i = 0; $i < 100; $i++) $s->set("k$i", ["n" => $i, "text" => str_repeat("x", $i)]);');

        return $child;
    }

    private function assertNothingIsLost(Child $child, ?int $recoveries): void
    {
        $child->start(<<<'PHP'
            $lost = [];
            for ($i = 0; $i < 100; $i++) {
                if ($s->get("k$i") !== ["n" => $i, "text" => str_repeat("x", $i)]) {
                    $lost[] = $i;
                }
            }
            // Every shard is written to.
            for ($i = 0; $i < 100; $i++) {
                if (!$s->set("new$i", $i) || $s->get("new$i") !== $i || !$s->delete("new$i")) {
                    $lost[] = "new$i";
                }
            }
            return [$lost, $s->check(), $s->stats()["recoveries"]];
            PHP);
        $found = $child->finish(20.0);
        self::assertIsArray($found);
        self::assertSame([[], null], [$found[0], $found[1]]);
        if ($recoveries !== null) {
            self::assertSame($recoveries, $found[2]);
        } else {
            self::assertGreaterThan(0, $found[2]);
        }
    }
}
