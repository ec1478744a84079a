<?php

declare(strict_types=1);

namespace Larder\Tests\Console;

use Larder\Cache;
use Larder\Config\Dsn;
use Larder\Console\Doctor\RedisNodes;
use Larder\Console\Doctor\RedisUser;
use Larder\Console\Support\Place as ConsolePlace;
use Larder\Counter;
use Larder\Counter\CounterFailure;
use Larder\Lab\Service\Place;
use Larder\Lock\Locks;
use Larder\Queue\Queue;
use Larder\Queue\Schedule;
use Larder\RateLimiter;
use Larder\Session\SessionHandler;
use Larder\Tests\Support\RedisSentinels;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/**
 * That the user of `larder doctor` may do the least: without any word something does not work. That it is enough, the tests of
 * each door show, which run as that user.
 */
#[CoversClass(RedisUser::class)]
#[RequiresPhpExtension('redis')]
#[Group('slow')]
final class RedisUserTest extends TestCase
{
    private static ?RedisServer $server = null;

    public static function setUpBeforeClass(): void
    {
        RedisServer::demand();
        self::$server = new RedisServer(config: ['maxmemory' => '100mb', 'maxmemory-policy' => 'noeviction']);
    }

    public static function tearDownAfterClass(): void
    {
        self::$server = null;
    }

    /** @return iterable<string, array{string}> */
    public static function doors(): iterable
    {
        foreach (RedisUser::doors() as $door) {
            yield $door => [$door];
        }
    }

    #[DataProvider('doors')]
    public function testWithoutAnyOfItSomethingFails(string $door): void
    {
        $rules = RedisUser::rules(Dsn::parse('redis://h'), 'larder', $door);
        self::assertSame([null, []], [$this->failing($door, $rules), $this->server()->refusals()], 'All works with all of it.');
        foreach ($rules as $i => $rule) {
            $others = $rules;
            unset($others[$i]);
            self::assertNotNull($failure = $this->failing($door, \array_values($others)), "Nothing fails without $rule.");
            self::assertNotSame([], \preg_grep($rule[0] === '~' ? '/^key larder:/' : '/^command ' . \preg_quote(\substr($rule, 1), '/') . ' /i', $this->server()->refusals()) ?: [], "It was not for $rule: $failure");
        }
    }

    public function testADatabaseAndAClusterNeedMore(): void
    {
        $cluster = new RedisServer(config: ['cluster-enabled' => 'yes', 'cluster-port' => (string) Place::freePort()]);
        $cluster->command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
        Wait::until(static fn(): bool => \str_contains((string) $cluster->command('CLUSTER', 'INFO'), 'cluster_state:ok'), 'the cluster');
        foreach ([['redis://', '/1', $this->server(), ['+select']], ['redis+cluster://', '', $cluster, ['+cluster|keyslot', '+cluster|slots']]] as [$scheme, $path, $server, $more]) {
            $rules = RedisUser::rules(Dsn::parse("{$scheme}h$path"), 'larder', 'counters');
            // A name of its own each time: where a counter lies is kept.
            $count = static fn(array $rules): int => Counter::open($scheme . $server->permit(\array_values($rules)) . "127.0.0.1:$server->port$path", \bin2hex(\random_bytes(4)))->add();
            self::assertSame($more, \array_values(\array_diff($rules, RedisUser::rules(Dsn::parse('redis://h'), 'larder', 'counters'))));
            foreach ($more as $word) {
                try {
                    $count(\array_diff($rules, [$word]));
                    self::fail("Nothing fails without $word.");
                } catch (CounterFailure $failure) {
                    self::assertStringContainsString('NOPERM', $failure->getMessage());
                }
            }
            $server->refusals();
            self::assertSame([1, []], [$count($rules), $server->refusals()]);
        }
    }

    public function testASentinelsUserNeedsItsWords(): void
    {
        $sentinels = new RedisSentinels();
        try {
            $permit = static fn(array $words): array => $sentinels->ask('ACL', 'SETUSER', RedisServer::USER, 'reset', 'on', '>' . RedisServer::PASSWORD, ...$words);
            $dsn = $sentinels->dsn();
            [$find, $master, $replicas] = RedisUser::ofSentinel();
            $permit([$master, $replicas]);
            try {
                Counter::open($dsn)->add();
                self::fail("Nothing fails without $find.");
            } catch (CounterFailure $failure) {
                self::assertStringContainsString('NOPERM', $failure->getMessage());
            }
            $permit([$find]);
            self::assertSame(1, Counter::open($dsn)->add());
            $nodes = static fn(array $words): int => \count((new RedisNodes(ConsolePlace::choose($permit($words) === [] ? '' : $dsn)))->all());
            self::assertSame([0, 1, 3], [$nodes([$find, $replicas]), $nodes([$find, $master]), $nodes([$find, $master, $replicas])]);
        } finally {
            $sentinels->stop();
        }
    }

    /**
     * Uses a door.
     *
     * @param list<string> $rules what its user may do
     *
     * @return ?string what does not work; null: all works
     */
    private function failing(string $door, array $rules): ?string
    {
        foreach (['FLUSHALL', 'SCRIPT FLUSH', 'ACL LOG RESET'] as $command) {
            $this->server()->command(...\explode(' ', $command));
        }
        $dsn = 'redis://' . $this->server()->permit($rules) . $this->server()->socket;
        $uses = match ($door) {
            'cache' => self::cache(...),
            'locks' => self::locks(...),
            'sessions' => self::sessions(...),
            'rate limits' => self::rateLimits(...),
            'queues' => self::queues(...),
            'counters' => self::counters(...),
            default => self::fail("What is the use of $door?"),
        };
        try {
            foreach ($uses($dsn) as $what => $works) {
                if (!$works) {
                    return $what;
                }
            }
        } catch (\RuntimeException $failure) {
            return $failure->getMessage();
        } finally {
            $this->server()->command('REPLICAOF', 'NO', 'ONE');
        }

        return null;
    }

    /** @return iterable<string, bool> */
    private function cache(string $dsn): iterable
    {
        $open = static fn(): Cache => Cache::open(['dsn' => $dsn, 'near' => 'none', 'logger' => new \Psr\Log\NullLogger()]);
        $cache = $open();
        yield 'set' => $cache->set('k', 'v', 100) && $cache->set('l', 'v');
        yield 'get' => $open()->get('k') === 'v';
        yield 'large' => $cache->set('large', \str_repeat('x', 5_000), 100) && $cache->set('large', \str_repeat('y', 5_000));
        yield 'larger ones at once' => $cache->setMultiple(\array_map(static fn(int $i): string => \str_repeat((string) $i, 5_000), \range(1, 6)), 100);
        yield 'update' => $cache->delete('l') && $cache->add('l', 1) && $cache->replace('l', 2) && $cache->increment('count', 3) === 3;
        yield 'compute' => $cache->remember('r', static fn(): int => 4, 100) === 4 && $open()->get('r') === 4;
        for ($i = 0; $i < 20; $i++) {
            yield 'tags' => $cache->set("tagged$i", 'v', tags: ['t']);
        }
        yield 'groups' => $cache->invalidateTags('t') && $cache->group('g')->set('k', 'v') && $cache->group('g')->flush() && $open()->group('g')->get('k') === null;
        $cache->writeFills();
        $stats = $open()->stats()['far'];
        yield 'stats' => $stats['entries'] > 20 && $stats['bytes'] > 30_000 && $stats['budget'] === 100 << 20;
        for ($i = 0; $i < 11; $i++) {
            yield 'many changes' => $cache->setMultiple(\array_fill_keys(\array_map(static fn(int $n): string => "$i-$n", \range(1, 1_000)), 'v'));
        }
        yield from $this->connectionsStay(static fn(): bool => $cache->set('k', 'v'));
        $cache->refresh();
        $before = (array) $this->server()->command('KEYS', 'larder:*:r:*');
        $this->server()->command('DEL', 'larder:head');
        // The mark of the sweep too must be gone: a sweep writes, and a replica would refuse that instead.
        for ($i = 0; $i < 100 && \array_intersect([...$before, 'larder:sweep'], (array) $this->server()->command('KEYS', 'larder:*')) !== []; $i++) {
            $cache->set('k', 'v');
            $cache->refresh();
        }
        yield 'a new epoch removes the old one' => $i < 100;
        yield 'before it is a replica' => $cache->get('k') === 'v';
        $this->server()->command('REPLICAOF', '127.0.0.1', '1');
        $cache->refresh();
        yield 'a replica is not believed' => $cache->get('k') === null;
    }

    /** @return iterable<string, bool> */
    private function locks(string $dsn): iterable
    {
        $locks = Locks::open($dsn);
        $lock = $locks->acquire('k');
        yield 'acquire' => $lock !== null && $locks->acquire('k') === null && $locks->owner('k') === $lock->owner;
        yield 'refresh' => $lock->refresh() && $lock->release() && !$lock->isOwned();
        yield 'without replicas' => Locks::open("$dsn?replicas=1&timeout=1")->acquire('k') === null;
        $lock = $locks->acquire('k');
        $locks->clear();
        yield 'clear' => $lock?->isOwned() === false;
        yield from $this->connectionsStay(static fn(): bool => $locks->acquire('l') === null || true);
    }

    /** @return iterable<string, bool> */
    private function sessions(string $dsn): iterable
    {
        $open = static fn(string $options = ''): SessionHandler => SessionHandler::over("$dsn?wait=0.1$options");
        $handler = $open();
        yield 'store' => $handler->read('id') === '' && $handler->write('id', 'data') && $handler->close();
        yield 'read' => $handler->validateId('id') && !$handler->validateId('other') && $handler->read('id') === 'data' && $handler->updateTimestamp('id', 'data') && $handler->close();
        yield 'read for longer' => $open('&ttl=100000')->read('id') === 'data';
        $handler = $open('&lock=0');
        yield 'end' => $handler->destroy('id') && $handler->read('id') === '' && $handler->close();
        $other = $open();
        yield from $this->connectionsStay(static fn(): bool => $other->read('x') === '' && $other->close());
        try {
            yield 'without replicas' => $open('&replicas=1&timeout=1')->read('y') === 'never';
        } catch (\Larder\Session\SessionFailure $failure) {
            yield 'what it says' => \str_contains($failure->getMessage(), 'replicas');
        }
    }

    /** @return iterable<string, bool> */
    private function rateLimits(string $dsn): iterable
    {
        $limits = RateLimiter::open($dsn);
        yield 'windows' => $limits->fixedWindow('k', 1, 100)->isAllowed && !$limits->fixedWindow('k', 1, 100)->isAllowed;
        yield 'sliding ones' => $limits->slidingWindow('k', 1, 100)->isAllowed && !$limits->slidingWindow('k', 1, 100)->isAllowed;
        yield 'buckets' => $limits->tokenBucket('k', 1, 1, 100)->isAllowed && !$limits->tokenBucket('k', 1, 1, 100)->isAllowed;
        $limits->clear('k');
        yield 'clear' => $limits->fixedWindow('k', 1, 100)->isAllowed && $limits->slidingWindow('k', 1, 100)->isAllowed;
        yield 'sliding on' => $limits->slidingWindow('s', 2, 100)->isAllowed && $limits->slidingWindow('s', 2, 100)->isAllowed && !$limits->slidingWindow('s', 2, 100)->isAllowed;
        foreach ((array) $this->server()->command('KEYS', 'larder:limit:s*:s') as $list) {
            // As if the first had come long ago.
            $this->server()->command('LSET', \is_string($list) ? $list : '', '0', '1');
        }
        yield 'the first has left' => $limits->slidingWindow('s', 2, 100)->isAllowed && !$limits->slidingWindow('s', 2, 100)->isAllowed;
        yield 'short' => $limits->fixedWindow('f', 1, 100)->isAllowed && $limits->fixedWindow('f', 1, 0.02)->isAllowed;
        Wait::until(static fn(): bool => $limits->fixedWindow('f', 1, 0.02, 0)->remaining === 1, 'the end of a window', 5.0);
        yield 'what has ended goes' => $limits->fixedWindow('f', 1, 200)->isAllowed && $limits->fixedWindow('f', 1, 300)->isAllowed;
        yield from $this->connectionsStay(static fn(): bool => $limits->fixedWindow('l', 9, 100)->isAllowed);
    }

    /** @return iterable<string, bool> */
    private function queues(string $dsn): iterable
    {
        $queue = Queue::open("$dsn?attempts=2", 'mail');
        $queue->pushMany(['a', 'b', 'c']);
        $queue->push('low', priority: -1);
        $key = $queue->push('keyed', key: 'k', untilHandled: true);
        yield 'keys' => $queue->push('keyed', key: 'k', untilHandled: true) === $key;
        $queue->push('delayed', 100);
        $queue->push('soon', 0.01);
        yield 'size' => $queue->size() === 7;
        yield 'waiting' => \count($queue->waiting()) === 7 && $queue->remove($queue->push('removed')) === 1;
        $messages = $queue->popMany(3);
        yield 'pop' => $messages[0]->ack() && $messages[1]->extend(10) && $messages[1]->release(0) && $messages[2]->bury('bad');
        yield 'limited' => \count($queue->atMost(1, 0.05)->popMany(9)) === 1 && $queue->atMost(1, 0.05)->pop() === null;
        Wait::until(static fn(): bool => $queue->atMost(1, 0.05)->pop() !== null, 'the rate to allow one', 5.0);
        yield 'dead' => \count($queue->dead()) === 1 && $queue->retryDead() === 1;
        $queue->pop()?->bury('bad') === true || yield 'bury' => false;
        yield 'remove' => $queue->removeDead() === 1;
        $queue->push('again', key: 'x');
        $queue->pop();
        $queue->pause();
        yield 'pause' => $queue->pop() === null && $queue->stats()['paused'];
        $queue->resume();
        yield 'purge' => $queue->purge() > 0 && $queue->pop() === null;
        $queue->push('dies', key: 'd');
        $queue->pop()?->bury('bad') === true || yield 'bury' => false;
        yield 'a dead one with its key' => $queue->retryDead() === 1;
        $queue->purge();
        $now = 1_000_000_000;
        $schedule = new Schedule($queue, static function () use (&$now): int {
            return $now;
        });
        $schedule->add('s', '* * * * *', 'scheduled');
        $schedule->push();
        $now += 60;
        yield 'schedules' => $schedule->push() === 1;
        $queue->purge();
        yield 'wait' => $queue->pop(wait: 2.6) === null;
        yield from $this->connectionsStay(static fn(): bool => $queue->size() === 0);
    }

    /** @return iterable<string, bool> */
    private function counters(string $dsn): iterable
    {
        $counter = Counter::open($dsn);
        yield 'add' => $counter->add() === 1 && $counter->add() === 2 && $counter->value() === 2;
        $counter->reset();
        yield 'reset' => $counter->value() === 0;
        yield from $this->connectionsStay(static fn(): bool => $counter->add() > 0);
    }

    /**
     * That an idle connection is used on, and not closed as one that does not answer.
     *
     * @param \Closure(): bool $use
     *
     * @return iterable<string, bool>
     */
    private function connectionsStay(\Closure $use): iterable
    {
        yield 'before' => $use();
        $before = $this->connections();
        // So long a connection counts as in use: RedisConnection::IDLE.
        \usleep(1_001_000);
        yield 'after' => $use();
        yield 'the same connection' => $this->connections() === $before + 1;
    }

    private function connections(): int
    {
        return \preg_match('/^total_connections_received:(\d+)/m', (string) $this->server()->command('INFO', 'stats'), $found) === 1 ? (int) $found[1] : 0;
    }

    private function server(): RedisServer
    {
        return self::$server ?? throw new \LogicException('No server');
    }
}
