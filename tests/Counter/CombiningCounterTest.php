<?php

declare(strict_types=1);

namespace Larder\Tests\Counter;

use Larder\Config\Dsn;
use Larder\Config\SegmentPlace;
use Larder\Counter;
use Larder\Counter\CombiningEngine;
use Larder\Counter\CounterOverflow;
use Larder\Segment;

final class CombiningCounterTest extends SqliteCounterCase
{
    protected function setUp(): void
    {
        if (!\extension_loaded('larder')) {
            self::markTestSkipped('The extension is not loaded: type make ext, then make test.');
        }
        parent::setUp();
    }

    protected function tearDown(): void
    {
        parent::tearDown();
        \extension_loaded('larder') && $this->forget();
    }

    protected function dsn(): string
    {
        return 'sqlite://' . $this->directory->path . '/counters?combine=1';
    }

    public function testItIsWrittenAfterATenthOfASecondByWhoeverAdds(): void
    {
        $counter = $this->counter();
        $counter->add(5);
        $counter->add(6);
        self::assertSame(0, $this->written());
        \usleep(110_000);
        $counter->add(7);
        self::assertSame(11, $this->written());
        \usleep(110_000);
        self::assertSame(18, $this->counter()->value());
        self::assertSame(18, $this->written());
    }

    public function testTheEndOfAProgramWritesIt(): void
    {
        $counter = $this->counter();
        $counter->add(5);
        unset($counter);
        self::assertSame(5, $this->written());
    }

    /** The memory is gone, and with it what nobody had written; then counting goes on from what was. */
    public function testAMachineThatDiesLosesATenthOfASecondAtTheMost(): void
    {
        $counter = $this->counter();
        $counter->add(5);
        \usleep(110_000);
        $counter->add(2);
        $this->forget();
        self::assertSame(5, $this->counter()->value());
        self::assertSame(6, $this->counter()->add());
    }

    public function testWhoAddsDirectlyIsCountedToo(): void
    {
        $direct = Counter::open('sqlite://' . $this->directory->path . '/counters', 'views');
        $direct->add(100);
        $counter = $this->counter();
        self::assertSame(101, $counter->add());
        $direct->add(1_000);
        \usleep(110_000);
        self::assertSame(1_102, $counter->add());
        \usleep(110_000);
        self::assertSame(1_102, $counter->value());
        self::assertSame(1_102, $direct->value());
        $direct->reset();
        \usleep(110_000);
        self::assertSame(1, $counter->add());
    }

    /** As containers have it that share the directory and not their shared memory. */
    public function testTwoMemoriesMayCollectForTheSameCounter(): void
    {
        $add = function (string $memory): void {
            $code = 'require "vendor/autoload.php"; $c = Larder\Counter::open("' . $this->dsn() . '", "views"); for ($i = 0; $i < 20; $i++) { $c->add(); usleep(10_000); }';
            \exec(\sprintf('%s -d larder.segment=%s -r %s 2>&1', \escapeshellarg(\PHP_BINARY), \escapeshellarg($this->directory->path . "/$memory/segment"), \escapeshellarg($code)), $said, $status);
            self::assertSame(0, $status, \implode("\n", $said));
        };
        $this->inProcesses(4, static fn(int $i) => $add($i % 2 === 0 ? 'one' : 'other'));
        self::assertSame(80, $this->written());
    }

    public function testAnotherDatabaseInItsPlaceIsRightAboutItself(): void
    {
        $counter = $this->counter();
        $counter->add(5);
        unset($counter);
        foreach (\glob($this->directory->path . '/counters/counters.db*') ?: [] as $file) {
            \unlink($file);
        }
        self::assertSame(5, $this->counter()->value());
        \usleep(110_000);
        self::assertSame(0, $this->counter()->value());
        self::assertSame(1, $this->counter()->add());
        \usleep(110_000);
        self::assertSame(1, $this->counter()->value());
        self::assertSame(1, $this->written());
    }

    public function testWhatFindsNoRoomInTheMemoryIsCountedDirectly(): void
    {
        $this->counter('another')->add();
        $memory = Segment::open($this->memory());
        for ($i = 0; $memory->stats()['bytes_used'] <= CombiningEngine::BYTES / 2; $i++) {
            $memory->add("other $i", 1);
        }
        $counter = $this->counter();
        self::assertSame(4, $counter->add(4));
        self::assertSame(4, $this->written());
        self::assertSame(5, $counter->add());
        self::assertSame(5, $counter->value());
    }

    /** Between the two steps of another process. */
    public function testWhatSomebodyAddsTooMuchAndTakesBackIsNobodyElses(): void
    {
        Counter::open('sqlite://' . $this->directory->path . '/counters', 'views')->add(\PHP_INT_MIN + 10);
        $counter = $this->counter();
        self::assertSame(\PHP_INT_MIN + 11, $counter->add());
        \usleep(110_000);
        self::assertSame(\PHP_INT_MIN + 11, $counter->value());
        $memory = Segment::open($this->memory());
        self::assertSame(-11, $memory->increment('sum views', -12, \PHP_INT_MIN));
        self::assertSame(\PHP_INT_MIN + 11, $counter->value());
        \usleep(110_000);
        self::assertSame(\PHP_INT_MIN + 11, $counter->value());
        $memory->increment('sum views', 12, \PHP_INT_MAX);
        self::assertSame(\PHP_INT_MIN + 16, $counter->add(5));
    }

    public function testTheLeastNumberIsAddedToNoNegativeOne(): void
    {
        Counter::open('sqlite://' . $this->directory->path . '/counters', 'views')->add(-5);
        $counter = $this->counter();
        try {
            $counter->add(\PHP_INT_MIN);
            self::fail('It took too much.');
        } catch (CounterOverflow) {
        }
        self::assertSame([-5, -6], [$counter->value(), $counter->add(-1)]);
    }

    /** As another memory left it, or who adds directly. */
    public function testABaseThatDoesNotFitIsLeftToTheDatabase(): void
    {
        $direct = Counter::open('sqlite://' . $this->directory->path . '/counters', 'views');
        $counter = $this->counter();
        $counter->add(-5);
        \usleep(110_000);
        self::assertSame(-5, $counter->value());
        $direct->add(\PHP_INT_MAX);
        $direct->add(5);
        \usleep(110_000);
        self::assertSame([\PHP_INT_MAX, \PHP_INT_MAX], [$counter->value(), $direct->value()]);
        self::assertSame(\PHP_INT_MAX - 3, $counter->add(-3));
    }

    private function written(): int
    {
        return Counter::open('sqlite://' . $this->directory->path . '/counters', 'views')->value();
    }

    private function memory(): string
    {
        return \dirname(SegmentPlace::path(new Dsn('segment'))) . '/counters-' . \substr(\md5((string) \realpath($this->directory->path . '/counters')), 0, 16);
    }

    private function forget(): void
    {
        \is_file($this->memory()) && \unlink($this->memory());
    }
}
