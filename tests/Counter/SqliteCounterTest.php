<?php

declare(strict_types=1);

namespace Larder\Tests\Counter;

use Larder\Config\InvalidConfiguration;
use Larder\Counter;

final class SqliteCounterTest extends SqliteCounterCase
{
    protected function dsn(): string
    {
        return 'sqlite://' . $this->directory->path . '/counters';
    }

    /** A machine that lost its power keeps what had reached the disk: a copy of the files at some moment is a whole database. */
    public function testACopyOfTheFilesIsAWholeDatabase(): void
    {
        $counter = $this->counter();
        $counter->add(41);
        \mkdir($copy = $this->directory->path . '/copy', 0o700);
        foreach (['', '-wal'] as $end) {
            \copy($this->directory->path . "/counters/counters.db$end", "$copy/counters.db$end");
        }
        self::assertSame(42, Counter::open("sqlite://$copy", 'views')->add());
    }

    public function testSynchronousSaysWhetherACommitWaitsForTheDisk(): void
    {
        $calls = function (string $option): int {
            $command = \sprintf(
                'strace -f -e trace=fdatasync,fsync %s -r %s 2>&1',
                \escapeshellarg(\PHP_BINARY),
                \escapeshellarg('require "vendor/autoload.php"; $c = Larder\Counter::open("' . $this->dsn() . "$option\"); for (\$i = 0; \$i < 20; \$i++) { \$c->add(); }"),
            );

            return \preg_match_all('/^(\[pid +\d+\] )?f(data)?sync\(/m', (string) \shell_exec($command));
        };
        if ((string) \shell_exec('command -v strace') === '') {
            self::markTestSkipped('Needs strace.');
        }
        $this->counter()->add();
        self::assertGreaterThanOrEqual(20, $calls('?synchronous=full'));
        self::assertLessThan(10, $calls(''));
    }

    /** @return iterable<string, array{string|array<string, mixed>, string}> */
    public static function wrong(): iterable
    {
        yield 'memcached' => ['memcached://127.0.0.1', 'may forget'];
        yield 'apcu' => ['apcu://', 'may forget'];
        yield 'memory' => ['memory://', 'may forget'];
        yield 'segment' => ['segment://', 'may forget'];
        yield 'file' => ['file:///var/x', 'may forget'];
        yield 'an unknown scheme' => ['array://', 'Known schemes: sqlite, redis, rediss, predis, predis+tls, redis+cluster, rediss+cluster, redis+single, rediss+single, redis+sentinel, rediss+sentinel.'];
        yield 'an unknown option' => ['sqlite:///var/x?combined=1', 'Unknown option "combined"'];
        yield 'no flag' => ['sqlite:///var/x?combine=maybe', 'must be true or false'];
        yield 'no level' => ['sqlite:///var/x?synchronous=off', 'normal, full'];
        yield 'combine over Redis' => ['redis://127.0.0.1?combine=1', 'is for sqlite://'];
        yield 'no directory' => ['sqlite://', 'names no directory'];
        yield 'no DSN' => [['combine' => true], 'a DSN such as'];
        yield 'no time' => [['dsn' => 'sqlite:///var/x', 'timeout' => -1], 'seconds above zero'];
    }

    /** @param string|array<string, mixed> $source */
    #[\PHPUnit\Framework\Attributes\DataProvider('wrong')]
    public function testWhatCannotBeIsRefusedWithAdvice(string|array $source, string $message): void
    {
        $this->expectException(InvalidConfiguration::class);
        $this->expectExceptionMessage($message);
        Counter::open($source, 'views');
    }

    public function testCombiningNeedsTheExtension(): void
    {
        if (\extension_loaded('larder')) {
            self::markTestSkipped('The extension is loaded.');
        }
        $this->expectException(InvalidConfiguration::class);
        $this->expectExceptionMessage('needs the PHP extension larder');
        Counter::open($this->dsn() . '?combine=1');
    }
}
