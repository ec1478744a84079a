<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

use Larder\System\Failure;
use Larder\System\Fork;
use Larder\System\Quiet;

/**
 * One connection to a server, opened on first use and never shared with another process.
 *
 * A connection never reconnects in the middle of a call: by then the same address may lead to a restarted server with older
 * data. Only ready() opens a new connection, and then returns a new number.
 *
 * Any failure closes the connection, so that a late answer never passes for the next command's. If a connection is in the
 * middle of a command (a signal handler threw, or uses the cache), no other call uses it: ready() opens another.
 *
 * A forked child leaves its parent's connection alone. Only over TLS, PHP itself ends the session on it when the child ends
 * (ext/openssl/xp_ssl.c, php_openssl_sockop_close): so after a child that was waited for, the connection is tested first. Before
 * it is waited for, the parent's next call may fail.
 */
abstract class RedisConnection
{
    /**
     * Nanoseconds without use after which ready() tests a connection: servers close idle ones (redis.conf, "timeout"), and a
     * write on a closed one would count as lost.
     */
    private const IDLE = 1_000_000_000;

    /** Servers that a call is sent to, each by the one before. */
    private const HOPS = 3;

    /**
     * @var list<?object> the parent's library objects, kept so that no destructor ends the parent's session
     * @phpstan-ignore property.onlyWritten
     */
    private static array $parents = [];

    private bool $open = false;
    /** True from a command until the last of its replies. */
    private bool $busy = false;
    private int $number = 0;
    private int $process = 0;
    /** hrtime() of the last use: of its beginning or its end. */
    public int $used = 0;
    /** Nanoseconds. */
    protected readonly int $timeout;
    /** hrtime() at which the round trip under way must have ended. */
    protected int $until = 0;
    /** Whether it may have less than the whole time-out, or the last one had. */
    protected bool $isShort = false;
    /** hrtime() at which the call must have ended that began last: see begin(). 0: none ever began. */
    private int $end = 0;
    /** The end of a call that was given more time: see start(). */
    private int $prolonged = 0;
    private readonly bool $forks;
    /** Whether a child that ends takes the session with it. */
    private readonly bool $ends;
    /** Of children that have ended and were waited for, when the connection was last known to be good: see children(). */
    private int $children = 0;

    /** The number of the connection on which keep() has looked last, and hrtime() of that. */
    private int $looked = 0;
    private int $lookedAt = 0;

    // Both libraries let PHP's warnings through (an unknown host name, a broken pipe), so every call of theirs is kept quiet.
    // An exception or a reply tells the same.
    /** @param ?Primary $primary finds the address where it changes; null: $endpoint has it */
    final public function __construct(protected Endpoint $endpoint, public readonly ?Primary $primary = null)
    {
        $this->forks = Fork::isPossible();
        $this->ends = $this->forks && $endpoint->tls && \function_exists('getrusage');
        $this->timeout = (int) ($endpoint->timeout * 1e9);
    }

    /**
     * Begins a call: all its round trips together have one time-out, and what is over its time once more as long. Who begins one
     * before each call may rely on that; who never does has a time-out for each round trip.
     */
    final public function begin(): void
    {
        $this->end = (int) \hrtime(true) + $this->timeout;
    }

    /** Seconds, above zero, that the round trip under way has left. */
    final protected function left(): float
    {
        return \max(0.001, ($this->until - (int) \hrtime(true)) / 1e9);
    }

    /**
     * Begins a round trip. A busy machine may have held up this process, and not the server, until the call's time was over: so
     * the call goes on for as long again. But only once, since each try to find another primary takes several round trips.
     *
     * @throws Failure
     */
    private function start(): void
    {
        $now = (int) \hrtime(true);
        if ($this->end > $now) {
            $this->until = $this->end;
            // As long as next to nothing of the call's time has passed, the whole time-out limits a round trip well enough.
            $this->isShort = $this->isShort || $this->end - $now < 0.9 * $this->timeout;
        } elseif ($this->end === 0) {
            $this->until = $now + $this->timeout;
        } elseif ($this->prolonged === $this->end) {
            throw $this->late();
        } else {
            $this->until = $this->end = $this->prolonged = $now + $this->timeout;
        }
    }

    /**
     * Connects, by $until. Throws the library's exceptions.
     *
     * @return bool whether the greeting has been said
     */
    abstract protected function open(): bool;

    /**
     * Sends all commands at once and reads all replies, by $until as far as the library can.
     *
     * @param non-empty-list<non-empty-list<string>> $commands
     * @param int                                    $attempts so many of the first commands may be refused
     *
     * @return list<mixed> a reply each; null for a script that the server does not know (NOSCRIPT), and for a refused command
     *                     that may be refused
     *
     * @throws Failure for every other error reply
     * @throws Refused
     */
    abstract protected function exchange(#[\SensitiveParameter] array $commands, int $attempts): array;

    /**
     * Sends one command and reads its reply, by $until as far as the library can.
     *
     * @param non-empty-list<string> $command
     *
     * @return mixed null for a script that the server does not know (NOSCRIPT)
     *
     * @throws Failure for every other error reply
     */
    protected function exchangeOne(#[\SensitiveParameter] array $command): mixed
    {
        return $this->exchange([$command], 0)[0];
    }

    /** Forgets the library's object and returns it. */
    abstract protected function release(): ?object;

    /** Closes an object that release() returned. */
    abstract protected function shut(object $handle): void;

    /** Whether this exception is the library's, about a failure between it and the server. */
    abstract protected function isFailure(\Throwable $e): bool;

    /**
     * Makes sure that this process has a connection of its own.
     *
     * @return int the connection's number: a different number than last time means a new connection
     *
     * @throws Failure
     */
    final public function ready(): int
    {
        // The usual case, without a call of this class.
        if ($this->open && !$this->busy && \hrtime(true) - $this->used < self::IDLE && (!$this->forks || $this->process === Fork::pid()) && (!$this->ends || $this->children === $this->children())) {
            return $this->number;
        }
        if ($this->open) {
            if ($this->process !== Fork::pid()) {
                self::$parents[] = $this->release();
                $this->open = false;
            } elseif ($this->busy) {
                // A call that still waits for replies holds the old library object, and reads them there.
                $this->open = false;
                $this->release();
            } elseif ($this->isAlive()) {
                return $this->number;
            }
        }
        $this->connect();

        return $this->number;
    }

    /** Whether this process has a connection of its own, as far as it knows without asking the server. */
    final public function isOpen(): bool
    {
        return $this->open && $this->process === Fork::pid();
    }

    /**
     * Runs commands on the connection of the last ready(), in one round trip.
     *
     * @param non-empty-list<non-empty-list<string>> $commands
     * @param int                                    $attempts so many of the first commands may be refused; later ones notice
     *                                                         that
     *
     * @return list<mixed> a reply each; null for a script that the server does not know (NOSCRIPT), and for a refused command
     *                     that may be refused
     *
     * @throws Failure
     * @throws Refused      one of the first was refused because the server is full; the others may have been executed
     */
    final public function run(array $commands, int $attempts = 0): array
    {
        if (!$this->open || ($this->forks && $this->process !== Fork::pid())) {
            throw $this->failure('the connection was lost');
        }
        $this->busy = true;
        Quiet::begin();
        try {
            // Inside the try, since a signal handler may throw right after it.
            $this->start();
            $replies = $attempts === 0 && \count($commands) === 1 ? [$this->exchangeOne($commands[0])] : $this->exchange($commands, $attempts);
            $this->used = (int) \hrtime(true);
            if ($this->used > $this->until + $this->timeout) {
                throw $this->late();
            }
        } catch (\Throwable $e) {
            $this->close();
            $e instanceof ErrorReply || $this->primary?->doubt();
            throw $this->isFailure($e) ? $this->translate('no answer', $e) : $e;
        } finally {
            Quiet::end();
        }
        $this->busy = false;

        return $replies;
    }

    /**
     * Does what ready() and run() do, on the primary's own connection where that has moved.
     *
     * @param non-empty-list<non-empty-list<string>> $commands
     *
     * @return list<mixed> as run()
     *
     * @throws Failure
     * @throws Refused
     */
    final public function call(array $commands, int $attempts = 0): array
    {
        for ($hop = 1; ; $hop++) {
            $this->ready();
            try {
                return $this->run($commands, $attempts);
            } catch (Moved $moved) {
                // A node that has not heard of the last move yet names the one before.
                if ($hop === self::HOPS) {
                    throw $moved;
                }
            }
        }
    }

    /**
     * What the server says of itself (INFO).
     *
     * @return array<string, string> by field
     *
     * @throws Failure
     */
    final public function info(string $section): array
    {
        return self::fields($this->call([['INFO', $section]])[0]);
    }

    /**
     * What SCAN answers.
     *
     * @return array{string, list<string>} the next cursor, and names
     *
     * @throws Failure
     */
    final public function page(mixed $page): array
    {
        if (!\is_array($page) || !\is_string($page[0] ?? null) || !\is_array($page[1] ?? null)) {
            throw $this->failure('SCAN was answered by something else');
        }

        return [$page[0], \array_values(\array_filter($page[1], \is_string(...)))];
    }

    /**
     * @param mixed $text what INFO answers
     *
     * @return array<string, string> by field
     */
    private static function fields(mixed $text): array
    {
        \preg_match_all('/^(\w+):([^\r\n]*)/m', \is_string($text) ? $text : '', $found);

        return \array_combine($found[1], $found[2]);
    }

    /**
     * Runs a script that keeps something, in one round trip, and sends it where the server does not know it.
     *
     * @param Eviction::OF_*          $look      which comes before it where a look is due
     * @param non-empty-list<string>  $keys
     * @param list<string>            $arguments
     * @param ?non-empty-list<string> $command   which does the same where no look is due; null: there is none
     * @param ?string                 $hash      sha1() of the look and the script: see script()
     *
     * @throws Failure also where the server evicts: nothing was done
     */
    final public function keep(string $look, string $script, array $keys, #[\SensitiveParameter] array $arguments, ?array $command = null, ?string $hash = null): mixed
    {
        if ($this->endpoint->isSingle) {
            $this->look($look);
        }
        $number = $this->ready();
        $now = (int) \hrtime(true);
        $isDue = $number !== $this->looked || ($now - $this->lookedAt >= Eviction::PAUSE && !$this->endpoint->isSingle);
        if (!$isDue && $command !== null) {
            return $this->call([$command])[0];
        }
        $reply = $isDue ? $this->script($look . $script, $keys, $arguments, $hash) : $this->script($script, $keys, $arguments);
        if ($isDue) {
            $this->looked = $number;
            $this->lookedAt = $now;
        }

        return $reply;
    }

    /**
     * Looks whether a single endpoint evicts, where a look is due, for a script that keeps something there.
     *
     * @param Eviction::OF_* $look
     *
     * @throws Failure it does
     */
    final public function look(string $look): void
    {
        if ($this->ready() === $this->looked && (int) \hrtime(true) - $this->lookedAt < Eviction::PAUSE) {
            return;
        }
        $refusal = Eviction::refusal($look, $this->info('memory'));
        if ($refusal !== null) {
            throw $this->refusal($refusal);
        }
        $this->looked = $this->number;
        $this->lookedAt = (int) \hrtime(true);
    }

    /**
     * Runs a script, and sends it where the server does not know it.
     *
     * @param non-empty-list<string> $keys
     * @param list<string>           $arguments
     * @param ?string                $hash      sha1() of the script, for one that most web requests run; if it is wrong, each call sends the script
     *
     * @throws Failure
     */
    final public function script(string $script, array $keys, #[\SensitiveParameter] array $arguments, ?string $hash = null): mixed
    {
        $rest = [(string) \count($keys), ...$keys, ...$arguments];

        return $this->call([['EVALSHA', $hash ?? \sha1($script), ...$rest]])[0] ?? $this->call([['EVAL', $script, ...$rest]])[0];
    }

    /** Whether the call that begin() began has taken all of its time. */
    final public function isOver(): bool
    {
        return \hrtime(true) >= $this->end;
    }

    /** Of the connection that is open, or was last. */
    final public function number(): int
    {
        return $this->number;
    }

    /**
     * Does what ready() and run() do for one command, as long as the connection is the one with this number.
     *
     * @param non-empty-list<string> $command
     * @param bool                   $begins  whether a call begins by it; false: it belongs to the one that begin() began
     *
     * @return mixed the reply, null for a script that the server does not know; false: nothing was sent, call ready() first
     *
     * @throws Failure
     */
    final public function ask(array $command, int $number, bool $begins = true): mixed
    {
        $now = (int) \hrtime(true);
        if ($this->number !== $number || !$this->open || $this->busy || $now - $this->used >= self::IDLE || ($this->forks && $this->process !== Fork::pid()) || ($this->ends && $this->children !== $this->children())) {
            return false;
        }
        $this->busy = true;
        Quiet::begin();
        try {
            if ($begins) {
                $this->until = $this->end = $now + $this->timeout;
            } else {
                $this->start();
            }
            $reply = $this->exchangeOne($command);
            if (\hrtime(true) > $this->until + $this->timeout) {
                throw $this->late();
            }
        } catch (\Throwable $e) {
            $this->close();
            $e instanceof ErrorReply || $this->primary?->doubt();
            throw $this->isFailure($e) ? $this->translate('no answer', $e) : $e;
        } finally {
            Quiet::end();
        }
        $this->used = $now;
        $this->busy = false;

        return $reply;
    }

    /** Disconnects; the next ready() connects anew. Drops a parent's connection without sending anything. */
    final public function close(): void
    {
        if (!$this->open) {
            return;
        }
        $ours = $this->isOpen();
        $this->open = false;
        $handle = $this->release();
        if (!$ours) {
            self::$parents[] = $handle;
        } elseif ($handle !== null) {
            Quiet::begin();
            try {
                $this->shut($handle);
            } catch (\Throwable $e) {
                if (!$this->isFailure($e)) {
                    throw $e;
                }
            } finally {
                Quiet::end();
            }
        }
    }

    /**
     * Closes this connection when the request ends if that happens in the middle of a command (out of time or memory): PHP must
     * not keep it, nor the server block for it any longer.
     */
    final protected function closeIfCutOff(): void
    {
        // It lives until then: whatever else the request had may be gone.
        \register_shutdown_function(function (): void {
            $this->busy && $this->close();
        });
    }

    /**
     * The failure of a call whose replies have come long after its end, so that the server counts as one that does not answer:
     * the next calls leave it alone for a while. Not at once after the end, for a busy machine may have held up this process
     * and not the answer.
     */
    private function late(): Failure
    {
        return $this->failure('no answer within ' . $this->endpoint->timeout . ' s');
    }

    final public function failure(string $what, ?\Throwable $cause = null): Failure
    {
        $told = $cause === null ? '' : $cause->getMessage();
        $masked = $this->endpoint->withoutPassword($told);
        if ($told !== $masked) {
            // The message contains the cause's.
            $what .= ' (' . $masked . ')';
            $cause = null;
        }

        return Failure::because($this->name(), $what, $cause);
    }

    /** The failure for an error reply, with advice. */
    final public function refusal(string $error): Failure
    {
        $kind = \strstr($error . ' ', ' ', true);
        if ($this->primary !== null && \in_array($kind, ['MOVED', 'READONLY', 'LOADING', 'MASTERDOWN', 'NOREPLICAS', 'CLUSTERDOWN'], true)) {
            $this->primary->doubt();
            if ($kind === 'MOVED' && \preg_match('/^MOVED \d+ (\S*):(\d{1,5})/', $error, $found) === 1) {
                $this->primary->moved($found[1] === '' ? $this->endpoint->host : $found[1], (int) $found[2]);
            }

            return Moved::because($this->name(), 'the server refused: ' . $error);
        }
        if ($kind === 'ERR' && \str_contains($error, 'unauthenticated')) {
            // Before AUTH a server takes only a few arguments a command (networking.c, processMultibulkBuffer).
            $kind = 'NOAUTH';
        }
        if (\str_contains($error, 'unknown command')) {
            // The server repeats the arguments: of EVAL that is a whole script.
            $error = \explode(', with args', $error)[0];
            $kind = \str_contains($error, 'SENTINEL') ? 'sentinel' : 'unknown';
        }
        if ($this->endpoint->db !== 0) {
            $kind = \str_contains($error, 'DB index is out of range') ? 'databases' : (\preg_match('/\bSELECT\b/', $error) === 1 ? 'database' : $kind);
        }
        if (\str_contains($error, 'The user executing the script can\'t') || \str_contains($error, 'ACL failure in script')) {
            // Redis 7 says ERR, not NOPERM, of what a script may not do.
            $kind = 'NOPERM';
        }
        $advice = match ($kind) {
            'NOAUTH', 'WRONGPASS' => '; give user and password in the DSN',
            'unknown' => '; remove its rename-command from the server\'s configuration',
            'database' => '; it has one database only, 0, as a cluster and what stands before one have: leave the number out of the DSN',
            'databases' => '; it has fewer databases, and as a node of a cluster usually one: give a lower number in the DSN, or leave it out',
            'sentinel' => '; this is no sentinel, name the port where one listens (usually 26379)',
            'NOPERM' => '; the ACL user lacks a right: larder doctor prints the ACL SETUSER line with all that are needed',
            'READONLY' => '; this is a replica, name the primary instead',
            'MISCONF' => '; the server cannot save to its disk',
            'ASK', 'TRYAGAIN' => '; the slot is just being moved',
            'MOVED', 'CLUSTERDOWN', 'CROSSSLOT' => '; this is a node of a cluster, write redis+cluster://, or redis+single:// for an endpoint that hides its nodes',
            default => '',
        };

        return ErrorReply::because($this->name(), 'the server refused: ' . $this->endpoint->withoutPassword($error) . $advice);
    }

    private function name(): string
    {
        return $this->endpoint->title();
    }

    /** The failure for a library's exception: some error replies come as exceptions, with the server's text. */
    private function translate(string $what, \Throwable $e): Failure
    {
        return \preg_match('/^[A-Z]{2,} /', $e->getMessage()) === 1
            ? $this->refusal($e->getMessage())
            : $this->failure($what, $e);
    }

    private function connect(): void
    {
        if ($this->primary === null) {
            $this->connectTo();

            return;
        }
        $this->start();
        $end = $this->until;
        for ($isSecond = false; ; $isSecond = true) {
            $this->endpoint = $this->primary->find($this->endpoint, $this->left(), self::askAt(...));
            try {
                $this->connectTo();

                return;
            } catch (Failure $failure) {
                // Where a process has died the answer comes at once, and another one may have taken its place.
                $this->primary->doubt();
                if ($isSecond || \hrtime(true) >= $end) {
                    throw $failure;
                }
            }
        }
    }

    /**
     * @param non-empty-list<non-empty-list<string>> $commands
     *
     * @return list<mixed>
     *
     * @throws Failure
     */
    private static function askAt(Endpoint $endpoint, array $commands): array
    {
        $connection = new static($endpoint);
        $connection->begin();
        // It has its share of the caller's time, and only the caller's call is given more.
        $connection->prolonged = $connection->end;
        try {
            return $connection->call($commands);
        } finally {
            $connection->close();
        }
    }

    private function connectTo(): void
    {
        $this->open = $this->busy = true;
        $this->process = Fork::pid();
        Quiet::begin();
        try {
            $this->start();
            $greeting = $this->open() ? [] : $this->endpoint->greeting();
            if ($this->endpoint->persists) {
                $greeting[] = ['INFO', 'persistence'];
            }
            if ($greeting !== []) {
                // Nothing limits the look-up of a name, so the call may be over its time.
                $this->start();
                $replies = $this->exchange($greeting, 0);
                if ($this->endpoint->persists && (self::fields(\end($replies))['aof_enabled'] ?? '') !== '1') {
                    throw $this->failure('the server loses what it has acknowledged when it restarts, and persist=required was asked for; set appendonly yes there, or leave the option out');
                }
            }
        } catch (\Throwable $e) {
            $this->close();
            $what = 'no connection' . ($this->endpoint->tls ? '; is its certificate valid for ' . $this->endpoint->security()['peer_name'] . '?'
                . ($this->endpoint->cafile === '' || Quiet::call(fn(): bool => \is_file($this->endpoint->cafile)) ? '' : ' There is no ' . $this->endpoint->cafile . '.') : '');
            throw $this->isFailure($e) ? $this->translate($what, $e) : $e;
        } finally {
            Quiet::end();
        }
        ++$this->number;
        $this->children = $this->children();
        $this->used = (int) \hrtime(true);
        $this->busy = false;
    }

    /** Grows with each child that was waited for, for each has had some of its memory mapped (getrusage(2)). */
    private function children(): int
    {
        /** @var array<string, int> $usage */
        $usage = $this->ends ? \getrusage(1) : ['ru_minflt' => 0];

        return $usage['ru_minflt'];
    }

    /** False: the server has closed the connection meanwhile. A server that does not answer in time is a failure. */
    private function isAlive(): bool
    {
        $start = \hrtime(true);
        try {
            $this->run([['PING']]);
            $this->children = $this->children();

            return true;
        } catch (Failure $e) {
            if (\hrtime(true) - $start > $this->endpoint->timeout * 5e8) {
                throw $e;
            }

            return false;
        }
    }
}
