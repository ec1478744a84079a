<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Queue\Queue;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** Producers, workers and the server itself are killed (kill -9), again and again. */
#[Group('slow')]
final class RedisKillTest extends TestCase
{
    protected function setUp(): void
    {
        RedisServer::demand();
    }

    /** @return iterable<string, array{string}> */
    public static function schemes(): iterable
    {
        yield 'phpredis' => ['redis'];
        yield 'Predis' => ['predis'];
    }

    #[DataProvider('schemes')]
    public function testNothingIsLostWhereProcessesAreKilled(string $scheme): void
    {
        self::check($scheme, new RedisServer(), 6_000, 2, 3, 10_000);
    }

    #[Group('long')]
    #[DataProvider('schemes')]
    public function testNothingOfAHundredThousandIsLostWhereProcessesAreKilled(string $scheme): void
    {
        self::check($scheme, new RedisServer(), 100_000, 4, 8, 50_000);
    }

    public function testNothingIsLostWhereTheServerIsKilledToo(): void
    {
        self::check('redis', new RedisServer(appendOnly: true, config: ['appendfsync' => 'always']), 4_000, 2, 3, 10_000, 2);
    }

    #[Group('long')]
    public function testNothingOfAHundredThousandIsLostWhereTheServerIsKilledToo(): void
    {
        self::check('redis', new RedisServer(appendOnly: true, config: ['appendfsync' => 'always']), 100_000, 4, 8, 50_000, 40);
    }

    /** @param int $restart kills of processes after which the server is killed each time; 0: never */
    private static function check(string $scheme, RedisServer $server, int $messages, int $producers, int $workers, int $pause, int $restart = 0): void
    {
        // With five attempts a message whose workers are all killed would be among the dead, which is not lost.
        $run = new KillRun(static fn(): Queue => Queue::open("$scheme://$server->socket?attempts=100", 'mail'), $messages, $producers, $workers, $pause, \max(1, $restart));
        $restarts = 0;
        $run->run(static function (int $kills) use ($server, $restart, &$restarts): void {
            if ($restart > 0 && $kills % $restart === 0) {
                $server->kill();
                $server->start();
                $restarts++;
            }
        });
        self::assertSame([[], []], [$run->lost, $run->madeUp]);
        self::assertSame([], $run->repeated);
        // Before each kill of a producer or of the server at most one call had no answer.
        self::assertGreaterThanOrEqual($messages - 5 * ($run->kills + $restarts * $producers) - $run->unknown, $run->accepted);
        self::assertGreaterThan(0, $run->accepted);
        self::assertSame(0, Queue::open("$scheme://$server->socket", 'mail')->size());
        $restart > 0 ? self::assertGreaterThan(0, $restarts) : self::assertGreaterThan(0, $run->kills);
        \getenv('LARDER_TOLD') !== '1' || \fwrite(\STDERR, "\n$scheme: $run->accepted accepted, $run->unknown unknown, $run->kills kills, $restarts restarts, $run->duplicates handled again\n");
    }
}
