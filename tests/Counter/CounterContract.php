<?php

declare(strict_types=1);

namespace Larder\Tests\Counter;

use Larder\Config\InvalidConfiguration;
use Larder\Counter;
use Larder\Counter\CounterOverflow;
use Larder\Tests\Contract\Forks;
use PHPUnit\Framework\TestCase;

/** What a counter does over every engine. */
abstract class CounterContract extends TestCase
{
    use Forks;

    protected const FORKS = true;

    abstract protected function dsn(): string;

    protected function tearDown(): void
    {
        $this->endChildren();
    }

    protected function counter(string $name = 'views'): Counter
    {
        return Counter::open($this->dsn(), $name);
    }

    public function testItCountsUpAndDownAndBeginsAtZero(): void
    {
        $counter = $this->counter();
        self::assertSame(0, $counter->value());
        self::assertSame(1, $counter->add());
        self::assertSame(43, $counter->add(42));
        self::assertSame(-7, $counter->add(-50));
        self::assertSame(-7, $counter->add(0));
        self::assertSame(-7, $counter->value());
        self::assertSame(-7, $this->counter()->value());
        self::assertSame(-6, $this->counter()->add());
    }

    public function testResetSetsItToZero(): void
    {
        $counter = $this->counter();
        $counter->reset();
        self::assertSame(0, $counter->value());
        $counter->add(5);
        $this->counter()->reset();
        self::assertSame(0, $this->counter()->value());
        self::assertSame(1, $counter->add());
        self::assertSame(1, $this->counter()->value());
    }

    public function testNamesAreApartWhateverBytesTheyHave(): void
    {
        $names = ['views', 'views ', 'Views', "views\0", "\0", "\xff\xfe", '1', '01', "'; DROP TABLE counter; --", 'sum views', "a\r\nSET larder:counter:b 5", \str_repeat('n', 200)];
        foreach ($names as $i => $name) {
            self::assertSame($i + 1, $this->counter($name)->add($i + 1), \bin2hex($name));
        }
        foreach ($names as $i => $name) {
            self::assertSame($i + 1, $this->counter($name)->value(), \bin2hex($name));
        }
        $this->counter('views')->reset();
        self::assertSame(2, $this->counter('views ')->value());
    }

    #[\PHPUnit\Framework\Attributes\TestWith([''])]
    #[\PHPUnit\Framework\Attributes\TestWith([201])]
    public function testANameThatIsNoneIsRefused(string|int $name): void
    {
        $this->expectException(InvalidConfiguration::class);
        $this->expectExceptionMessage('1 to 200 bytes');
        $this->counter(\is_int($name) ? \str_repeat('n', $name) : $name);
    }

    public function testASumThatDoesNotFitChangesNothing(): void
    {
        $counter = $this->counter();
        foreach ([[\PHP_INT_MAX, 1], [\PHP_INT_MAX, \PHP_INT_MAX], [\PHP_INT_MIN, -1], [\PHP_INT_MIN, \PHP_INT_MIN]] as [$most, $more]) {
            $counter->reset();
            self::assertSame($most, $counter->add($most));
            try {
                $counter->add($more);
                self::fail('It took too much.');
            } catch (CounterOverflow $overflow) {
                self::assertStringContainsString('64 bits', $overflow->getMessage());
            }
            self::assertSame($most, $this->counter()->value());
            self::assertSame($most - ($more <=> 0), $counter->add(-($more <=> 0)));
        }
        $counter->reset();
        self::assertSame(3, $counter->add(3));
    }

    public function testASumThatNeverFitsIsSaidEachTime(): void
    {
        $this->counter()->add(\PHP_INT_MAX);
        $counter = $this->counter();
        for ($i = 0; $i < 3; $i++) {
            try {
                $counter->add();
                self::fail('It took too much.');
            } catch (CounterOverflow) {
            }
        }
        self::assertSame(\PHP_INT_MAX, $counter->value());
    }

    public function testItIsResetFromEitherEnd(): void
    {
        foreach ([[\PHP_INT_MAX], [\PHP_INT_MIN], [\PHP_INT_MIN + 1, -1], [-1, \PHP_INT_MIN + 1]] as $i => $more) {
            $counter = $this->counter("end $i");
            \array_map($counter->add(...), $more);
            $counter->reset();
            self::assertSame(0, $counter->value());
            self::assertSame([1, 0], [$counter->add(), $counter->add(-1)]);
            self::assertSame([\PHP_INT_MAX, 4], [$counter->add(\PHP_INT_MAX), $counter->add(-\PHP_INT_MAX + 4)]);
        }
    }

    public function testManyProcessesLoseNothingAndEachSumIsGivenOnce(): void
    {
        $given = $this->inProcesses(4, function (): array {
            $counter = $this->counter();

            return \array_map(static fn(): int => $counter->add(), \range(1, 300));
        });
        $all = \array_merge(...$given);
        \sort($all);
        self::assertSame(\range(1, 1_200), $all);
        self::assertSame(1_200, $this->counter()->value());
    }

    /** What add() has returned stays; of the one that was under way nobody knows. */
    public function testAKilledProcessLosesNothing(): void
    {
        $log = (string) \tempnam(\sys_get_temp_dir(), 'counted');
        try {
            for ($round = 1; $round <= 12; $round++) {
                [$pid] = $this->fork(function () use ($log): void {
                    $counter = $this->counter();
                    $file = \fopen($log, 'a');
                    \assert($file !== false);
                    while (true) {
                        $counter->add();
                        \fwrite($file, '.');
                    }
                });
                $size = (int) \filesize($log);
                $this->await(static function () use ($log, $size): bool {
                    \clearstatcache();

                    return \filesize($log) > $size + 20;
                });
                \posix_kill($pid, \SIGKILL);
                \pcntl_waitpid($pid, $status);
                unset($this->children[$pid]);
                \clearstatcache();
                $value = $this->counter()->value();
                self::assertGreaterThanOrEqual(\filesize($log), $value);
                self::assertLessThanOrEqual(\filesize($log) + $round, $value);
            }
        } finally {
            \unlink($log);
        }
    }

    public function testAForkedChildCountsOnItsOwnConnection(): void
    {
        $counter = $this->counter();
        $counter->add();
        $this->inProcesses(3, static fn(): int => $counter->add());
        self::assertSame(5, $counter->add());
    }
}
