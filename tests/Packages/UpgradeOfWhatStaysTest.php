<?php

declare(strict_types=1);

namespace Larder\Tests\Packages;

use Larder\Tests\Packages\Upgrade\Releases;
use Larder\Tests\Packages\Upgrade\Values;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/**
 * What docs/upgrade.md promises to keep over an update: queues, counters, locks, sessions, rate limits; also while requests
 * of both releases use them at once.
 */
#[CoversNothing]
#[Group('long')]
final class UpgradeOfWhatStaysTest extends TestCase
{
    private static ?RedisServer $redis = null;
    private Releases $releases;

    protected function setUp(): void
    {
        self::$redis ??= new RedisServer();
        self::$redis->command('FLUSHALL');
        $this->releases = new Releases();
    }

    protected function assertPostConditions(): void
    {
        self::assertSame('', $this->releases->complaints());
    }

    public static function tearDownAfterClass(): void
    {
        self::$redis = null;
        Releases::forget();
    }

    /** @return iterable<string, array{string}> with {directory} and {redis} */
    public static function engines(): iterable
    {
        yield 'SQLite' => ['sqlite://{directory}'];
        yield 'Redis' => ['redis://{redis}'];
    }

    /** @return iterable<string, array{string}> */
    public static function counters(): iterable
    {
        yield from self::engines();
        if (\extension_loaded('larder')) {
            yield 'SQLite, combined' => ['sqlite://{directory}?combine=1'];
        }
    }

    /** @return iterable<string, array{string, ?string}> with a secret, or without */
    public static function queues(): iterable
    {
        foreach (self::engines() as $name => [$dsn]) {
            yield $name => [$dsn, null];
            yield "$name, signed" => [$dsn, 'a secret of enough characters'];
        }
        yield 'SQLite, each push synchronized' => ['sqlite://{directory}?synchronous=full', null];
    }

    #[DataProvider('queues')]
    public function testNoMessageIsLostAndNoneComesTwice(string $dsn, ?string $secret): void
    {
        $run = fn(string $release, string $code, mixed $b = null): mixed => $this->releases->run($release, '$queue = Larder\Queue\Queue::open($a[0], "jobs"); $b = $a[1];' . $code, [['dsn' => $this->place($dsn), 'secret' => $secret], $b]);
        $claims = $run(Releases::OLD, <<<'PHP'
            foreach ($b as $name => $value) {
                $queue->push([$name, $value]);
            }
            $queue->push('keyed', key: 'key');
            foreach (['stays', 'done', 'dead', 'released', 'held by the old', 'held by the new', 'of a dead worker'] as $priority => $body) {
                $queue->push($body, priority: $priority + 1, key: $body, untilHandled: $body === 'stays');
            }
            $queue->push('soon', delay: 1);
            $queue->push('much later', delay: 3600);
            $queue->pop(1);
            $claimed = array_column($queue->popMany(6, 600), null, 'body');
            $claimed['released']->release(0, 'why');
            $claimed['dead']->bury('an error');
            $claimed['done']->ack();
            $queue->pushForTime('report', 1000, 900, null, 5000);
            $limited = Larder\Queue\Queue::open($a[0], 'limited');
            $limited->pushMany([1, 2, 3]);
            $limited->atMost(2, 3600)->pop()->ack();
            $limited->pause();

            return array_map(static fn($message) => $message->claim(), $claimed);
            PHP, Values::all());
        self::assertIsArray($claims, Values::print($claims));
        $waits = \count(Values::all()) + 2;

        $found = $run(Releases::NEW, <<<'PHP'
            $dead = $queue->dead();
            $found = [
                $queue->size(), $queue->stats()['claimed'] + $queue->stats()['ready'] + $queue->stats()['delayed'], array_column($dead, 'body'), array_column($dead, 'error'),
                $queue->held(...[...$b['held by the new'], 1])->ack(), $queue->held(...[...$b['stays'], 1])->release(), $queue->retryDead(),
                $queue->pushForTime('report', 1000, 900, $queue->message('report again', 0, 0, null, false), 5000),
                $queue->pushForTime('report', 1001, 900, $queue->message('report', 0, 0, null, false), 5000),
            ];
            $queue->push('twice', key: 'key');
            $queue->push('twice', key: 'stays');
            $limited = Larder\Queue\Queue::open($a[0], 'limited')->atMost(2, 3600);
            $found[] = $limited->pop();
            $limited->resume();

            return [...$found, $limited->pop()?->body, $limited->pop()];
            PHP, $claims);
        self::assertIsArray($found, Values::print($found));
        self::assertContains(\array_shift($found), [$waits + 2, $waits + 3], 'soon and much later wait, and perhaps already what a dead worker had');
        self::assertSame([$waits + 2 + 4, ['dead'], ['an error'], true, true, 1, false, true, null, 2, null], $found);
        self::assertTrue($run(Releases::OLD, 'return $queue->held(...[...$b, 1])->ack();', $claims['held by the old']));

        $taken = $run(Releases::NEW, <<<'PHP'
            $taken = [];
            // Claims first: one that expires between the two questions would count in neither.
            for ($end = hrtime(true) + 20_000_000_000; $queue->stats()['claimed'] > 0 || $queue->size() > 1;) {
                foreach ($queue->popMany(3, 600, 0.2) as $message) {
                    $taken[] = $message->body;
                    $message->ack();
                }
                if (hrtime(true) > $end) {
                    return 'something does not come';
                }
            }

            return [$taken, array_column($queue->waiting(), 'body')];
            PHP);
        self::assertIsArray($taken, Values::print($taken));
        $expected = [...\array_map(static fn(string $name, mixed $value): array => [$name, $value], \array_keys(Values::all()), Values::all()), 'keyed', 'stays', 'dead', 'released', 'of a dead worker', 'soon', 'report'];
        self::assertIsArray($taken[0]);
        self::assertEqualsCanonicalizing(\array_map(Values::print(...), $expected), \array_map(Values::print(...), $taken[0]));
        self::assertSame(['much later'], $taken[1]);
        self::assertSame([1, 0], $run(Releases::OLD, 'return [$queue->size(), $queue->stats()["dead"]];'));
    }

    #[DataProvider('queues')]
    public function testWorkersOfBothReleases(string $dsn, ?string $secret): void
    {
        $taken = $this->together(<<<'PHP'
            $queue = Larder\Queue\Queue::open($a[0], 'jobs');
            $taken = [];
            for ($i = 0; $i < 40; $i++) {
                $queue->push([$a[1], $i]);
                $message = $queue->pop(600);
                if ($message !== null) {
                    $taken[] = implode(' ', $message->body);
                    $message->ack() || throw new Exception('It is another one\'s.');
                }
            }
            while (($message = $queue->pop(600)) !== null) {
                $taken[] = implode(' ', $message->body);
                $message->ack();
            }

            return $taken;
            PHP, ['dsn' => $this->place($dsn), 'secret' => $secret]);
        $expected = [];
        foreach (\range(0, Releases::WORKERS - 1) as $worker) {
            \array_push($expected, ...\array_map(static fn(int $i): string => "$worker $i", \range(0, 39)));
        }
        self::assertEqualsCanonicalizing($expected, \array_merge(...$taken));
    }

    #[DataProvider('counters')]
    public function testCountersGoOn(string $dsn): void
    {
        $run = fn(string $release, string $code): mixed => $this->releases->run($release, '$counter = Larder\Counter::open($a, "hits"); ' . $code, $this->place($dsn));
        self::assertSame([5, 7], $run(Releases::OLD, 'return [$counter->add(5), $counter->add(2)];'));
        self::assertSame([7, 8], $run(Releases::NEW, 'return [$counter->value(), $counter->add()];'));
        self::assertSame([8, 9], $run(Releases::OLD, 'return [$counter->value(), $counter->add()];'));
        $sums = \array_merge(...$this->together('$counter = Larder\Counter::open($a[0], "hits"); $sums = []; while (count($sums) < 100) { $sums[] = $counter->add(); } return $sums;', $this->place($dsn)));
        \sort($sums);
        self::assertSame(\range(10, 9 + 100 * Releases::WORKERS), $sums);
        self::assertSame([\end($sums), \end($sums)], [$run(Releases::OLD, 'return $counter->value();'), $run(Releases::NEW, 'return $counter->value();')]);
    }

    #[DataProvider('engines')]
    public function testLocksExclude(string $dsn): void
    {
        $dsn = $this->place($dsn);
        $run = fn(string $release, string $code, string $owner = ''): mixed => $this->releases->run($release, '$locks = Larder\Lock\Locks::open($a[0]); ' . $code, [$dsn, $owner]);
        foreach ([Releases::OLD, Releases::NEW] as $holder) {
            $other = Releases::other($holder);
            $lock = $run($holder, '$lock = $locks->acquire("handed over", 600); return [$lock->owner, $lock->handOver(), $lock->fence];');
            self::assertIsArray($lock, Values::print($lock));
            [$owner, $isHandedOver, $fence] = $lock;
            self::assertIsString($owner);
            self::assertIsInt($fence);
            self::assertTrue($isHandedOver);
            self::assertNull($run($other, 'return $locks->acquire("handed over")?->fence;'));
            self::assertSame([true, true, true, $fence + 1], $run($other, <<<'PHP'
                $lock = $locks->held('handed over', $a[1]);
                $result = [$lock->isOwned(), $lock->refresh(600), $lock->release()];
                $lock = $locks->acquire('handed over');
                $result[] = $lock->fence;
                $lock->release();

                return $result;
                PHP, $owner));

            $process = $this->releases->process($holder, '$lock = Larder\Lock\Locks::open(' . \var_export($dsn, true) . ')->acquire("of a process", 600); echo "held\n"; fgets(STDIN); echo $lock->release() ? "released\n" : "lost\n"; fgets(STDIN);');
            $process->expect('held');
            self::assertNull($run($other, 'return $locks->acquire("of a process");'));
            $process->write("\n");
            $process->expect('released');
            self::assertTrue($run($other, 'return $locks->acquire("of a process")->release();'));
            if (\str_starts_with($dsn, 'sqlite')) {
                $process = $this->releases->process($holder, 'Larder\Lock\Locks::open(' . \var_export($dsn, true) . ')->acquire("of a dead process", 600); echo "held\n"; fgets(STDIN);');
                $process->expect('held');
                $process->kill();
                self::assertTrue($run($other, 'return $locks->acquire("of a dead process")?->release();'));
            }
        }
    }

    #[DataProvider('engines')]
    public function testSessionsGoOn(string $dsn): void
    {
        $code = <<<'PHP'
            session_set_save_handler(Larder\Session\SessionHandler::over($a[0]), true);
            $a[2] === '' || session_id($a[2]);
            for ($i = 0; $i < $a[3]; $i++) {
                session_start(['use_cookies' => 0, 'use_strict_mode' => 1, 'cache_limiter' => '']);
                $_SESSION['visits'] = ($_SESSION['visits'] ?? 0) + 1;
                $_SESSION['values'] ??= $a[4];
                session_write_close();
            }

            return [session_id(), $_SESSION['visits'], $_SESSION['values']];
            PHP;
        $visit = fn(string $release, string $id): mixed => $this->releases->run($release, $code, [$this->place($dsn), 0, $id, 1, $id === '' ? Values::all() : null]);
        $session = $visit(Releases::OLD, '');
        self::assertIsArray($session, Values::print($session));
        $id = $session[0];
        self::assertIsString($id);
        foreach ([Releases::NEW, Releases::OLD, Releases::NEW] as $i => $release) {
            self::assertEquals([$id, $i + 2, Values::all()], $visit($release, $id));
        }
        // One request at a time has it, whichever release that is of.
        $this->together($code, $this->place($dsn), $id, 25, null);
        self::assertEquals([$id, 5 + 25 * Releases::WORKERS, Values::all()], $visit(Releases::OLD, $id));
    }

    #[DataProvider('engines')]
    public function testRateLimitsGoOn(string $dsn): void
    {
        foreach (['fixedWindow("key", 5, 3600', 'slidingWindow("key", 5, 3600', 'tokenBucket("key", 5, 1, 3600'] as $limit) {
            $ask = fn(string $release, int $cost): mixed => $this->releases->run($release, "\$decision = Larder\RateLimiter::open(\$a)->$limit, $cost); return [\$decision->isAllowed, \$decision->remaining, \$decision->retryAfter > 60];", $this->place($dsn));
            self::assertSame([true, 2, false], $ask(Releases::OLD, 3), $limit);
            self::assertSame([true, 1, false], $ask(Releases::NEW, 1), $limit);
            self::assertSame([false, 1, true], $ask(Releases::NEW, 2), $limit);
            self::assertSame([true, 0, false], $ask(Releases::OLD, 1), $limit);
            self::assertSame([false, 0, true], $ask(Releases::OLD, 1), $limit);
            self::assertSame([false, 0, true], $ask(Releases::NEW, 1), $limit);
        }
        $allowed = $this->together('$limiter = Larder\RateLimiter::open($a[0]); for ($i = $n = 0; $i < 30; $i++) { $n += (int) $limiter->slidingWindow("all", 50, 3600)->isAllowed; } return [$n];', $this->place($dsn));
        self::assertSame(50, \array_sum(\array_merge(...$allowed)));
    }

    /**
     * Runs code in as many requests at once as a server has workers, every other one of the old release. The code has $a: the
     * place, the worker's number, and more.
     *
     * @return non-empty-list<array<array-key, mixed>> what each returns
     */
    private function together(string $code, mixed $place, mixed ...$more): array
    {
        $requests = [];
        for ($i = 0; $i < Releases::WORKERS; $i++) {
            $release = [Releases::OLD, Releases::NEW][$i % 2];
            $requests[] = [$release, $this->releases->begin($release, $code, [$place, $i, ...$more])];
        }

        return \array_map(function (array $request): array {
            $result = $this->releases->end(...$request);
            self::assertIsArray($result, Values::print($result));

            return $result;
        }, $requests);
    }

    private function place(string $dsn): string
    {
        return \strtr($dsn, ['{directory}' => $this->releases->file('kept'), '{redis}' => self::$redis->socket ?? '']);
    }
}
