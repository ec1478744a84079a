<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Config\InvalidConfiguration;
use Larder\Queue\FakeQueue;
use Larder\Queue\Recurrence;
use Larder\Queue\Schedule;
use Larder\Queue\Worker;
use Larder\Queue\WorkerLimits;
use Larder\Tests\Support\Process;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** When the messages of a schedule come; QueueSchedules has what each transport keeps. */
#[CoversClass(Recurrence::class)]
#[CoversClass(Schedule::class)]
final class RecurrenceTest extends TestCase
{
    /** @return iterable<string, array{string, string, string, string, list<string>}> expression, zone, from, to, times in UTC */
    public static function times(): iterable
    {
        yield 'a step' => ['*/20 * * * *', 'UTC', '2026-01-01 00:00', '2026-01-01 01:00', ['01-01 00:00', '01-01 00:20', '01-01 00:40', '01-01 01:00']];
        yield 'names, lists and ranges' => ['0 6,8-9 * JAN,mar SAT-SUN', 'UTC', '2026-01-03 06:00', '2026-01-03 23:00', ['01-03 06:00', '01-03 08:00', '01-03 09:00']];
        yield 'in its zone' => ['0 3 * * *', 'Europe/Vienna', '2026-07-01 00:59', '2026-07-02 00:00', ['06-30 01:00', '07-01 01:00']];
        yield 'in a zone of half an hour' => ['0 3 * * *', 'Asia/Kolkata', '2026-07-01 00:00', '2026-07-02 00:00', ['06-30 21:30', '07-01 21:30']];
        yield 'in an offset' => ['0 3 * * *', '+02:00', '2026-07-01 00:00', '2026-07-02 00:00', ['06-30 01:00', '07-01 01:00']];
        foreach (['@hourly' => '01-05 02:00', '@daily' => '01-05 00:00', '@weekly' => '01-04 00:00', '@monthly' => '01-01 00:00', '@yearly' => '01-01 00:00'] as $name => $time) {
            yield $name => [$name, 'UTC', '2026-01-05 02:30', '2026-01-05 02:31', [$time]];
        }
        // Vienna's clocks go from 02:00 to 03:00 on 29 March, and from 03:00 back to 02:00 on 25 October: both at 01:00 UTC.
        yield 'a time that does not exist comes at the end of the gap' => ['30 2 * * *', 'Europe/Vienna', '2026-03-28 02:00', '2026-03-30 02:00', ['03-28 01:30', '03-29 01:00', '03-30 00:30']];
        yield 'several that do not exist are one' => ['*/20 2 * * *', 'Europe/Vienna', '2026-03-29 00:30', '2026-03-29 12:00', ['03-28 01:40', '03-29 01:00']];
        yield 'a time that comes twice counts once' => ['30 2 * * *', 'Europe/Vienna', '2026-10-24 12:00', '2026-10-26 02:00', ['10-24 00:30', '10-25 00:30', '10-26 01:30']];
        yield 'each hour in spring' => ['0 * * * *', 'Europe/Vienna', '2026-03-28 23:30', '2026-03-29 02:30', ['03-28 23:00', '03-29 00:00', '03-29 01:00', '03-29 02:00']];
        yield 'each hour in autumn' => ['0 * * * *', 'Europe/Vienna', '2026-10-24 23:30', '2026-10-25 02:30', ['10-24 23:00', '10-25 00:00', '10-25 01:00', '10-25 02:00']];
        yield 'midnight that does not exist' => ['@daily', 'America/Sao_Paulo', '2018-11-03 12:00', '2018-11-05 12:00', ['11-03 03:00', '11-04 03:00', '11-05 02:00']];
    }

    // Seen to fail with the library's own zones: in spring several that do not exist came, and in autumn one came twice.
    /** @param list<string> $times */
    #[DataProvider('times')]
    public function testItComesInItsTimes(string $expression, string $zone, string $from, string $to, array $times): void
    {
        $recurrence = new Recurrence($expression, $zone);
        $seen = [];
        for ($now = (int) \strtotime("$from UTC"); $now <= (int) \strtotime("$to UTC"); $now += 60) {
            $last = $recurrence->last($now);
            self::assertLessThanOrEqual($now, $last);
            // The queue takes none that is before another.
            $seen[] = \max($last, ...$seen === [] ? [$last] : $seen);
        }
        self::assertSame($times, \array_map(static fn(int $time): string => \gmdate('m-d H:i', $time), \array_values(\array_unique($seen))));
    }

    /** @return iterable<string, array{string, string}> */
    public static function wrong(): iterable
    {
        yield 'a minute' => ['61 * * * *', 'UTC'];
        yield 'four fields' => ['* * * *', 'UTC'];
        yield 'six fields' => ['* * * * * 2026', 'UTC'];
        yield 'a day that never comes' => ['0 0 30 2 *', 'UTC'];
        yield 'a word' => ['@never', 'UTC'];
        foreach (['5-1 * * * *', '1,5-1 * * * *', '5-1/2 * * * *', '* 22-6 * * *', '* * * DEC-feb *', '* * * * FRI-MON', '*/-5 * * * *', '*/0 * * * *', '*/99999999999 * * * *'] as $expression) {
            yield $expression => [$expression, 'UTC'];
        }
        yield 'a zone' => ['@daily', 'Europe/Atlantis'];
    }

    #[DataProvider('wrong')]
    public function testWhatIsWrongIsSaidAtOnce(string $expression, string $zone): void
    {
        $warnings = 0;
        // Seen to fail: a thousand warnings for a range that runs backwards.
        \set_error_handler(static function () use (&$warnings): bool {
            return (bool) ++$warnings;
        });
        try {
            new Recurrence($expression, $zone);
            self::fail('It is wrong.');
        } catch (InvalidConfiguration $refusal) {
            self::assertMatchesRegularExpression('/Write/', $refusal->getMessage());
        } finally {
            \restore_error_handler();
        }
        self::assertSame(0, $warnings);
    }

    public function testANameIsGivenOnce(): void
    {
        $schedule = (new Schedule((new FakeQueue())->queue))->add('a', '@daily', 'body');
        $this->expectException(\InvalidArgumentException::class);
        $schedule->add('a', '@daily', 'body');
    }

    public function testTheLibraryThatIsMissingIsNamed(): void
    {
        $root = \dirname(__DIR__, 2);
        $code = 'spl_autoload_register(static function (string $class): void { str_starts_with($class, "Larder\\\\") && require ' . \var_export("$root/src/", true) . ' . strtr(substr($class, 7), "\\\\", "/") . ".php"; });'
            . 'try { new Larder\Queue\Recurrence("@daily", "UTC"); } catch (Larder\Config\InvalidConfiguration $said) { echo $said->getMessage(); }';
        $process = new Process([\PHP_BINARY, '-r', $code]);
        self::assertSame(0, $process->wait(), $process->errors());
        self::assertStringContainsString('composer require dragonmantank/cron-expression', $process->output());
    }

    public function testAWorkerPushesWhatIsDueAndHandlesIt(): void
    {
        $fake = new FakeQueue();
        $schedule = (new Schedule($fake->queue, $fake->now(...)))->add('a', '* * * * *', 'body', 'UTC');
        $handled = [];
        $work = static function () use ($fake, $schedule, &$handled): int {
            return (new Worker($fake->queue, static function (mixed $body) use (&$handled): void {
                $handled[] = $body;
            }, new WorkerLimits(whileEmpty: true), schedule: $schedule))->run();
        };
        self::assertSame(0, $work());
        $fake->pass(60);
        self::assertSame([1, 0], [$work(), $work()]);
        $fake->pass(600);
        self::assertSame([1, ['body', 'body']], [$work(), $handled]);
        self::assertLessThanOrEqual(60.0, $schedule->left());
        self::assertGreaterThan(0.0, $schedule->left());
    }
}
