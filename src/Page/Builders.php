<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Cache;
use Larder\System\FileLock;
use Larder\System\ProcessId;
use Larder\System\Quiet;

/**
 * Who builds a page, and who waits for it on this server. In `page-notes` lie
 *
 *     b<key>  its builder
 *     r       this server could not be asked to renew a page
 *     w       by host name: how many may wait there
 */
final class Builders
{
    /** Seconds after which another one may build: the application may be longer, but no request waits longer for it. */
    public const BUILDING = 60;

    /** Places for waiting where the number of processes is not known. */
    private const PLACES = 4;

    /** Files of the right to build where the cache cannot note one: pages of one file wait for each other. */
    private const LOCKS = 64;
    private const UNSHARED = '-build-unshared';

    public function __construct(private readonly Cache $notes) {}

    /**
     * Takes the right to build the page. It ends with release(), after BUILDING seconds, or, on this server, with the process.
     *
     * @param string $token proves to the request that this process sends to its own server that it may build
     *
     * @return ?bool false: another process is building it; null: none is, and the cache cannot note that this one does
     */
    public function take(string $key, string $token = ''): ?bool
    {
        $mine = ProcessId::current() . ' ' . $token;
        if ($this->notes->add("b$key", $mine, self::BUILDING)) {
            return true;
        }
        $there = $this->builder($key);
        $isTaken = match (true) {
            $there === '' => $this->notes->add("b$key", $mine, self::BUILDING),
            ProcessId::isKnownDead(\explode(' ', $there)[0]) => $this->notes->update("b$key", static fn(mixed $now): ?string => $now === $there ? $mine : null) === $mine,
            default => false,
        };

        return $isTaken || $this->isBuilt($key) ? $isTaken : null;
    }

    /**
     * Whether this process may build a page where take() gives null: as the only one of this server, which the kernel sees to.
     *
     * @param ?resource $place set to what the caller keeps as long as it builds; null: nothing
     */
    public function mayBuildHere(string $key, mixed &$place): bool
    {
        $local = $this->notes->internals()->local();
        if ($local === null || $this->isUnshared($local)) {
            return true;
        }
        $file = FileLock::file("$local-build-" . \hexdec(\hash('xxh32', $key)) % self::LOCKS);
        if ($file !== null && !\flock($file, \LOCK_EX | \LOCK_NB)) {
            return false;
        }
        $place = $file;

        return true;
    }

    /** Notes that a request has waited for the cache in vain: for a while none does. */
    public function noteUnshared(): void
    {
        $local = $this->notes->internals()->local();
        $local === null || Quiet::call(static fn(): bool => \touch($local . self::UNSHARED));
    }

    private function isUnshared(string $local): bool
    {
        \clearstatcache(true, $local . self::UNSHARED);

        return \abs(\time() - (int) Quiet::call(static fn(): int|false => \is_file($local . self::UNSHARED) ? \filemtime($local . self::UNSHARED) : 0)) < PageNotes::UNSTORED;
    }

    /** Whether a living process is building the page. */
    public function isBuilt(string $key): bool
    {
        $there = $this->builder($key);

        return $there !== '' && !ProcessId::isKnownDead(\explode(' ', $there)[0]);
    }

    /** Whether this process has the right to build that it took with the token. */
    public function holds(string $key, string $token): bool
    {
        return $this->builder($key) === ProcessId::current() . ' ' . $token;
    }

    /** Hands the right to build on to this process, if the token is the builder's. */
    public function takeOver(string $key, string $token): bool
    {
        $there = $this->builder($key);
        if ($token === '' || (\explode(' ', $there)[1] ?? '') !== $token) {
            return false;
        }
        $mine = ProcessId::current() . ' ';

        return $this->notes->update("b$key", static fn(mixed $now): ?string => $now === $there ? $mine : null) === $mine;
    }

    public function release(string $key): void
    {
        $there = $this->builder($key);
        // Nothing is there too where the store cannot be read: it keeps the deletion until it can.
        if ($there === '' || \str_starts_with($there, ProcessId::current() . ' ')) {
            $this->notes->delete("b$key");
        }
    }

    /** Whether this server can be asked to renew a page; false for a while after it could not. */
    public function canRenew(): bool
    {
        return $this->notes->get('r') === null;
    }

    public function cannotRenew(): void
    {
        $this->notes->set('r', true, PageNotes::UNSTORED);
    }

    /**
     * A place among those who may wait at the same time on this server, as long as the caller keeps it.
     *
     * @param ?int $places null: a quarter of php-fpm's workers of this user, where notePool() has counted them, else 4
     *
     * @return ?resource null: all are taken
     */
    public function place(?int $places): mixed
    {
        $local = $this->notes->internals()->local();
        $noted = $places === null ? $this->notes->get('w' . \gethostname()) : null;
        $places ??= \is_int($noted) ? $noted : self::PLACES;
        for ($place = 0; $local !== null && $place < $places; $place++) {
            $file = FileLock::file("$local-wait-$place");
            if ($file !== null && \flock($file, \LOCK_EX | \LOCK_NB)) {
                return $file;
            }
        }

        return null;
    }

    /**
     * Notes how many may wait here. A builder counts php-fpm's workers, for it takes its time anyway. fpm_get_status() knows
     * them too, but kills the worker that asks while another one starts (php-src issue 18595).
     */
    public function notePool(): void
    {
        $workers = \PHP_SAPI === 'fpm-fcgi' ? ProcessId::siblings() : null;
        $this->notes->set('w' . \gethostname(), \max(1, \intdiv($workers ?? 4 * self::PLACES, 4)), PageNotes::KEPT);
    }

    private function builder(string $key): string
    {
        $this->notes->forget("b$key");
        $there = $this->notes->get("b$key");

        return \is_string($there) ? $there : '';
    }
}
