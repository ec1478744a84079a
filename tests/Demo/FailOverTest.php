<?php

declare(strict_types=1);

namespace Larder\Tests\Demo;

use Larder\Demo\Act\FailOverReport;
use Larder\Demo\Visit;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** `make demo-failover`: what it counts, and that its claims hold. */
#[CoversClass(FailOverReport::class)]
#[CoversClass(Visit::class)]
final class FailOverTest extends TestCase
{
    private const SECOND = 1_000_000_000;

    public function testItCountsWhatIsOld(): void
    {
        $at = static fn(float $time): int => (int) ($time * self::SECOND);
        $visit = static fn(float $begun, int $price, bool $isComputed = false): Visit => Visit::of($at($begun), $at($begun) + 1_000_000, 7, 200, (string) \json_encode(['value' => $price, 'computed' => $isComputed]));
        $change = static fn(float $ended, int $price, bool $isConfirmed): Visit => Visit::of($at($ended - 0.01), $at($ended), 7, 200, (string) \json_encode(['value' => ['price' => $price, 'deleted' => $isConfirmed], 'computed' => false]));
        $changes = [$change(11.0, 1001, true), $change(13.0, 1002, false), $change(14.0, 1002, true)];
        $report = static fn(Visit ...$visits): FailOverReport => new FailOverReport(\array_values($visits), $changes, 12 * self::SECOND, 15 * self::SECOND);

        $fine = $report($visit(10.0, 1000), $visit(10.5, 1000, true), $visit(11.5, 1001), $visit(13.5, 1001), $visit(14.5, 1002, true), $visit(15.0, 1002));
        self::assertSame([0, 0], [$fine->old, $fine->failed()]);
        self::assertSame('6 answers, 2 computations; 1 of the answers showed the price before a change that was not confirmed yet', $fine->answers());
        self::assertSame('2 prices changed; the cache confirmed all but 1 of them at once, and those when it was back', $fine->changes());
        self::assertEqualsWithDelta([499.0, 3000.0], [$fine->lastBefore(), $fine->servedAfter()], 0.001);
        self::assertSame(['-2 to -1 s', '2', '1', '1', '1.00 ms', '0'], $fine->seconds()[0]);

        self::assertSame(1, $report($visit(11.5, 1000))->old, 'after a change that was confirmed at once');
        self::assertSame(1, $report($visit(14.5, 1001))->old, 'after one that was confirmed later');
        self::assertSame(1, $report($visit(14.5, 1001, true))->old, 'also one that was computed');
        self::assertSame('1', $report($visit(14.5, 1001))->seconds()[0][5]);
        self::assertSame(0, (new FailOverReport([$visit(16.5, 1002)], [...$changes, $change(16.0, 1003, false)], 12 * self::SECOND, 15 * self::SECOND))->old, 'after one that was never confirmed');
        $failed = [Visit::of(1, 2, 7, 500, ''), Visit::of(1, 2, 7, 502, '{"value":1001,"computed":false}'), Visit::of(1, 2, 7, 200, 'Fatal error')];
        self::assertSame([3, 0], [$report(...$failed)->failed(), $report(...$failed)->old]);
        $directory = new TemporaryDirectory();
        $file = $directory->write('log', \implode('', \array_map(static fn(Visit $one): string => $one->toLine(), [...$failed, ...$changes])) . '1 2 7');
        self::assertEquals([...$failed, ...$changes], Visit::read([$file, "$file-that-is-missing"]));
    }

    /** Seen to fail: a shop that deletes nothing, and a promoted replica in which the old epoch goes on. */
    #[Group('slow')]
    public function testNothingOldIsServed(): void
    {
        RedisServer::demand();
        FpmServer::isAvailable() || self::markTestSkipped('There is no php-fpm.');
        $demo = new Process([\PHP_BINARY, '-d', 'apc.enable_cli=1', \dirname(__DIR__, 2) . '/demo/run.php', 'failover'], orphaned: \SIGTERM);
        $said = $demo->output(120.0);
        self::assertSame(0, $demo->wait(), $said . $demo->errors());
        self::assertMatchesRegularExpression('/^   before +last answer from the cache +[\d.]+ m?s ?$/m', $said);
        self::assertMatchesRegularExpression('/^   after +served from the cache again +[\d.]+ m?s ?$/m', $said);
        self::assertMatchesRegularExpression('/^   visitors +\d{2,} answers, \d{2,} computations/m', $said);
        self::assertStringContainsString('✓ values that were old: 0', $said);
    }
}
