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

    /** Seconds by which the wall's clock is ahead of UTC. */
    private function offset(int $time): int
    {
        return $this->zone->getOffset(new \DateTimeImmutable("@$time"));
    }
}
