<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Config\Dsn;
use Larder\Console\Doctor\RedisUser;
use Larder\Driver\Redis\Endpoint;
use Larder\Driver\Redis\RedisConnection;
use Larder\Store\Change;
use Larder\System\Failure;
use Larder\Tests\Contract\Forks;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\DataProvider;

/** Nothing of a server's former life is read, and what is left of it is swept. */
final class RedisEpochTest extends RedisFixture
{
    use Forks;

    protected const FORKS = true;

    /** @return iterable<string, array{class-string<RedisConnection>, string}> */
    public static function restarts(): iterable
    {
        foreach (self::connections() as $name => [$connection]) {
            foreach (['with the append-only file', 'with the snapshot', 'with an older snapshot', 'without data'] as $how) {
                yield "$name, $how" => [$connection, $how];
            }
        }
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('restarts')]
    public function testNothingFromBeforeARestartIsRead(string $connection, string $how): void
    {
        $this->server = new RedisServer(
            save: \str_contains($how, 'snapshot'),
            appendOnly: $how === 'with the append-only file',
        );
        $living = $this->store($connection);
        $old = self::put($living, 'k', 'old')->position;
        $before = $living->since('', 0, '');
        $reading = $this->store($connection);
        $reading->read(['k']);
        if ($how === 'with an older snapshot') {
            $this->server->command('SAVE');
            \copy($this->server->dir . '/dump.rdb', $this->server->dir . '/kept.rdb');
            self::put($living, 'k', 'newer');
            self::put($living, 'l', null);
            $this->server->stop();
            \rename($this->server->dir . '/kept.rdb', $this->server->dir . '/dump.rdb');
            $this->server->start();
        } else {
            $this->server->restart(keepData: $how !== 'without data');
        }
        $kept = $this->server->command('GET', "larder:{$before->epoch}:r:k");
        self::assertSame($how !== 'without data', \is_string($kept), 'The server has loaded what the case is about.');

        $fresh = $this->store($connection);
        $view = $fresh->read(['k']);
        self::assertNotSame($before->epoch, $view->epoch);
        self::assertSame([], $view->records);
        self::assertSame([0, false], [$view->at, $fresh->since($before->epoch, $old, '')->complete]);

        // The new epoch's positions go past the old ones, which still mean nothing in it.
        foreach (['a', 'b', 'c'] as $key) {
            self::put($fresh, $key, 'v', self::B);
        }

        // The one that was connected meets a broken connection first, unless it was idle for so long that it tries it. Then its
        // first call is the one in which it learns of the new epoch.
        try {
            self::assertSame([], $reading->read(['k'])->records);
        } catch (Failure) {
        }
        $write = static fn(): array => $living->write([new Change('k', 'late', self::A, $old), new Change('m', 'new', self::A)]);
        try {
            $limited = $write();
        } catch (Failure) {
            $limited = $write();
        }
        self::assertSame([[false, -1], [true, 4]], \array_map(static fn($o) => [$o->done, $o->position], $limited));
        self::assertNull(self::body($living, 'k'));
        self::assertSame('new', self::body($fresh, 'm'));
        self::assertSame($view->epoch, $living->since($before->epoch, $old, '')->epoch);
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAllWhoComeAfterARestartAgreeOnOneEpoch(string $connection): void
    {
        $this->server = new RedisServer(appendOnly: true);
        $old = $this->store($connection)->read(['k'])->epoch;
        $this->server->restart(keepData: true);
        $epochs = $this->inProcesses(6, fn(int $i) => $this->store($connection)->read(['k'])->epoch);
        self::assertCount(1, \array_unique($epochs));
        self::assertNotSame($old, $epochs[0]);
    }

    /** @return iterable<string, array{class-string<RedisConnection>, string}> */
    public static function losses(): iterable
    {
        foreach (self::connections() as $name => [$connection]) {
            foreach (['all', 'the head', 'the newest positions', 'sense'] as $what) {
                yield "$name, $what" => [$connection, $what];
            }
        }
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('losses')]
    public function testWhatIsLostUnderALivingConnectionIsANewEpoch(string $connection, string $what): void
    {
        $this->server = new RedisServer();
        foreach (['read', 'since', 'write'] as $first) {
            $store = $this->store($connection);
            $epoch = $store->read(['k'])->epoch;
            $head = $this->server->command('GET', 'larder:head');
            self::assertIsString($head);
            $position = self::put($store, 'k', 'old')->position;
            match ($what) {
                'all' => $this->server->command('FLUSHALL'),
                'the head' => $this->server->command('DEL', 'larder:head'),
                'the newest positions' => $this->server->command('SET', 'larder:head', $head),
                default => $this->server->command('SET', 'larder:head', 'garbage'),
            };
            if ($first === 'read') {
                $view = $store->read(['k']);
                self::assertNotSame($epoch, $view->epoch);
                self::assertSame([], $view->records);
            } elseif ($first === 'since') {
                $changes = $store->since($epoch, $position, '');
                self::assertNotSame($epoch, $changes->epoch);
                self::assertFalse($changes->complete);
            } else {
                $outcomes = $store->write([new Change('k', 'late', self::A, $position), new Change('l', 'v', self::A)]);
                self::assertSame([false, -1, true], [$outcomes[0]->done, $outcomes[0]->position, $outcomes[1]->done]);
            }
            self::assertNull(self::body($store, 'k'));
            $now = $store->read(['k'])->epoch;
            self::assertNotSame($epoch, $now);
            self::assertSame($now, $this->store($connection)->read(['k'])->epoch, 'The new epoch stays.');
        }
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testALogThatIsSetBackIsANewEpochForWhoeverHasSeenIt(string $connection): void
    {
        $this->server = new RedisServer();
        $store = $this->store($connection);
        $epoch = $store->read(['a'])->epoch;
        $head = $this->server->command('GET', 'larder:head');
        self::assertIsString($head);
        self::put($store, 'a', '1');
        $this->server->command('SET', 'larder:head', $head);
        $this->server->command('DEL', "larder:$epoch:j");
        self::put($store, 'b', '1');
        self::assertNotSame($epoch, $store->read(['a'])->epoch);
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testALogThatIsSetBackIsANewEpochForWhoeverWritesNext(string $connection): void
    {
        $this->server = new RedisServer();
        $store = $this->store($connection);
        self::put($store, 'a', '1');
        $head = $this->server->command('GET', 'larder:head');
        self::assertIsString($head);
        $other = $this->store($connection);
        $epoch = $other->read(['a'])->epoch;
        self::put($store, 'b', '1');
        $this->server->command('SET', 'larder:head', $head);
        self::assertTrue(self::put($other, 'c', '1')->done, 'It has not seen the position that is given again.');
        self::assertNotSame($epoch, $other->read(['c'])->epoch);
        self::assertNull(self::body($store, 'a'));
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testAnotherReleasesLayoutIsANewEpoch(string $connection): void
    {
        $this->server = new RedisServer();
        $epoch = $this->store($connection)->read(['k'])->epoch;
        $head = $this->server->command('GET', 'larder:head');
        self::assertIsString($head);
        // Before the layout had a version, its index was a sorted set.
        $this->server->command('SET', 'larder:head', \substr($head, 0, -2));
        $this->server->command('DEL', "larder:$epoch:i");
        $this->server->command('ZADD', "larder:$epoch:i", '0', '');
        $store = $this->store($connection);
        self::assertTrue(self::put($store, 'k', 'v')->done);
        self::assertSame('v', self::body($store, 'k'));
        self::assertNotSame($epoch, $store->read(['k'])->epoch);
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testFormerEpochsAreSweptAndNothingElse(string $connection): void
    {
        $this->server = new RedisServer(appendOnly: true);
        $store = $this->store($connection, prefix: 'a*b');
        $store->write(\array_map(static fn(int $i) => new Change("k$i", 'v', self::A), \range(1, 1500)));
        $foreign = ['axb:0123456789abcdef:r:k', 'a*b:other', 'a*b', 'a*bc:0123456789abcdef:r:k', 'a*b:not hexadecimal!:k'];
        foreach ($foreign as $name) {
            $this->server->command('SET', $name, 'foreign');
        }
        $this->server->restart(keepData: true);
        $store = $this->store($connection, prefix: 'a*b');
        self::put($store, 'k1', 'new');
        $steps = 0;
        do {
            $store->tidy();
        } while ($this->server->command('EXISTS', 'a*b:sweep') === 1 && ++$steps < 50);
        self::assertGreaterThan(1, $steps, 'A step at a time.');
        $left = $this->server->command('KEYS', '*');
        self::assertIsArray($left);
        $epoch = $store->read(['k1'])->epoch;
        $own = ['a*b:head', "a*b:$epoch:i", "a*b:$epoch:j", "a*b:$epoch:r:k1"];
        self::assertEqualsCanonicalizing([...$foreign, ...$own], $left);

        $calls = $this->scripts();
        $store->tidy();
        $fresh = $this->store($connection, prefix: 'a*b');
        $fresh->tidy();
        $fresh->read(['k1']);
        $fresh->tidy();
        self::assertSame(1, $this->scripts() - $calls, 'With nothing to sweep, tidying asks nothing.');
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testWhoComesTooLateToSweepKeepsTheConnection(string $connection): void
    {
        $this->server = new RedisServer();
        $store = $this->store($connection, prefix: 'p');
        self::put($store, 'k', 'v');
        $this->server->command('DEL', 'p:sweep');
        $connections = fn(): int => \preg_match('/^total_connections_received:(\d+)/m', $this->server->info('stats'), $found) === 1 ? (int) $found[1] : 0;
        $before = $connections();
        $store->tidy();
        self::assertSame('v', self::body($store, 'k'));
        self::assertSame(1, $connections() - $before, 'the one that asks');
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testWithoutInfoAnOlderSnapshotIsFoundByItsEnd(string $connection): void
    {
        $this->server = new RedisServer(save: true);
        $this->server->command('ACL', 'SETUSER', 'app', 'on', '>secret', '~larder:*', '+@all', '-info');
        $endpoint = new Endpoint(socket: $this->server->socket, user: 'app', password: 'secret', timeout: 2.0);
        $store = $this->store($connection, $endpoint);
        $epoch = $store->read(['k'])->epoch;
        self::assertSame(1, self::put($store, 'k', 'v')->position);
        self::assertSame($epoch, $this->store($connection, $endpoint)->read(['k'])->epoch);
        $changes = $this->store($connection, $endpoint)->since($epoch, 2, '');
        self::assertNotSame($epoch, $changes->epoch);
        self::assertNotSame($changes->epoch, $this->store($connection)->read(['k'])->epoch, 'Who knows better does not believe it.');
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testTheAdvisedRightsSuffice(string $connection): void
    {
        $this->server = new RedisServer(save: true);
        $this->server->command('ACL', 'SETUSER', 'app', 'on', '>secret', '~larder:*', '+@all', '-time');
        $endpoint = new Endpoint(socket: $this->server->socket, user: 'app', password: 'secret', timeout: 2.0);
        $advice = '';
        try {
            $this->store($connection, $endpoint)->read(['k']);
        } catch (Failure $refused) {
            $advice = $refused->getMessage();
        }
        self::assertStringContainsString('larder doctor prints', $advice, 'What a script may not do brings the advice.');
        $this->server->command('ACL', 'SETUSER', 'app', 'reset', 'on', '>secret', ...RedisUser::rules(Dsn::parse('redis://h'), 'larder', 'cache'));
        $store = $this->store($connection, $endpoint);
        $epoch = $store->read(['k'])->epoch;
        self::assertSame(1, self::put($store, 'k', 'v')->position);
        self::assertSame($epoch, $this->store($connection, $endpoint)->read(['k'])->epoch);
        $store->tidy();
    }

    /** @return iterable<string, array{class-string<RedisConnection>, string}> */
    public static function witnesses(): iterable
    {
        foreach (self::connections() as $name => [$connection]) {
            foreach (['somebody who comes new', 'a near tier', 'a living connection'] as $who) {
                yield "$name, $who" => [$connection, $who];
            }
        }
    }

    /** A replica of an older copy that is made a primary again: the process, its connections and its run id are the same. */
    #[DataProvider('witnesses')]
    public function testAServerThatTookOverOlderDataIsANewEpoch(string $connection, string $who): void
    {
        $this->server = new RedisServer(config: ['repl-diskless-sync-delay' => '0']);
        $copy = new RedisServer(config: ['repl-diskless-sync-delay' => '0']);
        $living = $this->store($connection);
        self::put($living, 'k', 'old');
        self::follow($copy, $this->server);
        self::put($living, 'k', null);
        self::put($living, 'l', 'v');
        $seen = $living->since('', 0, '');
        self::follow($this->server, $copy);
        self::assertIsString($this->server->command('GET', "larder:$seen->epoch:r:k"), 'What was deleted is there again.');

        $store = $who === 'a living connection' ? $living : $this->store($connection);
        if ($who === 'a near tier') {
            $changes = $store->since($seen->epoch, $seen->end, $seen->token);
            self::assertSame([false, []], [$changes->complete, $changes->list]);
            self::assertNotSame($seen->epoch, $changes->epoch);
        }
        $view = $store->read(['k']);
        self::assertSame([], $view->records);
        self::assertNotSame($seen->epoch, $view->epoch);
        self::assertTrue(self::put($store, 'k', 'new')->done);
        self::assertSame('new', self::body($this->store($connection), 'k'), 'The new epoch stays.');
    }

    /** @return iterable<string, array{class-string<RedisConnection>, string}> */
    public static function observers(): iterable
    {
        foreach (self::connections() as $name => [$connection]) {
            foreach (['read', 'since', 'a write', 'a limited write', 'a near tier'] as $what) {
                yield "$name, $what" => [$connection, $what];
            }
        }
    }

    /** By an ACL user without INFO, so that the log alone can tell. */
    #[DataProvider('observers')]
    public function testALogThatGrewAgainAfterItWasSetBackIsNotTheOneThatWasSeen(string $connection, string $what): void
    {
        $this->server = new RedisServer();
        $this->server->command('ACL', 'SETUSER', 'app', 'on', '>secret', '~larder:*', '+@all', '-info');
        $endpoint = new Endpoint(socket: $this->server->socket, user: 'app', password: 'secret', timeout: 2.0);
        $writer = $this->store($connection, $endpoint);
        self::put($writer, 'k', 'old');
        $before = [];
        $names = $this->server->command('KEYS', 'larder:*');
        self::assertIsArray($names);
        foreach ($names as $name) {
            self::assertIsString($name);
            $before[$name] = $this->server->command('DUMP', $name);
        }
        self::put($writer, 'k', null);
        $living = $this->store($connection, $endpoint);
        $seen = $living->since('', 0, '');
        self::assertSame(2, $seen->end);

        foreach ($before as $name => $dump) {
            self::assertIsString($dump);
            $this->server->command('RESTORE', $name, '0', $dump, 'REPLACE');
        }
        $other = $this->store($connection, $endpoint);
        foreach (\range(1, $what === 'read' ? 1 : 4) as $i) {
            self::put($other, "other $i", 'v');
        }
        self::assertSame('old', self::body($other, 'k'), 'Who comes new cannot know.');
        if ($what === 'a near tier') {
            $living = $this->store($connection, $endpoint);
            $changes = $living->since($seen->epoch, $seen->end, $seen->token);
            self::assertSame([false, []], [$changes->complete, $changes->list]);
            self::assertNotSame($seen->epoch, $changes->epoch);
        } elseif ($what === 'since') {
            self::assertNotSame($seen->epoch, $living->since($seen->epoch, $seen->end, '')->epoch);
        } elseif ($what === 'a write') {
            self::put($living, 'mine', 'v');
        } elseif ($what === 'a limited write') {
            $outcome = $living->write([new Change('mine', 'v', self::A, $seen->end)])[0];
            self::assertSame([false, -1], [$outcome->done, $outcome->position]);
        }
        $view = $living->read(['k']);
        self::assertNotSame($seen->epoch, $view->epoch);
        self::assertSame([], $view->records);
        self::assertNull(self::body($other, 'k'));
    }

    /** @param class-string<RedisConnection> $connection */
    #[DataProvider('connections')]
    public function testALivingConnectionSeesThatTheLogGrewAgainBeyondWhatItHasSeen(string $connection): void
    {
        $this->server = new RedisServer();
        $living = $this->store($connection);
        self::put($living, 'k', 'old');
        $epoch = $living->read(['k'])->epoch;
        $log = $this->server->command('DUMP', "larder:$epoch:j");
        $head = $this->server->command('GET', 'larder:head');
        self::assertIsString($log);
        self::assertIsString($head);
        self::put($living, 'k', null);
        $this->server->command('RESTORE', "larder:$epoch:j", '0', $log, 'REPLACE');
        $this->server->command('SET', 'larder:head', $head);
        $other = $this->store($connection);
        foreach (\range(1, 5) as $i) {
            self::put($other, "other $i", 'v');
        }
        self::assertNotSame($epoch, $living->read(['k'])->epoch);
    }

    /** @return iterable<string, array{class-string<RedisConnection>, bool}> */
    public static function moves(): iterable
    {
        foreach (self::connections() as $name => [$connection]) {
            yield "$name, a near tier" => [$connection, false];
            yield "$name, a process that reconnects" => [$connection, true];
        }
    }

    #[DataProvider('moves')]
    public function testAnAddressThatMovesAwayAndBackIsANewEpochForWhoeverWasThere(string $connection, bool $reconnects): void
    {
        $this->server = new RedisServer(config: ['repl-diskless-sync-delay' => '0']);
        $second = new RedisServer(config: ['repl-diskless-sync-delay' => '0']);
        $address = $this->server->dir . '/address';
        $move = static function (RedisServer $to) use ($address): void {
            \symlink($to->socket, "$address.new");
            \rename("$address.new", $address);
        };
        $move($this->server);
        $endpoint = new Endpoint(socket: $address, timeout: 2.0);
        self::put($this->store($connection, $endpoint), 'k', 'old');
        self::follow($second, $this->server);
        $move($second);
        $store = $this->store($connection, $endpoint);
        self::put($store, 'k', null);
        $seen = $store->since('', 0, '');

        $move($this->server);
        if ($reconnects) {
            $second->command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
            self::failure(static fn() => $store->read(['k']));
        } else {
            $store = $this->store($connection, $endpoint);
            self::assertFalse($store->since($seen->epoch, $seen->end, $seen->token)->complete);
        }
        $view = $store->read(['k']);
        self::assertNotSame($seen->epoch, $view->epoch);
        self::assertSame([], $view->records);
        self::assertGreaterThan($seen->epoch, $view->epoch, 'The newest one by its name too.');
        self::assertNull(self::body($this->store($connection, $endpoint), 'k'));
    }

    /** Makes a server the replica of another one until it has its data, and then a primary with them. */
    private static function follow(RedisServer $server, RedisServer $primary): void
    {
        $server->command('REPLICAOF', '127.0.0.1', (string) $primary->port);
        $deadline = \microtime(true) + 20;
        do {
            $info = $server->command('INFO', 'replication');
            self::assertIsString($info);
            self::assertLessThan($deadline, \microtime(true), $info);
            \usleep(5000);
        } while (!\str_contains($info, 'master_link_status:up'));
        $server->command('REPLICAOF', 'NO', 'ONE');
    }
}
