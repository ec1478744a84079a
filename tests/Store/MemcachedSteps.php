<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Memcached\MemcachedStore;
use Larder\Store\Memcached\Slot;
use Larder\Tests\Contract\Forks;
use Larder\Tests\Support\MemcachedRelay;
use Larder\Tests\Support\MemcachedServer;

/** Writers over Memcached that a test stops between two steps, kills, or lets go on. */
trait MemcachedSteps
{
    use Forks;

    protected const FORKS = true;

    private const DEAD = 'dddddddddddd';
    private const A = 'aaaaaaaaaaaa';
    private const B = 'bbbbbbbbbbbb';

    private static ?MemcachedServer $server = null;

    private string $prefix;

    private ?MemcachedRelay $relay = null;

    public static function tearDownAfterClass(): void
    {
        self::$server?->end();
        self::$server = null;
    }

    protected function setUp(): void
    {
        if (!MemcachedServer::installed()) {
            self::markTestSkipped('memcached is not installed.');
        }
        self::$server ??= new MemcachedServer();
        $this->prefix = 'death' . \bin2hex(\random_bytes(3));
    }

    protected function tearDown(): void
    {
        $this->endChildren();
        $this->relay?->end();
        $this->relay = null;
    }

    /**
     * What a writer is about to send when it stops: everything before it has arrived.
     *
     * @return iterable<string, array{list<string>, bool, bool}> what it sends; whether its slot is there; its record
     */
    public static function steps(): iterable
    {
        yield 'before it has a position' => [['incr '], false, false];
        yield 'before it says what it will change' => [['incr ', 'add '], false, false];
        yield 'before it looks' => [['incr ', 'add ', 'gets '], true, false];
        yield 'before it stores the record' => [['incr ', 'add ', 'cas '], true, false];
        yield 'before it settles its slot' => [['incr ', 'add ', 'cas ', 'cas '], true, true];
        yield 'before it moves the head' => [['incr ', 'add ', 'cas ', 'cas ', 'cas '], true, true];
    }

    private function store(): MemcachedStore
    {
        self::assertNotNull(self::$server);

        return new MemcachedStore([self::$server->address], $this->prefix, 5.0);
    }

    private static function put(MemcachedStore $store, string $key, ?string $body, string $writer = self::A, string $kind = 's'): ChangeResult
    {
        $outcome = $store->write([new Change($key, $body, $writer, kind: $kind)])[0];
        self::assertTrue($outcome->done);

        return $outcome;
    }

    /**
     * Starts a process that writes, and stops it where it is about to send the last of these.
     *
     * @param list<string>                      $step
     * @param \Closure(MemcachedStore): mixed $work
     * @param ?\Closure(string): string       $alter what it says, on its way
     *
     * @return array{int, string}
     */
    private function stopAt(array $step, \Closure $work, ?\Closure $alter = null): array
    {
        self::assertNotNull(self::$server);
        $relay = $this->relay = new MemcachedRelay(self::$server->address, $alter);
        $child = $this->fork(fn(): mixed => $work(new MemcachedStore([$relay->address], $this->prefix, 60.0)));
        try {
            foreach ($step as $needle) {
                $relay->until($needle);
            }
        } catch (\RuntimeException $stopped) {
            self::fail($stopped->getMessage() . ' The client says: ' . \file_get_contents($child[1]));
        }

        return $child;
    }

    /** Lets it go on to its end; gives what it returned. */
    private function goOn(int $pid, string $file): mixed
    {
        $this->relay?->finish();
        \pcntl_waitpid($pid, $status);
        unset($this->children[$pid]);
        $answer = \unserialize((string) \file_get_contents($file));
        \unlink($file);
        self::assertIsArray($answer);
        self::assertNull($answer[0], \is_string($answer[0]) ? $answer[0] : '');

        return $answer[1];
    }

    private function kill(int $pid): void
    {
        \posix_kill($pid, \SIGKILL);
        \pcntl_waitpid($pid, $status);
        unset($this->children[$pid]);
    }

    /** Looks as often as it takes to settle what can be settled by now. */
    private function heal(): void
    {
        for ($i = 0; $i < 3; $i++) {
            $this->store()->read(['any']);
            $this->age();
        }
        $this->store()->read(['any']);
    }

    /** Makes all that is not settled ten seconds older, as if that time had passed since somebody first saw it. */
    private function age(): void
    {
        $socket = $this->socket();
        $epoch = \explode(' ', self::get($socket, $this->prefix . ':head') ?? '')[0];
        $base = $this->prefix . ':' . $epoch . ':';
        $top = (int) self::get($socket, $base . 'a');
        for ($n = $top - 30; $n <= $top; $n++) {
            foreach (["g:$n", "o:$n"] as $name) {
                $seen = self::get($socket, $base . $name);
                if ($seen !== null) {
                    [$last, $time] = \explode(' ', $seen);
                    self::set($socket, $base . $name, $last . ' ' . ((int) $time - 10000));
                }
            }
            $text = self::get($socket, $base . "j:$n");
            $slot = $text === null ? null : Slot::decode([$text, '']);
            if ($slot !== null && !$slot->final()) {
                $state = $slot->guessed ? \strtoupper($slot->state) : $slot->state;
                self::set($socket, $base . "j:$n", Slot::encode($state, $slot->first, $slot->last, $slot->time - 10000, $slot->entries));
            }
        }
        \fclose($socket);
    }

    private function forget(string $name): void
    {
        $socket = $this->socket();
        $epoch = \explode(' ', self::get($socket, $this->prefix . ':head') ?? '')[0];
        \fwrite($socket, 'delete ' . $this->prefix . ':' . $epoch . ':' . $name . "\r\n");
        self::assertSame("DELETED\r\n", \fgets($socket));
        \fclose($socket);
    }

    private function forgetHead(): void
    {
        self::assertSame('DELETED', self::$server?->talk("delete $this->prefix:head"));
    }

    /** @return resource */
    private function socket()
    {
        $socket = \stream_socket_client('unix://' . (self::$server->address[0] ?? ''));
        self::assertNotFalse($socket);

        return $socket;
    }

    /** @param resource $socket */
    private static function get($socket, string $key): ?string
    {
        \fwrite($socket, "get $key\r\n");
        $line = \trim((string) \fgets($socket));
        if ($line === 'END') {
            return null;
        }
        $size = (int) \explode(' ', $line)[3];
        $value = (string) \stream_get_contents($socket, $size + 7);

        return \substr($value, 0, $size);
    }

    /** @param resource $socket */
    private static function set($socket, string $key, string $value): void
    {
        \fwrite($socket, "set $key 0 0 " . \strlen($value) . "\r\n$value\r\n");
        self::assertSame("STORED\r\n", \fgets($socket));
    }
}
