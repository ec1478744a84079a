<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

use Larder\System\Failure;
use Larder\System\Process;
use Larder\System\Quiet;

/**
 * One connection to a server, made when it is first needed and never shared with another process.
 *
 * A connection never reconnects in the midst of something: behind the same address there may be a restarted server
 * by then, with data from before. ready() is the only place where a new one is made, and it says so by a new number.
 *
 * After any failure the connection is closed, so that a late answer is never taken for the next one's. One that is in the
 * middle of a command (a signal's handler threw, or calls again) is never used by anybody else: ready() makes another.
 *
 * A forked child leaves its parent's connection alone. Only over TLS PHP itself says good-bye on it when the child
 * ends (ext/openssl/xp_ssl.c, php_openssl_sockop_close): the parent's next call then fails, and the one after it
 * connects anew.
 */
abstract class Connection
{
    /**
     * Nanoseconds without use after which a connection is tried before something is entrusted to it: servers close
     * idle ones (redis.conf, "timeout"), and a write on such a one would count as lost.
     */
    private const IDLE = 1_000_000_000;

    /**
     * @var list<?object> what was a parent's: kept, so that no destructor says good-bye in the parent's name
     * @phpstan-ignore property.onlyWritten
     */
    private static array $parents = [];

    private bool $open = false;
    /** Between a command and the last of its replies. */
    private bool $busy = false;
    private int $number = 0;
    private int $process = 0;
    private int $used = 0;

    // Both libraries let PHP's own warnings out (a name that does not resolve, a broken pipe): each call of theirs is kept
    // quiet. What the warnings mean arrives as an exception or a reply.
    final public function __construct(protected readonly Endpoint $endpoint) {}

    /** Connects and says nothing yet. Throws what the library throws. */
    abstract protected function open(): void;

    /**
     * Sends all commands at once and reads all replies.
     *
     * @param non-empty-list<non-empty-list<string>> $commands
     * @param int                                    $attempts the first so many may be refused
     *
     * @return list<mixed> a reply each; null for a script that the server does not know (NOSCRIPT), and for what may be
     *                     refused and was
     *
     * @throws Failure for every other error reply
     * @throws Refused
     */
    abstract protected function exchange(#[\SensitiveParameter] array $commands, int $attempts): array;

    /** Forgets the library's object and gives it back. */
    abstract protected function release(): ?object;

    /** Closes what release() gave. */
    abstract protected function shut(object $handle): void;

    /** Whether this is how the library says that something went wrong between it and the server. */
    abstract protected function isFailure(\Throwable $e): bool;

    /**
     * Sees to it that there is a connection of this process.
     *
     * @return int its number: another one than last time means that it is a new connection
     *
     * @throws Failure
     */
    final public function ready(): int
    {
        if ($this->busy && $this->isOpen()) {
            // Whoever is still waiting for replies holds what this lets go of, and reads them there.
            $this->open = false;
            $this->release();
        } elseif ($this->isOpen()) {
            if (\hrtime(true) - $this->used < self::IDLE || $this->isAlive()) {
                return $this->number;
            }
        } elseif ($this->open) {
            self::$parents[] = $this->release();
            $this->open = false;
        }
        $this->connect();

        return $this->number;
    }

    /** Whether there is a connection of this process, as far as is known without asking the server. */
    final public function isOpen(): bool
    {
        return $this->open && $this->process === Process::id();
    }

    /**
     * Commands on the connection of the last ready(), in one round trip.
     *
     * @param non-empty-list<non-empty-list<string>> $commands
     * @param int                                    $attempts the first so many may be refused, and what comes after them
     *                                                         finds out
     *
     * @return list<mixed> a reply each; null for a script that the server does not know (NOSCRIPT), and for what may be
     *                     refused and was
     *
     * @throws Failure
     * @throws Refused      one of the first was refused for want of room; the others may have been done
     */
    final public function run(array $commands, int $attempts = 0): array
    {
        if (!$this->isOpen()) {
            throw $this->failure('the connection was lost');
        }
        $this->busy = true;
        Quiet::begin();
        try {
            // Within, since whatever comes after it may be a handler that throws.
            $replies = $this->exchange($commands, $attempts);
        } catch (\Throwable $e) {
            $this->close();
            throw $this->isFailure($e) ? $this->translate('no answer', $e) : $e;
        } finally {
            Quiet::end();
        }
        $this->used = (int) \hrtime(true);
        $this->busy = false;

        return $replies;
    }

    /** Leaves the server; the next ready() connects anew. A parent's connection is dropped without a word. */
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

    final public function failure(string $what, ?\Throwable $cause = null): Failure
    {
        $told = $cause === null ? '' : $cause->getMessage();
        if ($told !== $this->endpoint->withoutPassword($told)) {
            // A cause is shown with all that it says.
            $what .= ' (' . $told . ')';
            $cause = null;
        }

        return Failure::because('Redis at ' . $this->endpoint->name(), $this->endpoint->withoutPassword($what), $cause);
    }

    /** An error reply, with what to do about it. */
    final public function refusal(string $error): Failure
    {
        $kind = \strstr($error . ' ', ' ', true);
        if ($kind === 'ERR' && \str_contains($error, 'unauthenticated')) {
            // Before AUTH a server takes only a few arguments a command (networking.c, processMultibulkBuffer).
            $kind = 'NOAUTH';
        }
        $advice = match ($kind) {
            'NOAUTH', 'WRONGPASS' => '; give user and password in the DSN',
            'NOPERM' => '; the ACL user needs ~<prefix>:* and +@read +@write +@scripting +@connection +info',
            'READONLY' => '; this is a replica, name the primary instead',
            'MISCONF' => '; the server cannot save to its disk',
            'MOVED', 'ASK', 'CLUSTERDOWN', 'CROSSSLOT' => '; Redis Cluster is not supported',
            default => '',
        };

        return $this->failure('the server refused: ' . $error . $advice);
    }

    /** A library's exception: some error replies come as one, with the server's words. */
    private function translate(string $what, \Throwable $e): Failure
    {
        return \preg_match('/^[A-Z]{2,} /', $e->getMessage()) === 1
            ? $this->refusal($e->getMessage())
            : $this->failure($what, $e);
    }

    private function connect(): void
    {
        $this->open = $this->busy = true;
        $this->process = Process::id();
        Quiet::begin();
        try {
            $this->open();
            $greeting = $this->endpoint->greeting();
            if ($greeting !== []) {
                $this->exchange($greeting, 0);
            }
        } catch (\Throwable $e) {
            $this->close();
            $what = 'no connection' . ($this->endpoint->tls ? '; is its certificate valid for this name?' : '');
            throw $this->isFailure($e) ? $this->translate($what, $e) : $e;
        } finally {
            Quiet::end();
        }
        ++$this->number;
        $this->used = (int) \hrtime(true);
        $this->busy = false;
    }

    /** False if the server has hung up meanwhile; a server that does not answer in time is a failure. */
    private function isAlive(): bool
    {
        $start = \hrtime(true);
        try {
            $this->run([['PING']]);

            return true;
        } catch (Failure $e) {
            if (\hrtime(true) - $start > $this->endpoint->timeout * 5e8) {
                throw $e;
            }

            return false;
        }
    }
}
