<?php

declare(strict_types=1);

namespace Larder;

use Larder\Codec\Codec;
use Larder\Codec\Entry;
use Larder\Codec\NotStorable;
use Larder\Codec\Undecodable;
use Larder\Config\Assembly;
use Larder\Config\InvalidConfiguration;
use Larder\Near\ApcuNear;
use Larder\Near\SegmentNear;
use Larder\Request\AnothersTransaction;
use Larder\Request\HitPath;
use Larder\Request\InvalidKey;
use Larder\Request\PlainHitPath;
use Larder\Request\Report;
use Larder\Request\Request;
use Larder\Request\RequestTier;
use Larder\Request\Space;
use Larder\Request\Transaction;
use Larder\Request\Verdict;
use Larder\Request\View;
use Larder\System\PurgeCounter;
use Larder\System\Signals;
use Larder\System\WrongUser;

// Before this class, which needs two of them: on the command line, where OPcache keeps nothing, loading each is cheaper.
\PHP_SAPI === 'cli' || \is_file(__DIR__ . '/../classes/cache.php') && require __DIR__ . '/../classes/cache.php';

/**
 * The public interface: one cache over up to four tiers.
 *
 * `false` always means: not done. A failed tier never makes a method here throw: a get misses, a write returns false,
 * and one line in the log says why. Four mistakes do throw: an invalid key (Request\InvalidKey), a value that cannot be
 * serialized (Codec\NotStorable), an invalid configuration (Config\InvalidConfiguration), and a call in the middle of
 * another fiber's transaction (Request\AnothersTransaction).
 *
 * A key is any non-empty string of up to 65,536 bytes. Times are in seconds; 0 means no expiry, a negative time has
 * already expired.
 *
 * This file is longer than others because it holds the whole public interface, its documentation and the way of a get. That
 * cannot move to a class of its own: a call costs as much again as the array look-up of a hit. get() itself is the trait's;
 * the extension has one in C.
 */
final class Cache implements HitPath
{
    use PlainHitPath;

    /** Nanoseconds. Gets that follow one another so closely on average are a loop that does nothing else: see RUN. */
    private const CLOSE = 500;

    private readonly RequestTier $copies;
    /** What $free was when it was last set. */
    private int $granted = 0;
    private int $checked = 0;
    private int $lookups = 0;

    /** As $floorAt and $ceilingAt, in the form of APCu's copies, which lookup() reads directly: that saves a call. */
    private string $floor = '';
    private string $ceiling = '';

    /** The same for encoded copies; '': not known yet. */
    private string $encodedFloor = '';
    private string $encodedCeiling = '';
    private int $gets = 0;

    /** The view's $news when learn() was last called. */
    private int $news;

    private readonly View $view;

    private function __construct(private readonly Request $request, private readonly Space $space)
    {
        $this->view = $view = $request->view;
        $this->news = $view->news;
        $copies = $view->copies($space);
        if ($copies === null) {
            $copies = new RequestTier($request->codec, $view->history, $request->truth, $space->entries);
            $view->register($space, $copies);
        }
        $this->copies = $copies;
        $this->values = &$copies->values;
        $this->own = &$copies->own;
        $this->ends = &$copies->due;
        $this->passed = &$copies->passed;
        $this->due = &$view->due;
        $this->current = &$view->version;
    }

    /**
     * @param null|string|array<string, mixed> $source a DSN, an array of tiers and options, or null: LARDER_DSN from
     *                                                 the environment, else SQLite in a private directory of this user
     *
     * @throws InvalidConfiguration
     * @throws WrongUser
     */
    public static function open(#[\SensitiveParameter] string|array|null $source = null): self
    {
        $held = Signals::hold();
        [$request, $space] = Assembly::build($source);

        return new self($request, $space);
    }

    /**
     * Stores a value in every tier before it returns. If another request changed the key since this request first read
     * it, the table of conflicts decides (Request\ConflictTable). If the table drops both values, the key is invalidated
     * and set() returns true.
     *
     * @param int          $ttl  seconds; 0: no expiry; negative: already expired, so the key is deleted
     * @param list<string> $tags
     *
     * @throws NotStorable|InvalidKey
     */
    public function set(string $key, mixed $value, int $ttl = 0, array $tags = []): bool
    {
        $held = Signals::hold();
        $name = $key === '' || isset($key[InvalidKey::LONGEST]) ? $this->space->key($key) : $this->space->entries . $key;
        // Only what is serialized can run code of the application's.
        $pinned = !\is_scalar($value) && $this->view->history->pin($name);
        $entry = $this->entry($value, $ttl, $tags);
        if ($ttl < 0) {
            return $this->delete($key);
        }
        $writer = $this->request->writer();
        if ($this->request->transaction !== null && ($transaction = $this->openTransaction()) !== null) {
            $told = $transaction->change($name, $this->space, $entry);
            $this->copies->keepValue($key, $value, $entry);

            return $told;
        }

        $verdict = $writer->set($name, $this->space, $entry);
        $pinned && $this->view->history->unpin($name);

        return $this->done($key, $name, $value, $entry, $verdict);
    }

    /**
     * Stores the value if the key has none; atomic across processes and servers. Returns false also when the truth tier
     * is down.
     *
     * @param list<string> $tags
     *
     * @throws NotStorable|InvalidKey
     */
    public function add(string $key, mixed $value, int $ttl = 0, array $tags = []): bool
    {
        $held = Signals::hold();
        $entry = $this->entry($value, $ttl, $tags);

        return $this->atomic($key, $value, static fn(?Entry $there): ?Entry => $there === null && $ttl >= 0 ? $entry : null);
    }

    /**
     * Stores the value if the key already has one; atomic across processes and servers. Returns false also when the
     * truth tier is down.
     *
     * @param list<string> $tags
     *
     * @throws NotStorable|InvalidKey
     */
    public function replace(string $key, mixed $value, int $ttl = 0, array $tags = []): bool
    {
        $held = Signals::hold();
        $entry = $this->entry($value, $ttl, $tags);
        if ($ttl < 0) {
            return $this->has($key) && $this->delete($key);
        }

        return $this->atomic($key, $value, static fn(?Entry $there): ?Entry => $there === null ? null : $entry);
    }

    /**
     * Stores a value that was just computed after a miss: in the request tier and the near tier at once, in the truth
     * tier at commit() or at the end of the request. Returns false and stores nothing if the key was changed meanwhile: by
     * another request since this one first read it, or by this one since this fiber missed it.
     *
     * @param list<string> $tags
     *
     * @throws NotStorable|InvalidKey
     */
    public function fill(string $key, mixed $value, int $ttl = 0, array $tags = []): bool
    {
        // First: what comes in the middle of this call may change the key and read it, which begins another view of it.
        $now = $this->view->history->moment;
        $history = $this->view->history;
        $beginning = $history->beginning($name = $this->space->key($key), $now);
        $held = Signals::hold();
        $history->pin($name);
        $writer = $this->request->writer();
        $transaction = $this->openTransaction();
        if ($transaction !== null) {
            return $this->fillIn($transaction, $key, $value, $ttl, $tags, $beginning[2]);
        }
        $entry = $this->entry($value, $ttl, $tags);
        if ($ttl < 0) {
            return true;
        }
        $filled = $writer->fill($name, $this->space, $entry, $beginning);
        if ($filled || ($this->request->truth->down() && !$history->hasChanged($name, $this->space, $entry, $beginning[2]))) {
            // While the truth tier is down, the request can still use what it computed.
            $this->copies->keepValue($key, $value, $entry);
        } else {
            $this->copies->drop($key);
        }

        return $filled;
    }

    /**
     * Says that what fill() stores next under the key was computed after all that this request has changed itself: for a program
     * that calls fill() without get(), as WordPress's wp_cache_add() is called. What others changed counts as ever.
     *
     * @internal
     */
    public function computedNow(string $key): void
    {
        $this->view->history->beginHere($this->space->key($key));
    }

    /**
     * Returns the stored value, or computes it: one process computes for all processes that miss the key at the same time.
     *
     * @param \Closure(): mixed $compute if it throws, the exception passes on and the next caller computes
     * @param list<string>      $tags
     * @param int               $soft    seconds after which one caller renews the value while the others get the old one; 0: never
     *
     * @throws NotStorable|InvalidKey
     */
    public function remember(string $key, \Closure $compute, int $ttl = 0, array $tags = [], int $soft = 0): mixed
    {
        if (--$this->free < 0) {
            $this->check();
        }
        $value = $this->values[$key] ?? $this->lookup($key, $this->request, null);
        if ($value !== $this->request) {
            return $value;
        }
        $held = Signals::hold();
        $name = $this->space->key($key);
        if (isset($this->copies->entries[$key])) {
            $value = $this->copies->decode($key, $found);
            if ($found) {
                return $value;
            }
        }
        $remember = $this->request->remember();
        $transaction = $this->openTransaction();
        if ($transaction !== null) {
            // In a transaction each process computes for itself: it may see rows that the others do not.
            $value = $this->get($key, $this->request);
            if ($value === $this->request) {
                $moment = $this->view->history->watch();
                $value = Signals::letIn($compute);
                // Unless it has ended meanwhile: what it showed may never have been committed.
                if ($this->request->transaction === $transaction) {
                    $this->fillIn($transaction, $key, $value, $ttl, $tags, $moment);
                }
            }

            return $value;
        }
        $this->lookups++;
        $wrap = fn(mixed $value): Entry => $this->entry($value, $ttl, $tags, $soft);

        return $remember->value(
            $name,
            $key,
            $this->space,
            $this->copies,
            $compute,
            $wrap,
            $this->own[$key] ?? 0,
        );
    }

    public function has(string $key): bool
    {
        return $this->get($key, $this->request) !== $this->request;
    }

    /**
     * Removes the key from every tier, and refuses fills of it that other requests have computed but not stored yet.
     * Returns true also if the key had no value.
     *
     * @param mixed $there set to whether the truth tier had a value (one that a tag has invalidated counts)
     */
    public function delete(string $key, mixed &$there = null): bool
    {
        if (!$this->request->truth->appends() || $this->openTransaction() !== null) {
            return $this->remove([$key], $there);
        }
        $held = Signals::hold();
        // The store may take a delete now and apply it later. A caller that wants to know whether there was a value needs a
        // read before it, of the near tier if that can tell.
        $name = $this->space->key($key);
        $writer = $this->request->writer();
        $there = \func_num_args() < 2 || $this->copies->has($key)
            || ($this->view->near !== null && $this->lookup($key, $this->request, null) !== $this->request)
            || $writer->isThere($name, $this->space);
        $done = $writer->append($name, $this->space, null);
        // Not before it, for a destructor or signal handler may read the value anew until then.
        $this->copies->drop($key);

        return $done || $this->remove([$key]);
    }

    /** Empties this space and the groups in it, at once and in constant time. */
    public function flush(): bool
    {
        return $this->mark([$this->space->flush()]);
    }

    /**
     * Adds to an integer, atomically across processes and servers. A missing integer starts at $initial.
     *
     * @return int|false the new value; false if the value is not an integer, the sum does not fit into 64 bits, or the
     *                   truth tier is down: then nothing has changed
     */
    public function increment(string $key, int $by = 1, int $initial = 0, int $ttl = 0): int|false
    {
        return $this->count($key, $by, true, $initial, $ttl);
    }

    /** @return int|false see increment() */
    public function decrement(string $key, int $by = 1, int $initial = 0, int $ttl = 0): int|false
    {
        return $this->count($key, $by, false, $initial, $ttl);
    }

    /**
     * @param iterable<string|int> $keys
     *
     * @return array<array-key, mixed> found keys only
     */
    public function getMultiple(iterable $keys): array
    {
        $found = $names = [];
        if ($this->free < 1) {
            $this->check();
        }
        foreach ($keys as $key) {
            $this->free--;
            $key = (string) $key;
            $value = $this->values[$key] ?? $this->lookup($key, $this->request, false);
            if ($value !== $this->request) {
                $found[$key] = $value;
            } else {
                // Keep this key's place in the answer: the truth tier is asked for all missing keys at once.
                $found[$key] = $this->request;
                $names[$key] = $key === '' || isset($key[InvalidKey::LONGEST]) ? $this->space->key($key) : $this->space->entries . $key;
            }
        }
        if ($names === []) {
            return $found;
        }
        $held = Signals::hold();
        $changes = $this->view->changes;
        $values = $this->request->reader()->values($names, $this->space, $this->copies);
        foreach ($names as $key => $_) {
            if (\array_key_exists($key, $values)) {
                $found[$key] = $values[$key];
                $changes === $this->view->changes || $this->copies->drop((string) $key);
            } else {
                unset($found[$key]);
            }
        }

        return $found;
    }

    /** @param array<array-key, mixed> $values by key */
    public function setMultiple(array $values, int $ttl = 0): bool
    {
        $held = Signals::hold();
        if ($values === []) {
            return true;
        }
        $entries = $pinned = [];
        $history = $this->view->history;
        foreach ($values as $key => $_) {
            $name = $this->space->key((string) $key);
            if ($history->pin($name)) {
                $pinned[] = $name;
            }
        }
        foreach ($values as $key => $value) {
            $entries[$this->space->entries . $key] = $this->entry($value, $ttl, []);
        }
        if ($ttl < 0) {
            return $this->deleteMultiple(\array_keys($values));
        }
        $writer = $this->request->writer();
        $done = true;
        if ($this->openTransaction() !== null) {
            foreach ($values as $key => $value) {
                $done = $this->set((string) $key, $value, $ttl) && $done;
            }

            return $done;
        }
        $verdicts = $writer->setMany($entries, $this->space);
        foreach ($pinned as $name) {
            $history->unpin($name);
        }
        foreach ($values as $key => $value) {
            $name = $this->space->entries . $key;
            $done = $this->done((string) $key, $name, $value, $entries[$name], $verdicts[$name]) && $done;
        }

        return $done;
    }

    /** @param iterable<string|int> $keys */
    public function deleteMultiple(iterable $keys): bool
    {
        return $this->remove($keys);
    }

    /** Invalidates every entry of this space that carries one of the tags, at once and in constant time. */
    public function invalidateTags(string ...$tags): bool
    {
        $markers = $this->space->tags($tags);

        return $markers === [] || $this->mark($markers);
    }

    /** A key space of its own, with its own tags and flush. */
    public function group(string $name, bool $cacheOnly = false): self
    {
        if ($name === '') {
            throw InvalidKey::empty('group name');
        }
        if (\strlen($name) > InvalidKey::LONGEST) {
            throw InvalidKey::tooLong('group name', \strlen($name), InvalidKey::LONGEST);
        }

        return new self($this->request, $this->space->group($name, $cacheOnly));
    }

    /**
     * A group in a group, and so on, without a Cache for each one around it.
     *
     * @internal
     *
     * @param non-empty-list<string> $names outermost first; none is empty
     */
    public function within(array $names, bool $cacheOnly = false): self
    {
        return new self($this->request, $this->space->within($names, $cacheOnly));
    }

    /**
     * The same cache, seen by a request of its own: its view begins with its first read, and refresh(), commit() and
     * transactions of one object do not concern the other. What one of them changes, the other learns as from a stranger.
     */
    public function apart(): self
    {
        $held = Signals::hold();

        return new self($this->request->apart(), $this->space);
    }

    /**
     * Announces that this request is about to change what these keys are computed from. Until this request sets or
     * deletes them, or ends, nothing is stored under them and readers miss, so that they ask the database.
     */
    public function intend(string ...$keys): void
    {
        $held = Signals::hold();
        $intents = $this->request->intents();
        $transaction = $this->openTransaction();
        foreach ($keys as $key) {
            $this->copies->drop($key);
            $name = $this->space->key($key);
            if ($transaction !== null) {
                $transaction->intend($name, $this->space);
            } else {
                $intents->put($name, $this->space);
            }
        }
    }

    /**
     * Replaces a value by one computed from it; atomic across processes and servers. Expiry and tags stay.
     *
     * @param \Closure(mixed): mixed $change takes the old value and returns the new one, or null to keep the old one;
     *                                       called again if another process changed the value meanwhile
     *
     * @return mixed the new value; null if the key has no value, $change kept the old one, or the truth tier is down
     *
     * @throws NotStorable|InvalidKey
     */
    public function update(string $key, \Closure $change): mixed
    {
        return $this->change($key, static fn(?Entry $there, mixed $value): mixed => $there === null ? null : $change($value));
    }

    /**
     * Drops this request's copies of these keys; without keys, of this whole space and the groups in it. The next get
     * reads from the tiers below. Nothing changes for other requests, and writes are judged as before.
     */
    public function forget(string ...$keys): void
    {
        $this->openTransaction();
        if ($keys === []) {
            $this->view->forget($this->space);
        }
        foreach ($keys as $key) {
            $this->copies->drop($key);
            $this->view->history->gone($this->space->entries . $key);
        }
    }

    /**
     * Reads keys of several spaces in one round trip or one statement, before the application asks for them. The values
     * wait encoded; a get decodes them. If a near tier has the keys, nothing is read: it answers faster by itself.
     *
     * @param iterable<array{self, list<int|string>}> $wanted caches of one open(), each with keys
     *
     * @throws InvalidKey
     */
    public function prefetch(iterable $wanted): void
    {
        $lists = [];
        foreach ($wanted as [$cache, $keys]) {
            $lists[] = [$cache->space, $keys];
        }
        $held = Signals::hold();
        $reader = $this->request->reader();
        $this->openTransaction();
        $reader->prefetch($lists);
    }

    /**
     * Begins this request's view, which with the option lazy begins with the first read: from now on it counts what others
     * change.
     *
     * @internal
     */
    public function start(): void
    {
        $this->view->isBegun || $this->request->renew();
    }

    /**
     * Asks the journal now what other requests changed, and drops the copies of it. A long-running process does this by
     * itself once a second. Writes are judged as before.
     *
     * @return bool true if anything changed since the request began or since the last call: an application that keeps
     *              copies of its own must then drop them
     */
    public function learn(): bool
    {
        $this->request->renew();
        $news = $this->view->news !== $this->news;
        $this->news = $this->view->news;

        return $news;
    }

    /**
     * Begins a new request in a long-running process: the application promises that it holds nothing it read before.
     * Commits first. Inside a transaction, which does hold what it read before, this only does what learn() does.
     */
    public function refresh(): void
    {
        $held = Signals::hold();
        $this->request->refresh();
        $this->version = -1;
    }

    /**
     * Whether the truth tier has failed, and is left alone for a while.
     *
     * @internal
     *
     * @phpstan-impure
     */
    public function isDown(): bool
    {
        return $this->request->truth->down();
    }

    /**
     * Lets the next call try a failed truth tier again: it may wait for the time-out once more.
     *
     * @internal
     */
    public function retry(): void
    {
        $this->request->truth->retry();
    }

    /** As refresh(), for every cache that this process has open: what a worker does between two messages. */
    public static function refreshAll(): void
    {
        $held = Signals::hold();
        Request::refreshAll();
    }

    /**
     * Runs $work, which holds a database transaction from BEGIN to COMMIT. What it changes in the cache counts from
     * COMMIT on.
     *
     * Each key, tag and space that $work changes gets an intent. Until the end nobody stores anything under a changed key,
     * and only this request sees what was set inside. When $work returns, each set value is stored if no other request
     * changed its key since the transaction began; every other change is made once more. If $work throws, everything
     * that was set or filled inside is dropped and the exception passes on. If the process dies before the end, no old
     * value is served.
     *
     * It is the calling fiber's, so that calls of other fibers throw until it ends. A transaction inside another joins the
     * outermost one, on whichever group it is called; if it throws, what was changed inside it is dropped. Fills made inside stay in this request. Cache-only spaces, and add(), replace(),
     * increment(), decrement() and update(), act at once.
     *
     * @template T
     *
     * @param \Closure(): T $work
     *
     * @return T
     */
    public function transaction(\Closure $work): mixed
    {
        $this->begin();
        $isOpen = true;
        try {
            $result = $work();
            $isOpen = false;
        } catch (\Throwable $throwable) {
            $isOpen = false;
            $this->rollBack();

            throw $throwable;
        } finally {
            // The end of a fiber that nobody resumes. A signal's handler may throw on the way here, but not into the catch.
            // @phpstan-ignore booleanAnd.leftAlwaysFalse (PHPStan knows of no such end)
            $isOpen && $this->rollBack();
        }
        $this->commitTransaction();

        return $result;
    }

    /** As transaction(), for callers that only see the database's statements. Call it before BEGIN. */
    public function begin(): void
    {
        $held = Signals::hold();
        $this->request->begin();
    }

    /** Call it after COMMIT. Returns false if the truth tier could not record everything; what is missing is kept until it can. */
    public function commitTransaction(): bool
    {
        $held = Signals::hold();
        return $this->request->end(true);
    }

    /** Call it after ROLLBACK, or when the database connection is lost. Returns false as commitTransaction() does. */
    public function rollBack(): bool
    {
        $held = Signals::hold();
        return $this->request->end(false);
    }

    /** Call it after ROLLBACK TO a savepoint. Drops what was set or filled in the transaction so far; the transaction goes on. */
    public function rollBackToSavepoint(): void
    {
        $held = Signals::hold();
        $this->request->rollBackTo();
    }

    /** Writes the fills that wait for the end of the request. */
    public function commit(): void
    {
        $held = Signals::hold();
        $this->request->commit();
    }

    /**
     * Counts, for each tier, what this process did (hits, misses, writes, time in seconds, errors; for the truth tier also
     * calls) and what the tier holds (engine, bytes, entries, budget). `conflicts` counts the decisions of the table of
     * conflicts on this process's writes, but for those that another process has taken.
     *
     * @param bool $stored false: only what this process did, which asks no engine
     *
     * @return array<string, array<string, int|float|string>>
     */
    public function stats(bool $stored = true): array
    {
        $held = Signals::hold();
        if ($stored) {
            $this->request->land();
        }

        return Report::stats($this->request, $this->gets + $this->granted - $this->free, $this->nearHits, $this->lookups, $this->copies, $stored);
    }

    /**
     * Tells people which tiers hold a key, and what they hold.
     *
     * @return list<array{tier: string, found: bool, age: ?float, size: ?int, ttl: ?float, tags: list<string>, position: ?int, kind: string}>
     */
    public function inspect(string $key): array
    {
        $held = Signals::hold();
        $this->request->land();

        return Report::inspect($this->request, $this->space, $this->space->key($key), $this->copies->has($key));
    }

    /**
     * Gives a path prefix in an existing private directory, for files in which an application notes something about this
     * cache on this server.
     *
     * @return ?string null: there is no such directory
     */
    public function local(): ?string
    {
        return $this->request->local;
    }

    /** The file that names the directories which a flush empties too (see StaticCopies); null: there can be none. */
    public function mirrors(): ?string
    {
        $local = $this->local();

        return $local === null ? null : "$local-trees";
    }

    /**
     * Tells in one stat, without a Cache, whether this space was flushed or a tag of it invalidated: for copies outside the
     * cache.
     *
     * @return ?PurgeCounter null: the truth tier is not on this server's disk
     */
    public function purgeCounter(): ?PurgeCounter
    {
        return $this->request->truth->purges()?->of($this->space);
    }

    /**
     * Whether what was read since the last refresh() may be copied under the counter's value from before it: not while a
     * transaction is about to flush or invalidate some of it, for if its process dies nothing of that is valid any longer.
     */
    public function isCopyable(): bool
    {
        return !$this->view->hasHeldMarkers();
    }

    /**
     * Asks the journal what has changed since an earlier answer, for copies that lie outside the tiers.
     *
     * @internal
     *
     * @param string $mark that the earlier answer gave; '': there was none
     *
     * @return ?array{mark: string, names: ?list<string>} see journalled(); names null: anything may have changed. Null: the
     *                                                    truth tier cannot be asked
     */
    public function journal(string $mark = ''): ?array
    {
        $held = Signals::hold();

        return $this->request->truth->changes($mark);
    }

    /**
     * The names under which journal() tells changes of a key, of tags, and of all that this space lies in.
     *
     * @internal
     *
     * @return non-empty-list<string> of the key, of each tag, of each flush
     */
    public function journalled(string $key, string ...$tags): array
    {
        return [$this->space->key($key), ...$this->space->tags($tags), ...$this->space->flushes];
    }

    /** @return iterable<string, array{size: int, age: float, ttl: ?float, group: string, tags: list<string>}> everything in the truth tier, by key */
    public function entries(): iterable
    {
        return Report::entries($this->request);
    }

    /** Lets the next get check the clock: a copy that ends may come. */
    private function revoke(): void
    {
        $this->gets += $this->granted - $this->free;
        $this->free = $this->granted = 0;
    }

    protected function check(): void
    {
        $now = \hrtime(true);
        if ($now >= $this->due) {
            $this->request->check($this->space, $now);
        }
        if ($now >= $this->ends) {
            $this->copies->expire();
        }
        $gets = $this->granted - $this->free;
        if ($this->free === -1 || $gets > self::RUN) {
            $isLoop = $gets > self::RUN && $now - $this->checked < self::CLOSE * $gets;
            $this->checked = $now;
            $this->gets += $gets;
            // If a copy has an expiry, each get checks the clock.
            $this->free = $this->granted = $isLoop && $this->ends === \PHP_INT_MAX && $this->due !== 0 ? self::RUN : -1;
        }
    }

    protected function lookup(string $key, mixed $default, ?bool $below = true, mixed $copy = false): mixed
    {
        if (isset($this->copies->waiting[$key])) {
            $this->lookups++;
            $value = $this->copies->arrive($key, $found);
            if ($found) {
                return $value;
            }
        }
        $changes = $this->view->changes;
        if ($this->version !== $this->current) {
            $this->derive();
            $copy = false;
        }
        if ($this->segment !== null) {
            /** @var array{int, mixed}|array{int, null, mixed, int, int, int, int, list<string>, bool}|null $copy */
            $copy = $copy === false ? $this->segment->get($this->nearPrefix . $key) : $copy;
            if (isset($copy[1]) && $copy[0] > $this->floorAt
                && (isset($this->own[$key]) ? $copy[0] === $this->own[$key] : $copy[0] <= $this->ceilingAt)) {
                if ((++$this->nearHits & 1023) === 0) {
                    $this->copies->trim();
                }

                // Even a long value costs no copy here: the array only points to its place in the segment.
                $value = $this->values[$key] = $copy[1];
                $changes === $this->view->changes || $this->copies->drop($key);

                return $value;
            }
            if ($copy !== null) {
                $hit = SegmentNear::parse($copy);
                $value = $this->good($key, $hit[0], $hit[1], $changes, $found);
                if ($found) {
                    return $value;
                }
            }
        } elseif ($this->nearPrefix !== '') {
            $raw = $copy === false ? \apcu_fetch($this->nearPrefix . $key) : $copy;
            if (\is_string($raw)) {
                if ($raw > $this->floor && (isset($this->own[$key]) ? \strncmp($raw, 's' . \pack('J', $this->own[$key]), 9) === 0 : $raw < $this->ceiling)) {
                    if ((++$this->nearHits & 1023) === 0) {
                        $this->copies->trim();
                    }

                    $value = $this->values[$key] = \substr($raw, 9);
                    // Meanwhile a signal handler may have changed something, perhaps this key.
                    $changes === $this->view->changes || $this->copies->drop($key);

                    return $value;
                }
                $value = $this->encoded($key, $raw, $changes, $found);
                if ($found) {
                    return $value;
                }
                $hit = ApcuNear::parse($raw);
                $value = $hit === null ? null : $this->good($key, $hit[0], $hit[1], $changes, $found);
                if ($hit !== null && $found) {
                    return $value;
                }
            } elseif (\is_array($raw) && isset($raw[0], $raw[1]) && $raw[0] > $this->floorAt
                && (isset($this->own[$key]) ? $raw[0] === $this->own[$key] : $raw[0] <= $this->ceilingAt)) {
                // A long string is read from APCu each time, in half a microsecond, so that memory holds it only once.
                $this->passed[$key] = true;
                if ((++$this->nearHits & 1023) === 0) {
                    $this->copies->trim();
                }

                return $raw[1];
            } elseif ($raw !== false && $raw !== null) {
                $hit = ApcuNear::parse($raw);
            }
        }

        return $below === null ? $default : $this->find($key, $default, $below, $hit ?? null);
    }

    /**
     * The value of a near copy that has an expiry or is encoded, if this process can tell without asking a tier that it is valid.
     *
     * @param int $changes the view's $changes before the copy was read
     */
    private function good(string $key, Entry $entry, int $position, int $changes, mixed &$found): mixed
    {
        $this->granted < 1 || $this->revoke();
        $found = false;
        if (!$this->isWithin($key, $position)
            || $entry->soft !== 0 || $entry->sure !== 0 || $entry->tags !== [] || ($entry->expiry !== 0 && $entry->expired($this->request->truth->now()))) {
            return null;
        }
        $held = Signals::hold();
        $value = $this->copies->put($key, $entry, $found);
        $changes === $this->view->changes || $this->copies->drop($key);
        if ($found === true) {
            $this->nearHits++;
        }

        return $value;
    }

    /** As good(), for an encoded copy in APCu without conditions but an expiry, as most are: without an entry, and for strings without calls. */
    private function encoded(string $key, string $raw, int $changes, mixed &$found): mixed
    {
        $found = false;
        if ($this->encodedFloor === '') {
            // Only for such a copy: most requests of a script that asks for one key meet none.
            $this->bindClock();
            $this->encodedCeiling = 'e' . \substr($this->ceiling, 1);
            $this->encodedFloor = 'e' . \substr($this->floor, 1);
        }
        if ($raw <= $this->encodedFloor || !(isset($this->own[$key]) ? \strncmp($raw, 'e' . \pack('J', $this->own[$key]), 9) === 0 : $raw < $this->encodedCeiling)) {
            return null;
        }
        $this->granted < 1 || $this->revoke();
        $left = $uptime = 0;
        if (($raw[ApcuNear::BODY] ?? '') === 'v') {
            $at = ApcuNear::BODY + Entry::PLAIN;
        } else {
            $uptime = \intdiv(\hrtime(true), 1_000_000);
            $at = Entry::timed($raw, $uptime < $this->compared ? $uptime + $this->ahead : $this->request->truth->now(), $left, ApcuNear::BODY);
        }
        $type = $raw[$at] ?? Codec::NULL;
        if ($at === 0 || $type === Codec::NULL || $type >= Codec::SNAPSHOTS) {
            return null;
        }
        if ($type === Codec::STRING) {
            $found = true;
            if ((++$this->nearHits & 1023) === 0) {
                $this->copies->trim();
            }
            if ($left !== 0) {
                $this->endings[$key] = $due = ($uptime + ($left < RequestTier::LONGEST ? $left : RequestTier::LONGEST)) * 1_000_000;
                if ($due < $this->ends) {
                    $this->ends = $due;
                }
            }

            $value = $this->values[$key] = \substr($raw, $at + 1);
            $changes === $this->view->changes || $this->copies->drop($key);

            return $value;
        }
        $held = Signals::hold();
        $value = $this->copies->putBody($key, $raw, $at, $left, $found);
        $changes === $this->view->changes || $this->copies->drop($key);
        if ($found) {
            $this->nearHits++;
        }

        return $value;
    }

    /** Whether a near copy lies after the last flush and within this request's view. */
    private function isWithin(string $key, int $position): bool
    {
        return $position > $this->floorAt && (isset($this->own[$key]) ? $position === $this->own[$key] : $position <= $this->ceilingAt);
    }

    /** @param array{Entry, int}|null $hit the near tier's answer, if lookup() asked it */
    private function find(string $key, mixed $default, bool $below, ?array $hit): mixed
    {
        $this->granted < 1 || $this->revoke();
        $this->lookups++;
        if (!$below && $this->view->near === null && !isset($this->copies->entries[$key])) {
            return $default;
        }
        $held = Signals::hold();
        if (isset($this->copies->entries[$key])) {
            $value = $this->copies->decode($key, $found);
            if ($found) {
                return $value;
            }
        }
        $name = $key === '' || isset($key[InvalidKey::LONGEST]) ? $this->space->key($key) : $this->space->entries . $key;
        $view = $this->view;
        $changes = $view->changes;
        $request = $this->request;
        $reader = $request->forks ? $request->reader() : $request->reader ?? $request->reader();
        $isAsked = $this->version === $view->version && $this->nearPrefix !== '';
        $entry = $view->near === null ? null : $reader->near($name, $this->space, $this->own[$key] ?? 0, $isAsked, $hit);
        if ($entry !== null) {
            $value = $this->copies->put($key, $entry, $found);
        } elseif ($below) {
            $value = $reader->value($key, $name, $this->space, $this->copies, $found);
        } else {
            return $default;
        }
        if ($changes !== $view->changes) {
            // Meanwhile a destructor or signal handler has changed something, perhaps this key.
            $this->copies->drop($key);
        }

        return $found ? $value : $default;
    }

    /** As has(), for a key that is about to be removed: neither decodes its value nor keeps a copy. */
    private function isThere(string $key, string $name): bool
    {
        if (--$this->free < 0) {
            $this->check();
        }

        if ($this->copies->has($key)) {
            return true;
        }
        $reader = $this->request->reader();

        return $reader->near($name, $this->space, $this->own[$key] ?? 0) !== null || $reader->fetch($name, $this->space) !== null;
    }

    /**
     * Takes from the view what a hit in the near tier is checked against.
     *
     * A destructor that uses the cache meanwhile finds no near tier, or calls this method itself. If it changes anything,
     * the view's version changes, and the next get calls this method again.
     */
    private function derive(): void
    {
        $held = Signals::hold();
        $view = $this->view;
        $this->nearPrefix = '';
        $this->segment = null;
        $near = $view->nearReadable ? $view->near : null;
        if ($near instanceof ApcuNear || $near instanceof SegmentNear) {
            // Ask for the floor first: that may renew the view, and begin a new generation of near copies.
            $space = $this->space;
            $view->floor($space);
            $version = $view->version;
            $history = $view->history;
            $floor = \max($view->floors[$space->path] ?? $view->floor($space), $history->ownFloor);
            $ceiling = $history->start;
            $this->version = -1;
            $this->floorAt = $floor;
            $this->ceilingAt = $ceiling;
            if ($near instanceof ApcuNear) {
                $this->floor = 's' . \pack('J', $floor);
                $this->ceiling = 's' . \pack('J', $ceiling + 1);
                $this->encodedFloor = '';
            } else {
                $this->bindClock();
                $this->segment = $near->segment;
            }
            $this->nearPrefix = $near->prefix . $space->entries;
            $this->version = $version;
        } else {
            $this->version = $view->version;
        }
    }

    /** Gives what is read from a copy that expires: when the request's copies do, and the store's clock. */
    private function bindClock(): void
    {
        $this->endings = &$this->copies->ends;
        $this->ahead = &$this->request->truth->ahead;
        $this->compared = &$this->request->truth->compared;
    }

    /**
     * The open transaction that a call in this space belongs to, if any.
     *
     * @throws AnothersTransaction
     */
    private function openTransaction(): ?Transaction
    {
        $transaction = $this->request->transaction;
        if ($transaction === null || $this->space->cacheOnly) {
            return null;
        }
        $transaction->check();

        return $transaction;
    }

    /** @param non-empty-list<string> $markers */
    private function mark(array $markers): bool
    {
        $held = Signals::hold();
        $writer = $this->request->writer();

        return $this->openTransaction()?->mark($markers, $this->space) ?? $writer->mark($markers);
    }

    /** @param iterable<string|int> $keys */
    private function remove(iterable $keys, mixed &$there = null): bool
    {
        $held = Signals::hold();
        $there = false;
        $names = [];
        // Collect all keys first: a generator that yields them may use the cache.
        foreach ($keys as $key) {
            $names[(string) $key] = $this->space->key((string) $key);
        }
        $writer = $this->request->writer();
        $transaction = $this->openTransaction();
        $done = true;
        foreach ($names as $key => $name) {
            if ($transaction !== null) {
                $there = $there || $this->isThere((string) $key, $name);
                $done = $transaction->change($name, $this->space, null) && $done;
            }
            $this->copies->drop((string) $key);
        }
        if ($names === [] || $transaction !== null) {
            return $done;
        }
        $names = \array_values($names);
        $count = 0;
        $done = $writer->delete($names, $this->space, $count);
        $there = $count > 0;
        foreach ($done ? $names : [] as $name) {
            $this->request->ended($name);
        }

        return $done;
    }

    /** @param list<string> $tags */
    private function entry(mixed $value, int $ttl, array $tags, int $soft = 0): Entry
    {
        $this->granted < 1 || $this->revoke();
        $entry = Entry::make($this->request->codec->encode($value), $this->request->truth->now(), $ttl, $soft, $tags === [] ? [] : $this->space->tags($tags));
        if (\is_array($value)) {
            $entry->given = $value;
        }

        return $entry;
    }

    private function done(string $key, string $name, mixed $value, Entry $entry, Verdict $verdict): bool
    {
        // Once more: a destructor that has read the key meanwhile began a view, by which a fill outside must not be judged.
        $history = $this->view->history;
        $history->isShared && $history->change($name);
        if ($verdict === Verdict::Store || $verdict === Verdict::Same) {
            $this->copies->keepValue($key, $value, $entry);
        } else {
            $this->copies->drop($key);
        }
        if ($verdict !== Verdict::Failed) {
            $this->request->ended($name);
        }

        return $verdict !== Verdict::Failed;
    }

    /**
     * @param list<string> $tags
     * @param int          $moment see RequestHistory::beginning()
     */
    private function fillIn(Transaction $transaction, string $key, mixed $value, int $ttl, array $tags, int $moment): bool
    {
        $entry = $this->entry($value, $ttl, $tags);
        if ($ttl < 0) {
            return true;
        }
        $filled = $transaction->fill($this->space->key($key), $this->space, $entry, $moment);
        if ($filled) {
            $this->copies->keepValue($key, $value, $entry);
        }

        return $filled;
    }

    /** @param \Closure(?Entry): ?Entry $decide */
    private function atomic(string $key, mixed $value, \Closure $decide): bool
    {
        $held = Signals::hold();
        $writer = $this->request->writer();
        $this->openTransaction();
        $this->copies->drop($key);
        $entry = $writer->atomic($this->space->key($key), $this->space, $decide);
        if ($entry !== null) {
            $this->copies->keepValue($key, $value, $entry);
        }

        return $entry !== null;
    }

    private function count(string $key, int $by, bool $up, int $initial, int $ttl): int|false
    {
        /** @var ?int $count */
        $count = $this->change($key, static function (?Entry $there, mixed $from) use ($by, $up, $initial): ?int {
            $from = $there === null ? $initial : $from;
            if (!\is_int($from) || ($up === ($by > 0)
                ? ($up ? $from > \PHP_INT_MAX - $by : $from > \PHP_INT_MAX + $by)
                : ($up ? $from < \PHP_INT_MIN - $by : $from < \PHP_INT_MIN + $by))) {
                // Not an integer, or the sum does not fit into 64 bits.
                return null;
            }

            return $up ? $from + $by : $from - $by;
        }, $ttl);

        return $count ?? false;
    }

    /** @param \Closure(?Entry, mixed): mixed $next takes the entry and its value, returns the new value, or null to keep the old one */
    private function change(string $key, \Closure $next, int $ttl = 0): mixed
    {
        $held = Signals::hold();
        $codec = $this->request->codec;
        $truth = $this->request->truth;
        $value = null;
        $decide = static function (?Entry $there) use ($codec, $truth, $next, $ttl, &$value): ?Entry {
            $value = null;
            try {
                $value = $next($there, $there === null ? null : $codec->decode($there->payload));
            } catch (Undecodable) {
                // A value that cannot be decoded cannot be changed.
            }
            if ($value === null) {
                return null;
            }
            $payload = $codec->encode($value);

            return $there === null ? Entry::make($payload, $truth->now(), $ttl, 0, []) : $there->with($payload);
        };
        $writer = $this->request->writer();
        $this->openTransaction();
        $this->copies->drop($key);
        $entry = $writer->atomic($this->space->key($key), $this->space, $decide);
        if ($entry === null || $value === null) {
            return null;
        }
        $this->copies->keepValue($key, $value, $entry);

        return $value;
    }
}
