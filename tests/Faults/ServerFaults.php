<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

/** A far server that is not there, dies, hangs, and comes back; by engine in the classes below this one. */
abstract class ServerFaults extends FaultCase
{
    /** Of its DSN. */
    protected const SCHEME = '';

    protected ?FarServer $server = null;

    protected function tearDown(): void
    {
        parent::tearDown();
        $this->server?->end();
        $this->server = null;
    }

    public function testNotThereAtOpenAndThereLater(): void
    {
        $server = $this->server();
        $server->kill();
        $cache = $this->open($server->options());
        $this->assertDown($cache);
        $this->assertOneLine('going on without it');
        $server->back();
        $this->assertWorks($this->open($server->options()), $this->open($server->options()));
        self::rest();
        $cache->refresh();
        $this->assertWorks($cache, $this->open($server->options()));
        self::assertCount(1, $this->log->lines);
    }

    public function testKilledWhileInUseAndBackWithoutItsData(): void
    {
        $server = $this->server();
        $cache = $this->open($server->options());
        $cache->set('k', 'right');
        $other = $this->open($server->options());
        $server->kill();
        self::assertSame('right', $cache->get('k'), 'what this request has, it has');
        // From the segment, where there is one: this request began when nobody had changed it.
        self::assertContains($other->get('k'), [null, 'right']);
        self::assertFalse($cache->set('k', 'newer'));
        self::assertNull($cache->get('k'), 'neither the one nor the other is known to be right');
        $this->assertDown($cache);
        $this->assertDown($other);
        $this->assertOneLine('going on without it');
        $server->back();
        $fresh = $this->open($server->options());
        self::assertNull($fresh->get('k'));
        $this->assertWorks($fresh, $this->open($server->options()));
        self::rest();
        $cache->refresh();
        $this->assertWorks($cache, $other);
    }

    public function testALivingProcessFindsItAgainWithoutBeingTold(): void
    {
        $server = $this->server();
        $cache = $this->open($server->options());
        $cache->set('k', 'right');
        $server->hang();
        self::assertFalse($cache->set('lost', 1));
        self::assertFalse($cache->flush());
        $server->resume();
        $this->settle();
        self::rest();
        // Without a refresh() its sets may still be judged by what it read before; what others set, it sees.
        $other = $this->open($server->options());
        self::assertTrue($other->set('new', 'others'));
        self::rest(1.1);
        self::assertNull($cache->get('k'), 'its own flush has been applied');
        self::assertSame('others', $cache->get('new'));
        self::assertTrue($cache->add('lock', 'mine'));
        self::assertSame(1, $cache->increment('count'));
        self::assertTrue($cache->delete('new'));
        self::assertNull($this->open($server->options())->get('new'));
        self::assertSame('mine', $this->open($server->options())->get('lock'));
    }

    public function testHangsAndGoesOn(): void
    {
        $server = $this->server();
        $cache = $this->open($server->options());
        $cache->set('k', 'right');
        $cache->set('kept', 'right');
        $server->hang();
        // Its own copy, for a second.
        self::assertSame('right', $cache->get('k'));
        $this->assertDown($this->open($server->options()));
        self::assertFalse($cache->set('k', 'newer'));
        $this->assertDown($cache);
        $this->assertOneLine('going on without it');
        $server->resume();
        $this->settle();
        $fresh = $this->open($server->options());
        self::assertNull($fresh->get('k'));
        $this->assertWorks($fresh, $this->open($server->options()));
        self::rest();
        $cache->refresh();
        $this->assertWorks($cache, $fresh);
    }

    public function testWhatWasNotDoneWhileItHungIsNotDoneLater(): void
    {
        $server = $this->server();
        $cache = $this->open($server->options());
        $cache->set('set', 'old');
        $reader = $this->open($server->options());
        $reader->get('filled');
        $server->hang();
        self::assertFalse($cache->set('set', 'new'));
        $reader->fill('filled', 'computed');
        $reader->writeFills();
        $server->resume();
        $this->settle();
        // What lies in the server's socket is read when it goes on: it must meet what came first.
        $fresh = $this->open($server->options());
        self::assertNull($fresh->get('set'));
        self::assertTrue($fresh->set('set', 'newest'));
        \usleep(200_000);
        self::assertSame('newest', $this->open($server->options())->get('set'));
        self::assertContains($this->open($server->options())->get('filled'), [null, 'computed']);
    }

    /** A port that swallows all packets: a server that is off, as seen from another machine. */
    public function testAListenerThatAcceptsNobody(): void
    {
        $listener = \stream_socket_server('tcp://127.0.0.1:0', $code, $message, \STREAM_SERVER_BIND | \STREAM_SERVER_LISTEN, \stream_context_create(['socket' => ['backlog' => 1]]));
        self::assertIsResource($listener);
        $address = (string) \stream_socket_get_name($listener, false);
        $options = ['far' => static::SCHEME . '://' . $address, 'timeout' => self::TIMEOUT];
        $this->keptFile($options);
        for ($i = 0; $i < 3; $i++) {
            // The first ones connect, to nobody; for the later ones the queue is full and nothing comes back.
            $this->assertDown($this->open($options));
        }
        $this->assertOneLine('going on without it');
    }

    /** Seen to fail: after the server's time-out the call waited for the lock as well, 0.75 s in all. */
    public function testALockedFileOfKeptDeletionsGivesACallNoSecondTimeOut(): void
    {
        $server = $this->server();
        $options = $server->options(0.25);
        $kept = $this->keptFile($options);
        $cache = $this->open($options);
        self::assertTrue($cache->set('k', 'v'));
        $held = \fopen($kept, 'c+');
        self::assertIsResource($held);
        self::assertTrue(\flock($held, \LOCK_EX));
        $server->hang();
        foreach (['k', 'another'] as $key) {
            $start = \hrtime(true);
            self::assertFalse($cache->delete($key));
            self::assertLessThan(0.6, (\hrtime(true) - $start) / 1e9);
        }
        $server->resume();
        \flock($held, \LOCK_UN);
        $this->settle();
        self::assertNull($this->open($options)->get('k'), 'It was kept elsewhere.');
    }

    /** Not a server of this kind at all. */
    public function testAServerThatAnswersNonsense(): void
    {
        if (!\function_exists('pcntl_fork')) {
            self::markTestSkipped('Needs pcntl.');
        }
        $listener = \stream_socket_server('tcp://127.0.0.1:0');
        self::assertIsResource($listener);
        $address = (string) \stream_socket_get_name($listener, false);
        $pid = \pcntl_fork();
        if ($pid === 0) {
            try {
                while (\is_resource($client = \stream_socket_accept($listener, 30))) {
                    \fwrite($client, "SSH-2.0-OpenSSH_9.2\r\n\0\0\0\x7fnonsense\r\n");
                    \fclose($client);
                }
            } finally {
                \posix_kill(\posix_getpid(), \SIGKILL);
            }
        }
        try {
            $options = ['far' => static::SCHEME . '://' . $address, 'timeout' => self::TIMEOUT];
            $this->keptFile($options);
            $this->assertDown($this->open($options));
            $this->assertOneLine('going on without it');
        } finally {
            \posix_kill($pid, \SIGKILL);
            \pcntl_waitpid($pid, $status);
        }
    }

    public function testALineAMinuteToTheErrorLogAndNoPasswordInIt(): void
    {
        $server = $this->server();
        $server->kill();
        $options = $server->options();
        if (static::SCHEME !== 'memcached') {
            $options['far'] = static::SCHEME . '://someone:hushhush@127.0.0.1:1';
            $this->keptFile($options);
        }
        $client = new Client($options);
        for ($i = 0; $i < 5; $i++) {
            self::assertNull($client->call('get', 'k'));
            self::assertFalse($client->call('set', 'k', 'v'));
            $client->call('open', $options);
        }
        self::assertCount(1, $client->log(), $client->process->errors());
        self::assertStringContainsString('going on without it', $client->log()[0]);
        self::assertStringNotContainsString('hushhush', $client->process->errors());
        // Another process says it for itself.
        $second = new Client($options);
        $second->call('get', 'k');
        self::assertCount(1, $second->log());
    }

    /** Waits until nothing is left of what was interrupted, where the engine needs time for that. */
    protected function settle(): void {}

    protected function server(): FarServer
    {
        $this->server = FarServer::start(static::SCHEME);
        $this->keptFile($this->server->options());

        return $this->server;
    }
}
