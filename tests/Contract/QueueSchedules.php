<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

use Larder\Queue\QueueFull;
use Larder\Queue\Schedule;

/** Part of QueueContract: messages of a schedule. Each schedule here is another worker's, by a clock that the test sets. */
trait QueueSchedules
{
    private int $at = 0;

    private function schedule(string $time): Schedule
    {
        $this->at = (int) \strtotime("$time UTC");

        return new Schedule($this->queue(), fn(): int => $this->at);
    }

    private function pushedAt(Schedule $schedule, string $time): int
    {
        $this->at = (int) \strtotime("$time UTC");

        return $schedule->push();
    }

    // Seen to fail where the time is not noted: each worker pushed it.
    public function testEachTimeGivesOneMessage(): void
    {
        [$a, $b] = \array_map(fn(): Schedule => $this->schedule('2026-01-01 12:00')->add('report', '0 3 * * *', ['daily'], 'UTC')->add('hour', '@hourly', 'hourly', 'UTC', 9), [1, 2]);
        self::assertSame([0, 0], [$a->push(), $b->push()], 'What was before it began was not missed.');
        self::assertSame([0, 0], [$this->pushedAt($a, '2026-01-01 12:59:59'), $b->push()]);
        self::assertSame([1, 0], [$this->pushedAt($a, '2026-01-01 13:00:00'), $b->push()]);
        self::assertSame([0, 0], [$this->pushedAt($b, '2026-01-01 13:00:59'), $a->push()]);
        self::assertSame([2, 0], [$this->pushedAt($b, '2026-01-02 03:00:10'), $this->pushedAt($a, '2026-01-02 03:00:20')], 'Of the hours that were missed the last one.');
        $late = $this->schedule('2026-01-02 03:30')->add('report', '0 3 * * *', ['daily'], 'UTC');
        self::assertSame(0, $late->push());
        self::assertSame(['hourly', 'hourly', ['daily']], self::drain($this->queue()));
    }

    public function testWhatWasMissedWhileNobodyWorkedIsPushedOnceUnlessItIsTooLate(): void
    {
        $add = static fn(Schedule $schedule): Schedule => $schedule->add('a', '0 3 * * *', 'a', 'UTC')->add('b', '0 3 * * *', 'b', 'UTC', late: 600)->add('c', '0 3 * * *', 'c', 'UTC', late: 60);
        self::assertSame(0, $add($this->schedule('2026-01-01 02:00'))->push());
        self::assertSame(2, $add($this->schedule('2026-01-04 03:10'))->push());
        self::assertSame(0, $add($this->schedule('2026-01-04 03:00'))->push(), 'A clock that is behind.');
        self::assertSame(['a', 'b'], self::drain($this->queue()));
        self::assertSame(3, $add($this->schedule('2026-01-05 03:01'))->push());
    }

    public function testItIsPushedAfterTheStoreHasForgotten(): void
    {
        $schedule = $this->schedule('2026-01-01 02:00')->add('a', '0 3 * * *', 'a', 'UTC');
        self::assertSame(1, $this->pushedAt($schedule, '2026-01-01 03:00'), 'Nothing was noted, but it began before.');
    }

    // Seen to fail: until 2038 nothing was pushed.
    public function testAClockThatWasAheadHoldsUpNothingAfterIt(): void
    {
        $add = static fn(Schedule $schedule): Schedule => $schedule->add('a', '0 3 * * *', 'a', 'UTC');
        $works = $add($this->schedule('2026-01-01 12:00'));
        self::assertSame(1, $this->pushedAt($works, '2038-01-19 03:14'));
        self::assertSame(0, $this->pushedAt($works, '2026-01-01 12:05'), 'What was before it began was not missed.');
        self::assertSame(1, $this->pushedAt($works, '2026-01-02 03:00'));
        self::assertSame(1, $this->pushedAt($add($this->schedule('2038-01-19 03:14')), '2038-01-20 03:00'));
        $new = $add($this->schedule('2026-01-02 12:00'));
        self::assertSame([0, 1], [$new->push(), $this->pushedAt($new, '2026-01-03 03:00')]);
        self::assertSame(0, $this->pushedAt($works, '2026-01-03 03:00'));
    }

    public function testAnotherExpressionIsAnotherMessage(): void
    {
        self::assertSame(0, $this->schedule('2026-01-01 15:00')->add('a', '0 3 * * *', 'a', 'UTC')->push());
        self::assertSame(0, $this->schedule('2026-01-01 15:00')->add('a', '0 14 * * *', 'a', 'UTC')->push());
    }

    public function testAFullQueueGetsItLater(): void
    {
        $queue = $this->queue('mail', ['limit' => 1]);
        $queue->push('first');
        $this->at = 0;
        $schedule = (new Schedule($queue, fn(): int => $this->at))->add('a', '1 0 * * *', 'a', 'UTC');
        $this->at = 60;
        try {
            $schedule->push();
            self::fail('It is full.');
        } catch (QueueFull) {
            self::assertSame(0, $schedule->push(), 'It rests for a minute.');
        }
        self::assertSame(['first'], self::drain($queue));
        $this->at = 120;
        self::assertSame(1, $schedule->push());
        self::assertSame(['a'], self::drain($queue));
    }

    public function testItsKeyKeepsItFromPilingUp(): void
    {
        $schedule = $this->schedule('2026-01-01 12:00')->add('a', '* * * * *', 'a', 'UTC', key: 'a', untilHandled: true);
        self::assertSame(1, $this->pushedAt($schedule, '2026-01-01 12:01'));
        $message = self::next($this->queue());
        self::assertSame(0, $this->pushedAt($schedule, '2026-01-01 12:02'), 'Its key kept it out.');
        self::assertSame(0, $this->queue()->size());
        self::assertTrue($message->ack());
        self::assertSame(1, $this->pushedAt($schedule, '2026-01-01 12:03'));
        self::assertSame(1, $this->queue()->size());
        self::assertSame(0, $this->pushedAt($schedule, '2026-01-01 12:04'), 'It waits still.');
        self::assertSame(0, $this->schedule('2026-01-01 12:04')->add('a', '* * * * *', 'a', 'UTC', key: 'a')->push(), 'The time is noted.');
        self::assertTrue(self::next($this->queue())->ack());
        self::assertSame(0, $this->pushedAt($schedule, '2026-01-01 12:04'));
    }

    public function testPurgeDoesNotForgetTheTimes(): void
    {
        $schedule = $this->schedule('2026-01-01 12:00')->add('a', '@hourly', 'a', 'UTC');
        self::assertSame(1, $this->pushedAt($schedule, '2026-01-01 13:00'));
        self::assertSame(1, $this->queue()->purge());
        self::assertSame(0, $this->schedule('2026-01-01 13:01')->add('a', '@hourly', 'a', 'UTC')->push());
    }
}
