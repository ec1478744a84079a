<?php

declare(strict_types=1);

namespace Larder\Session;

use Larder\Config\InvalidConfiguration;
use Larder\Lock\Locks;
use Larder\System\Fork;
use Larder\System\WrongUser;

/**
 * PHP's sessions in a store that does not forget. Give it to session_set_save_handler($handler, true).
 *
 * One request at a time has a session: the next one waits in session_start(), until the first has called session_write_close()
 * or ends. If that takes too long, or the store cannot be reached, it throws SessionFailure, so that no request goes on with a
 * session that it does not have.
 *
 * A lock ends with its session's request, or by itself 30 seconds after the request's max_execution_time (after 60 seconds where
 * that is 0); over SQLite also at once with its process. A request that takes longer may still write its session as long as
 * no other request has taken or written it. Otherwise its write throws, and the newer session stands.
 *
 * What is stored under an id's SHA-256 does not tell the id. The data is PHP's (session.serialize_handler), and no code here looks
 * into it.
 */
final class SessionHandler implements \SessionHandlerInterface, \SessionUpdateTimestampHandlerInterface, \SessionIdInterface
{
    /** Seconds by which a lock outlives the time that its request may take. */
    private const SPARE = 30;

    /** Those of PHP's ids (ext/session/session.c, PS_MAX_SID_LENGTH and php_session_valid_key). */
    private const ID = '/^[A-Za-z0-9,-]{1,256}$/D';

    private ?Hold $hold = null;

    /** Of all locks that this request takes, so that it has its own anew where a call has failed after it had taken one. */
    private string $owner = '';

    /** Which has made that: a forked child takes its own. */
    private int $process = 0;

    /** @var array<string, true> keys of sessions whose locks calls that have failed may have left: what became of those is not known */
    private array $left = [];

    /** What validateId() leaves for read() to throw. */
    private ?SessionFailure $failure = null;

    private function __construct(private readonly Engine $engine, private readonly float $wait, private readonly ?float $ttl) {}

    /**
     * @param string|array<string, mixed> $source a DSN (sqlite:///directory, redis://…, redis+sentinel://…, redis+cluster://…, redis+single://…,
     *                                            predis://…), or an array with "dsn" and options: `ttl` (seconds that a session
     *                                            lives after its last use; session.gc_maxlifetime), `wait` (seconds that a request
     *                                            waits for another one with the same session; 30), `lock` (false: sessions are not
     *                                            locked, and the last write wins; true), `timeout` (seconds that a call waits for
     *                                            other processes or for the server; 5), `replicas` (Redis: so many must have a
     *                                            session and its lock; 0), `credentials` (of redis://: a closure, see docs/several-servers.md)
     *
     * @throws InvalidConfiguration
     * @throws WrongUser      the directory belongs to another user
     * @throws SessionFailure the directory cannot be had now
     */
    public static function over(#[\SensitiveParameter] string|array $source): self
    {
        return new self(...Engines::make($source));
    }

    public function open(string $path, string $name): bool
    {
        return true;
    }

    /** @throws SessionFailure */
    public function close(): bool
    {
        $hold = $this->hold();
        $this->hold = $this->failure = null;
        if ($hold !== null && !$hold->isWritten) {
            $this->left[$hold->key] = true;
            $this->engine->release($hold->key, $hold->owner);
            unset($this->left[$hold->key]);
        }

        return true;
    }

    /**
     * Takes the session, and waits for it if another request has it.
     *
     * @return string '': it is not stored, or has expired
     *
     * @throws SessionFailure also if the time to wait is over, or PHP gives out no such id
     */
    public function read(#[\SensitiveParameter] string $id): string
    {
        $key = self::key($id);
        $hold = $this->hold();
        if ($hold?->key === $key && !$hold->isWritten) {
            return $hold->data();
        }
        $failure = $this->failure;
        $this->close();
        if ($failure !== null) {
            throw $failure;
        }
        $this->hold = $this->take($key, false);

        return $this->hold->data();
    }

    /**
     * Writes the session and gives it to the next request.
     *
     * @throws SessionChanged another request has it, or has changed or destroyed it since this one read it: nothing is written
     * @throws SessionFailure
     */
    public function write(#[\SensitiveParameter] string $id, #[\SensitiveParameter] string $data): bool
    {
        $key = self::key($id);
        if ($this->isInherited($key)) {
            throw new SessionFailure('This session is the parent process\'s, which goes on with it. Call session_write_close() before a fork, or session_abort() in the child.');
        }
        $hold = $this->hold?->key === $key ? $this->hold : $this->take($key, false);
        try {
            $version = self::unique();
            $isWritten = $this->engine->write($key, $hold->owner, $hold->version, $version, $data, $this->ttl());
        } catch (SessionFailure $failure) {
            $this->abandon($hold);
            throw $failure;
        }
        if (!$isWritten) {
            $this->abandon(null);
            throw new SessionChanged('Another request has taken, changed or destroyed this session since this one read it. Nothing is written. A request that takes longer than its max_execution_time should call session_write_close() before.');
        }
        $hold->version = $version;
        $hold->keep('');
        $hold->isWritten = true;

        return true;
    }

    /** @throws SessionFailure */
    public function destroy(#[\SensitiveParameter] string $id): bool
    {
        $key = self::key($id);
        $this->hold()?->key === $key && $this->hold = null;
        $this->left[$key] = true;
        $this->engine->destroy($key, $this->owner());
        unset($this->left[$key]);

        return true;
    }

    /**
     * Removes sessions that have expired. Over Redis the server does so by itself.
     *
     * @param int $max_lifetime is not looked at: each session has an end of its own
     *
     * @throws SessionFailure
     */
    public function gc(int $max_lifetime): int
    {
        return $this->engine->sweep();
    }

    /**
     * Whether this session is stored, for session.use_strict_mode. PHP asks before it reads, so this takes the session as read()
     * does: it cannot be destroyed in between.
     *
     * True also if the session cannot be had: PHP would answer an exception here with a new id, and log its user out. The
     * next read() throws it (php-src, ext/session/session.c, php_session_initialize).
     */
    public function validateId(#[\SensitiveParameter] string $id): bool
    {
        if (\preg_match(self::ID, $id) !== 1) {
            return false;
        }
        $key = self::key($id);
        $hold = $this->hold();
        try {
            if ($hold !== null) {
                // PHP asks about another one where it looks for an id that is free.
                return $hold->key === $key ? $hold->version !== '' : $this->engine->isStored($key);
            }
            $hold = $this->take($key, true);
            $this->hold = $hold->version === '' ? null : $hold;

            return $this->hold !== null;
        } catch (SessionFailure $failure) {
            $this->failure = $failure;

            return true;
        }
    }

    /**
     * Begins an unchanged session's life anew, and gives it to the next request.
     *
     * @throws SessionFailure
     */
    public function updateTimestamp(#[\SensitiveParameter] string $id, #[\SensitiveParameter] string $data): bool
    {
        $key = self::key($id);
        if ($this->isInherited($key)) {
            return true;
        }
        $hold = $this->hold?->key === $key ? $this->hold : null;
        if ($hold?->version === '') {
            // A new one in which nothing was set: it gets an end, so that its id is valid with the next request.
            return $this->write($id, $data);
        }
        try {
            $this->engine->renew($key, $this->owner(), $this->ttl());
        } catch (SessionFailure $failure) {
            $hold === null || $this->abandon($hold);
            throw $failure;
        }
        $hold === null || $hold->isWritten = true;

        return true;
    }

    public function create_sid(): string
    {
        return (string) \session_create_id();
    }

    /** @throws SessionFailure */
    private function take(string $key, bool $isKnown): Hold
    {
        $owner = $this->owner();
        $limit = (int) \ini_get('max_execution_time');
        $life = (($limit > 0 ? $limit : self::SPARE) + self::SPARE) * 1000;
        $ttl = \min($life, $this->ttl());
        $this->left[$key] = true;
        $found = Locks::retry(fn(): ?array => $this->engine->read($key, $owner, $life, $ttl, $isKnown), $this->wait);
        unset($this->left[$key]);
        $this->giveBack();

        return $found !== null ? new Hold($key, $owner, ...$found)
            : throw new SessionFailure("Another request has had this session for $this->wait seconds. Let requests call session_write_close() as soon as they have what they need, or raise the option \"wait\".");
    }

    /** Who this process is, for the engine. */
    private function owner(): string
    {
        if ($this->process !== Fork::pid()) {
            $this->process = Fork::pid();
            $this->owner = self::unique();
            $this->left = [];
        }

        return $this->owner;
    }

    /** Gives up a session after a failure: PHP does not call close() then. */
    private function abandon(?Hold $hold): void
    {
        $this->hold = null;
        $hold === null || $this->left[$hold->key] = true;
        $this->giveBack();
    }

    /** Gives back what calls that have failed may have left. */
    private function giveBack(): void
    {
        $owner = $this->owner();
        foreach (\array_reverse(\array_keys($this->left)) as $key) {
            try {
                $this->engine->release($key, $owner);
                unset($this->left[$key]);
            } catch (SessionFailure) {
                // With the next call that takes a session, or by itself.
                return;
            }
        }
    }

    private static function unique(): string
    {
        return \bin2hex(\random_bytes(16));
    }

    /** What this process holds, and not the one that it was forked from. */
    private function hold(): ?Hold
    {
        return $this->hold?->process === Fork::pid() ? $this->hold : null;
    }

    private function isInherited(string $key): bool
    {
        return $this->hold?->key === $key && $this->hold() === null;
    }

    /**
     * Milliseconds.
     *
     * @throws SessionFailure
     */
    private function ttl(): int
    {
        $seconds = $this->ttl ?? (float) \ini_get('session.gc_maxlifetime');
        if ($seconds <= 0) {
            throw new SessionFailure('session.gc_maxlifetime is ' . \ini_get('session.gc_maxlifetime') . ', so no session lives until the next request. Set it to the seconds that a session lives after its last use, or give the handler the option "ttl".');
        }

        return \max(1, (int) ($seconds * 1000));
    }

    /** @throws SessionFailure */
    private static function key(#[\SensitiveParameter] string $id): string
    {
        return \preg_match(self::ID, $id) === 1 ? \hash('sha256', $id)
            : throw new SessionFailure('A session\'s id has 1 to 256 letters, digits, "-" and ",". Set session.use_strict_mode=1, so that PHP replaces what a visitor made up.');
    }
}
