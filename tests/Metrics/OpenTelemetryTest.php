<?php

declare(strict_types=1);

namespace Larder\Tests\Metrics;

use Larder\Cache;
use Larder\Metrics\OpenTelemetry;
use Larder\Tests\Support\TemporaryDirectory;
use OpenTelemetry\API\Trace\Span;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

#[CoversClass(OpenTelemetry::class)]
final class OpenTelemetryTest extends TestCase
{
    private TemporaryDirectory $directory;
    private NotedSpan $tracer;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
        $this->tracer = new NotedSpan();
    }

    public function testAComputationIsTheParentOfWhatIsDoneInIt(): void
    {
        $cache = $this->open();
        $within = null;
        $cache->group('g')->remember('key', static function () use ($cache, &$within): int {
            $within = Span::getCurrent();

            return (int) $cache->get('other', 1);
        });

        [$computation] = $this->spans('cache.compute');
        self::assertSame($computation, $within);
        self::assertSame(['larder.group' => 'g'], $computation->attributes, 'a key may tell who a visitor is');
        self::assertFalse(Span::getCurrent()->isRecording());
        $parents = \array_map(static fn(NotedSpan $span): bool => $span->parent === $computation, $this->spans('cache.round_trip'));
        self::assertContains(true, $parents, 'the get in it');
        self::assertContains(false, $parents, 'the lease before it, and the fill after it');
    }

    public function testAnExceptionIsNotedAndTheSpanEnds(): void
    {
        $thrown = new \LogicException();
        try {
            $this->open(true)->remember('key', static fn(): never => throw $thrown);
        } catch (\LogicException) {
        }

        [$computation] = $this->spans('cache.compute');
        self::assertSame([$thrown, 'Error', 'key'], [$computation->thrown, $computation->status, $computation->attributes['cache.key'] ?? null]);
        self::assertFalse(Span::getCurrent()->isRecording());
    }

    public function testHitsHaveNoSpan(): void
    {
        $cache = $this->open();
        $cache->set('key', 1);
        $before = \count($this->tracer->ended);
        for ($i = 0; $i < 10; $i++) {
            $cache->get('key');
            $cache->remember('key', static fn(): int => 2);
        }

        self::assertCount($before, $this->tracer->ended);
    }

    public function testARoundTripHasItsTimeAndItsStore(): void
    {
        $before = (int) (\microtime(true) * 1e9);
        $this->open()->get('key');
        $after = (int) (\microtime(true) * 1e9);

        $spans = $this->spans('cache.round_trip');
        self::assertNotSame([], $spans);
        foreach ($spans as $span) {
            self::assertSame('sqlite://' . $this->directory->file('cache'), $span->attributes['larder.store'] ?? null);
            self::assertGreaterThan((int) $span->start, (int) $span->end);
            self::assertGreaterThanOrEqual($before - 1000, (int) $span->start);
            self::assertLessThanOrEqual($after, (int) $span->end);
        }
    }

    public function testFibersAtOnceKeepTheirSpansApart(): void
    {
        $cache = $this->open(true);
        $fibers = [];
        /** @var \ArrayObject<string, mixed> $within */
        $within = new \ArrayObject();
        foreach (['one', 'two'] as $key) {
            $fibers[] = $fiber = new \Fiber(static fn(): mixed => $cache->remember($key, static function () use ($key, $within): mixed {
                $value = \Fiber::suspend();
                $within[$key] = Span::getCurrent();

                return $value;
            }));
            $fiber->start();
        }
        foreach ($fibers as $fiber) {
            $fiber->resume('value');
        }

        self::assertSame(\array_values($within->getArrayCopy()), $this->spans('cache.compute'));
        self::assertSame(['one', 'two'], \array_map(static fn(NotedSpan $span): mixed => $span->attributes['cache.key'] ?? null, $this->spans('cache.compute')));
        self::assertFalse(Span::getCurrent()->isRecording());
    }

    public function testFibersThatComputeTheSameKeyKeepTheirSpansApart(): void
    {
        $cache = $this->open(true);
        /** @var \ArrayObject<int, mixed> $within */
        $within = new \ArrayObject();
        $fibers = [];
        for ($i = 0; $i < 2; $i++) {
            $fibers[] = $fiber = new \Fiber(static fn(): mixed => $cache->remember('key', static function () use ($within): mixed {
                $span = Span::getCurrent();
                $value = \Fiber::suspend();
                $within[] = $span;

                return $value;
            }));
            $fiber->start();
        }
        foreach ($fibers as $fiber) {
            $fiber->resume('value');
        }

        self::assertCount(2, $within);
        self::assertSame($within->getArrayCopy(), $this->spans('cache.compute'), 'who ends first, ends the span that it has begun');
        self::assertFalse(Span::getCurrent()->isRecording());
    }

    private function open(bool $keys = false): Cache
    {
        return Cache::open(['dsn' => 'sqlite://' . $this->directory->file('cache'), 'near' => 'none', 'events' => new OpenTelemetry($this->tracer, $keys)]);
    }

    /** @return list<NotedSpan> */
    private function spans(string $name): array
    {
        return \array_values(\array_filter($this->tracer->ended->getArrayCopy(), static fn(NotedSpan $span): bool => $span->name === $name));
    }
}
