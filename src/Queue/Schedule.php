<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Codec\NotStorable;
use Larder\Config\InvalidConfiguration;

/**
 * Messages that are pushed again and again, at the times of a cron expression. It needs dragonmantank/cron-expression.
 *
 * The program says what there is to be pushed, each time it starts; nothing of that is stored. What the queue stores is up to
 * which time each message was pushed, in one step with the push. So any number of workers on any number of servers may have the
 * same schedule, and each time gives one message. A message with another expression or time zone is another one.
 *
 * Times are by this machine's clock.
 *
 * @phpstan-import-type New from Transport
 * @phpstan-type Entry array{recurrence: Recurrence, message: New, late: ?int, done: int}
 */
final class Schedule
{
    /** Seconds by which the clocks of servers may differ. A time that is noted further ahead is of a clock that was set back, and must not hold up the schedule until then. cron(8) draws the same line. */
    private const AHEAD = 10_800;

    /** @var array<string, Entry> by name, expression and time zone */
    private array $entries = [];

    /** When this began: what was before that was not missed by it. */
    private readonly int $began;

    /** The minute that was looked at last. */
    private int $minute = -1;

    /** @param ?\Closure(): (int|float) $now gives the Unix time; null: the machine's */
    public function __construct(private readonly Queue $queue, private readonly ?\Closure $now = null)
    {
        $this->began = (int) $this->time();
    }

    /**
     * Adds a message that is pushed at each time of the expression.
     *
     * @param string         $name         of the message in this queue's schedule, the same wherever it is added
     * @param string         $expression   minute, hour, day of the month, month, day of the week; or @hourly, @daily, @weekly, @monthly, @yearly
     * @param ?string        $timeZone     null: date_default_timezone_get()
     * @param ?string        $key          as for Queue::push(): nothing is added while a message has it
     * @param bool           $untilHandled as for Queue::push()
     * @param null|int|float $late         seconds after a time within which it is still pushed, if no worker looked in time; null:
     *                                     however late. Of several times that were missed the last one counts
     *
     * @throws InvalidConfiguration|NotStorable|\InvalidArgumentException
     */
    public function add(string $name, string $expression, mixed $body, ?string $timeZone = null, int $priority = 0, ?string $key = null, bool $untilHandled = false, int|float|null $late = null): self
    {
        $timeZone ??= \date_default_timezone_get();
        $entry = "$name $expression $timeZone";
        if ($name === '' || isset($this->entries[$entry])) {
            throw new \InvalidArgumentException("A message of a schedule has a name of its own, and \"$name\" is none.");
        }
        $this->entries[$entry] = [
            'recurrence' => new Recurrence($expression, $timeZone),
            'message' => $this->queue->message($body, 0, $priority, $key, $untilHandled),
            'late' => $late === null ? null : \intdiv(Seconds::milliseconds('lateness', $late), 1000),
            'done' => \PHP_INT_MIN,
        ];
        $this->minute = -1;

        return $this;
    }

    /**
     * Pushes what is due and was not pushed yet, by whomever. Costs nothing but once a minute.
     *
     * @return int how many this call has pushed, without those that their key kept out
     *
     * @throws QueueFull|QueueFailure what could not be pushed is, a minute later
     */
    public function push(): int
    {
        $now = (int) $this->time();
        $minute = \intdiv($now, 60);
        if ($minute === $this->minute) {
            return 0;
        }
        $this->minute = $minute;
        $count = 0;
        $failure = null;
        foreach ($this->entries as $name => ['recurrence' => $recurrence, 'message' => $message, 'late' => $late, 'done' => $done]) {
            $time = $recurrence->last($now);
            if ($time <= $done && $done <= $now + self::AHEAD) {
                continue;
            }
            try {
                $count += (int) $this->queue->pushForTime($name, $time, $this->began, $late === null || $now - $time <= $late ? $message : null, $now + self::AHEAD);
                $this->entries[$name]['done'] = $time;
            } catch (QueueFailure $failure) {
                // The others may be possible.
            }
        }

        return $failure === null ? $count : throw $failure;
    }

    /** Seconds until something may be due. */
    public function left(): float
    {
        $time = $this->time();

        return $this->minute === \intdiv((int) $time, 60) ? 60 - \fmod($time, 60) : 0.0;
    }

    private function time(): float
    {
        return (float) ($this->now === null ? \microtime(true) : ($this->now)());
    }
}
