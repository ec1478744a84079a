<?php

declare(strict_types=1);

namespace Larder\Queue;

use Cron\CronExpression;
use Larder\Config\InvalidConfiguration;

/**
 * The times of a cron expression in a time zone, as Unix times.
 *
 * The library looks at the clock on the wall alone, in UTC, where no hour is missing and none comes twice; this class says when
 * the wall's clock shows a time. One that is left out in spring is the end of the gap. One that comes twice in autumn counts
 * once, the first time; but an expression for every hour goes on through both, as cron(8) does.
 */
final readonly class Recurrence
{
    /** The field, from 0 on, of the day of the week. */
    private const WEEKDAY = 4;

    private const NAMES = [
        'jan' => 1, 'feb' => 2, 'mar' => 3, 'apr' => 4, 'may' => 5, 'jun' => 6, 'jul' => 7, 'aug' => 8, 'sep' => 9, 'oct' => 10, 'nov' => 11, 'dec' => 12,
        'sun' => 0, 'mon' => 1, 'tue' => 2, 'wed' => 3, 'thu' => 4, 'fri' => 5, 'sat' => 6,
    ];

    private CronExpression $cron;
    private \DateTimeZone $zone;
    private bool $isHourly;

    /** @throws InvalidConfiguration */
    public function __construct(string $expression, string $timeZone)
    {
        if (!\class_exists(CronExpression::class)) {
            throw new InvalidConfiguration('A schedule needs the library dragonmantank/cron-expression. Install it: composer require dragonmantank/cron-expression');
        }
        try {
            self::check($expression);
            $this->cron = new CronExpression($expression);
            // One that never comes, such as the 30th of February, is found by looking.
            $this->cron->getPreviousRunDate('@0', 0, true, 'UTC');
        } catch (\InvalidArgumentException|\RuntimeException $wrong) {
            throw new InvalidConfiguration("\"$expression\" is no time of a schedule: {$wrong->getMessage()}. Write minute, hour, day of the month, month and day of the week, for example \"0 3 * * MON-FRI\", or @hourly, @daily, @weekly, @monthly or @yearly.", 0, $wrong);
        }
        try {
            $this->zone = new \DateTimeZone($timeZone);
        } catch (\Exception $wrong) {
            throw new InvalidConfiguration("\"$timeZone\" is no time zone. Write for example Europe/Vienna or UTC.", 0, $wrong);
        }
        $this->isHourly = \str_starts_with((string) $this->cron->getExpression(1), '*');
    }

    /** The last time that is not after this one. */
    public function last(int $now): int
    {
        $wall = $this->cron->getPreviousRunDate('@' . ($now + $this->offset($now)), 0, true, 'UTC')->getTimestamp();
        $times = [];
        foreach ([$this->offset($wall - 86_400), $this->offset($wall + 86_400)] as $offset) {
            $this->offset($wall - $offset) === $offset && $times[] = $wall - $offset;
        }
        if ($times === []) {
            // The change of the clock that leaves it out; before it in the list is the beginning.
            $changes = $this->zone->getTransitions($wall - 86_400, $wall + 86_400);

            return $changes[1]['ts'];
        }

        return $this->isHourly && \max($times) <= $now ? \max($times) : \min($times);
    }

    /**
     * Refuses what the library takes, and then meets with a thousand warnings, or with no end to its memory.
     *
     * @throws \InvalidArgumentException
     */
    private static function check(string $expression): void
    {
        foreach (\preg_split('/\s+/', \trim($expression)) ?: [] as $field => $list) {
            foreach (\explode(',', $list) as $part) {
                if (\preg_match('~/(?!0*[1-9]\d{0,3}$)~D', $part) === 1) {
                    throw new \InvalidArgumentException("the step of \"$part\" is no number above zero");
                }
                if (\preg_match('~^(\d+|[a-z]{3})-(\d+|[a-z]{3})(?:/|$)~Di', $part, $found) === 1) {
                    [$from, $to] = \array_map(self::number(...), [$found[1], $found[2]]);
                    if ($from > ($field === self::WEEKDAY && $to === 0 ? 7 : $to)) {
                        throw new \InvalidArgumentException("\"$part\" runs backwards; write two ranges, as \"22-23,0-6\" for the hours of a night");
                    }
                }
            }
        }
    }

    private static function number(string $text): int
    {
        return \is_numeric($text) ? (int) $text : self::NAMES[\strtolower($text)] ?? 0;
    }

    /** Seconds by which the wall's clock is ahead of UTC. */
    private function offset(int $time): int
    {
        return $this->zone->getOffset(new \DateTimeImmutable("@$time"));
    }
}
