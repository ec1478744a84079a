<?php

declare(strict_types=1);

namespace Larder;

use Larder\Codec\Codec;
use Larder\Codec\Entry;
use Larder\Codec\NotStorable;
use Larder\Codec\Undecodable;
use Larder\Config\Assembly;
use Larder\Config\InvalidConfiguration;
use Larder\Request\HitPath;
use Larder\Request\InvalidKey;
use Larder\Request\Observer;
use Larder\Request\PlainGetPath;
use Larder\Request\Report;
use Larder\Request\Request;
use Larder\Request\RequestTier;
use Larder\Request\Space;
use Larder\Request\Transaction;
use Larder\Request\Verdict;
use Larder\Request\View;
use Larder\System\Coroutine;
use Larder\System\Interval;
use Larder\System\InvalidInterval;
use Larder\System\Signals;
use Larder\System\WrongUser;

// Before this class, which needs two of them: on the command line, where OPcache keeps nothing, loading each is cheaper.
\PHP_SAPI === 'cli' || \is_file(__DIR__ . '/../classes/cache.php') && require __DIR__ . '/../classes/cache.php';

/**
 * The public interface: one cache over up to four tiers.
 *
 * `false` always means: not done. A failed tier never makes a method here throw: a get misses, a write returns false,
 * and one line in the log says why. Five mistakes do throw: an invalid key (Request\InvalidKey), a value that cannot be
 * serialized (Codec\NotStorable), an invalid configuration (Config\InvalidConfiguration), an interval of about 10,000 years or more
 * (System\InvalidInterval), and a Computation used after its end (ComputationEnded).
 *
 * Each fiber, or other coroutine, is a request of its own. A call in one is passed on to a Cache that it has for this space:
 * here().
 *
 * A key is any non-empty string of up to 65,536 bytes. Times are in seconds, or intervals, of which a fraction of a second
 * counts as a whole one; 0 means no expiry, a negative time has already expired. Where none is given, or null, the group's
 * default counts: see group().
 *
 * This file is longer than others because it holds the whole public interface, its documentation and the way of a get. That
 * cannot move to a class of its own: a call costs as much again as the array look-up of a hit. get() itself is the trait's;
 * the extension has one in C.
 */
final class Cache implements HitPath
{
    use PlainGetPath;

    /** Nanoseconds. Gets that follow one another so closely on average are a loop that does nothing else: see RUN. */
    private const CLOSE = 500;

    /** What $free was when it was last set, and hrtime() of that. */
    private int $granted = 0;
    private int $checked = 0;

    /** The view's $news when learn() was last called. */
    private int $news;

    /** On the last changing call; null: stored, or there was none. A request that changes nothing does not load the class. */
    private ?Verdict $verdict = null;

    private readonly View $view;

    /** Whether it passes on each call: where there are coroutines that are no fibers, which get() does not notice. It has no copies then. */
    private readonly bool $passes;

    /** @var ?\WeakMap<object, self> of other coroutines, by what lives as long as they do */
    private ?\WeakMap $others = null;

    private function __construct(private readonly Request $request, private readonly Space $space)
    {
        $this->view = $view = $request->view;
        $this->news = $view->news;
        $copies = $view->copies($space);
        if ($copies === null) {
            $copies = new RequestTier($request->codec, $view->history, $request->truth, $space->entries);
            $copies = $view->register($space, $copies);
        }
        $this->copies = $copies;
        $this->values = &$copies->values;
        $view->observer === null || $this->countIn($view->observer);
        $this->passes = $request->main === null && Coroutine::areOthers();
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
     * The cache of a request that another object has made.
     *
     * @internal
     */
    public static function over(Request $request, Space $space): self
    {
        return new self($request, $space);
    }

    /**
     * Stores a value in every tier before it returns. If another request changed the key since this request first read
     * it, the table of conflicts decides (Request\ConflictTable). If the table drops both values, the key is invalidated
     * and set() returns true: lastOutcome() tells.
     *
     * @param null|int|\DateInterval $ttl  seconds; 0: no expiry; negative: already expired, so the key is deleted
     * @param list<string>           $tags
     * @param null|int|\DateInterval $soft see remember(), which renews the value
     *
     * @throws NotStorable|InvalidKey|InvalidInterval
     */
    public function set(string $key, mixed $value, int|\DateInterval|null $ttl = null, array $tags = [], int|\DateInterval|null $soft = null): bool
    {
        if (($here = $this->here()) !== null) {
            return $here->set($key, $value, $ttl, $tags, $soft);
        }
        $name = $key === '' || isset($key[Space::LONGEST]) ? $this->space->key($key) : $this->space->entries . $key;
        // First: what comes in the middle of this call may read the key, and the value would count as computed after that.
        $pinned = $this->view->history->pin($name);
        $held = Signals::hold();
        $ttl = $ttl === null ? $this->space->ttl : $this->seconds($ttl);
        $entry = $this->entry($value, $ttl, $tags, $soft);
        if ($ttl < 0) {
            return $this->delete($key);
        }
        $sets = $this->request->sets();
        if ($this->request->transaction !== null && ($transaction = $this->openTransaction()) !== null) {
            $told = $transaction->change($name, $this->space, $entry);
            $this->copies->keepValue($key, $value, $entry);

            return $this->told($told);
        }

        $calls = $this->view->calls;
        $verdict = $sets->set($name, $this->space, $entry);
        $pinned && $this->view->history->unpin($name);

        return $this->done($key, $name, $value, $entry, $verdict, $calls);
    }

    /**
     * Stores the value if the key has none; atomic across processes and servers. Returns false also when the truth tier
     * is down: lastOutcome() tells. A cache may forget, so this is no lock on which anything but speed depends: see Lock\Locks.
     *
     * @param list<string> $tags
     *
     * @throws NotStorable|InvalidKey|InvalidInterval
     */
    public function add(string $key, mixed $value, int|\DateInterval|null $ttl = null, array $tags = [], int|\DateInterval|null $soft = null): bool
    {
        $held = Signals::hold();
        $ttl = $ttl === null ? $this->space->ttl : $this->seconds($ttl);
        $entry = $this->entry($value, $ttl, $tags, $soft);

        return $this->atomic($key, $value, static fn(?Entry $there): Entry|Verdict => $there !== null ? Verdict::Held : ($ttl < 0 ? Verdict::Kept : $entry));
    }

    /**
     * Stores the value if the key already has one; atomic across processes and servers. Returns false also when the
     * truth tier is down: lastOutcome() tells.
     *
     * @param list<string> $tags
     *
     * @throws NotStorable|InvalidKey|InvalidInterval
     */
    public function replace(string $key, mixed $value, int|\DateInterval|null $ttl = null, array $tags = [], int|\DateInterval|null $soft = null): bool
    {
        $held = Signals::hold();
        $ttl = $ttl === null ? $this->space->ttl : $this->seconds($ttl);
        $entry = $this->entry($value, $ttl, $tags, $soft);
        if ($ttl < 0) {
            return $this->deleteIfThere($key);
        }

        return $this->atomic($key, $value, static fn(?Entry $there): Entry|Verdict => $there === null ? Verdict::Missing : $entry);
    }

    /**
     * Stores a value that was just computed after a miss: in the request tier and the near tier at once, in the truth
     * tier at writeFills() or at the end of the request. Returns false and stores nothing if the key was changed meanwhile: by
     * another request since this one first read it, or by this one since this fiber missed it.
     *
     * @param list<string> $tags
     *
     * @throws NotStorable|InvalidKey|InvalidInterval
     */
    public function fill(string $key, mixed $value, int|\DateInterval|null $ttl = null, array $tags = [], int|\DateInterval|null $soft = null): bool
    {
        if (($here = $this->here()) !== null) {
            return $here->fill($key, $value, $ttl, $tags, $soft);
        }
        // First: what comes in the middle of this call may change the key and read it, which begins another view of it.
        $now = $this->view->history->moment;
        $history = $this->view->history;
        $beginning = $history->beginning($name = $this->space->key($key), $now);
        $held = Signals::hold();
        $history->pin($name);
        $fills = $this->request->fills();
        $ttl = $ttl === null ? $this->space->ttl : $this->seconds($ttl);
        $transaction = $this->openTransaction();
        if ($transaction !== null) {
            return $this->fillIn($transaction, $key, $value, $ttl, $tags, $soft, $beginning[2]);
        }
        $entry = $this->entry($value, $ttl, $tags, $soft);
        $this->verdict = null;
        if ($ttl < 0) {
            return true;
        }
        $calls = $this->view->calls;
        $filled = $fills->fill($name, $this->space, $entry, $beginning);
        if ($filled || ($this->request->truth->down() && !$history->hasChanged($name, $this->space, $entry, $beginning[2]))) {
            // While the truth tier is down, the request can still use what it computed.
            $this->keep($key, $value, $entry, $calls);
        } else {
            $this->copies->drop($key);
        }
        if (!$filled) {
            $this->verdict = $this->request->truth->down() ? Verdict::Failed : Verdict::Drop;
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
        if (($here = $this->here()) !== null) {
            $here->computedNow($key);

            return;
        }
        $this->view->history->beginHere($this->space->key($key));
    }

    /**
     * Returns the stored value, or computes it: one process computes for all processes that miss the key at the same time.
     *
     * @param (callable(): mixed)|(callable(Computation): mixed) $compute if it throws, the exception passes on and the next caller
     *                                                                    computes. A first parameter of the type Computation,
     *                                                                    or one that must be given and has no type, gets the
     *                                                                    Computation, which can say how the value is stored
     * @param list<string>                                       $tags
     * @param null|int|\DateInterval                             $soft    seconds after which one caller renews the value while
     *                                                                    the others get the old one; 0, or not before $ttl: never
     *
     * @throws NotStorable|InvalidKey|InvalidInterval
     */
    // The closure first: asking whether something is callable costs more than a hit.
    public function remember(string $key, \Closure|callable $compute, int|\DateInterval|null $ttl = null, array $tags = [], int|\DateInterval|null $soft = null): mixed
    {
        if (($this->passes || \Fiber::getCurrent() !== null) && ($here = $this->here()) !== null) {
            return $here->remember($key, $compute, $ttl, $tags, $soft);
        }
        if (--$this->free < 0) {
            $this->check();
        }
        $value = $this->values[$key] ?? $this->lookup($key, $this->request, null);

        return $value !== $this->request ? $value : $this->readOrCompute($key, $compute, $ttl, $tags, $soft);
    }

    /**
     * What remember() does without a copy. A method of its own, since PHP prepares and frees each variable of a method even
     * if a hit uses none of them.
     *
     * @param list<string> $tags
     */
    private function readOrCompute(string $key, \Closure|callable $compute, int|\DateInterval|null $ttl, array $tags, int|\DateInterval|null $soft): mixed
    {
        $held = Signals::hold();
        $name = $this->space->key($key);
        if (isset($this->copies->entries[$key]) && !$this->copies->renews($key)) {
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
                $computation = new Computation($ttl, $tags, $soft);
                $value = $this->compute($key, $compute, $computation);
                $chosen = $computation->chosen();
                $this->verdict = $chosen === null ? Verdict::Kept : Verdict::Held;
                // Unless it has ended meanwhile: what it showed may never have been committed.
                if ($chosen !== null && $this->request->transaction === $transaction) {
                    $this->fillIn($transaction, $key, $value, $chosen[0] === null ? $this->space->ttl : $this->seconds($chosen[0]), $chosen[1], $chosen[2], $moment);
                }
            }

            return $value;
        }
        // Not of $this: in a lazy proxy that would count as writing to a property that is readonly.
        $copies = $this->copies;
        $copies->lookups++;

        return $remember->value(
            $name,
            $key,
            $this->space,
            $this->copies,
            function (bool $renews) use ($key, $compute, $ttl, $tags, $soft): array {
                $renews || $this->view->observer?->missed($key, $this->space);

                return $this->computation($key, $compute, new Computation($ttl, $tags, $soft, $renews));
            },
            $this->copies->own[$key] ?? 0,
        );
    }

    /** @return array{\Closure(): mixed, \Closure(mixed): ?Entry, \Closure(Verdict): void, Request} see Request\Remember::value() */
    private function computation(string $key, \Closure|callable $compute, Computation $computation): array
    {
        return [
            fn(): mixed => $this->compute($key, $compute, $computation),
            function (mixed $value) use ($computation): ?Entry {
                $chosen = $computation->chosen();

                return $chosen === null ? null : $this->entry($value, $chosen[0] === null ? $this->space->ttl : $this->seconds($chosen[0]), $chosen[1], $chosen[2]);
            },
            function (Verdict $verdict): void {
                $this->verdict = $verdict;
            },
            $this->request,
        ];
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
        if (($here = $this->here()) !== null) {
            return \func_num_args() < 2 ? $here->delete($key) : $here->delete($key, $there);
        }
        $held = Signals::hold();
        $name = $this->space->key($key);
        $deletes = $this->request->deletes();
        $transaction = $this->request->transaction === null ? null : $this->openTransaction();
        $isThere = null;
        if (\func_num_args() > 1 && ($transaction !== null || $this->request->truth->readsPosition())) {
            // Whether there was a value takes a look before it, at the near tier if that can tell. It is no read of the application's.
            $isThere = $this->copies->has($key)
                || ($this->view->near !== null && $this->lookup($key, $this->request, null) !== $this->request)
                || $deletes->isThere($name, $this->space);
        }
        if ($transaction !== null) {
            $there = $isThere ?? false;
            $done = $transaction->change($name, $this->space, null);
            $this->copies->drop($key);

            return $this->told($done);
        }
        $this->copies->drop($key);
        $done = $deletes->one($name, $this->space, $was);
        $done && $this->request->ended($name);
        $there = $isThere ?? $was;

        return $this->told($done);
    }

    /** Empties this space and the groups in it, at once and in constant time. Who asked for it is noted on this server: bin/larder why --flush. */
    public function flush(): bool
    {
        $held = Signals::hold();
        $done = $this->mark([$this->space->flush()]);
        $this->internals()->flushes()?->note(\rawurldecode($this->space->path), $done);

        return $done;
    }

    /**
     * Adds to an integer, atomically across processes and servers. A missing integer starts at $initial, and lives $ttl.
     *
     * @return int|false the new value; false if the value is not an integer, the sum does not fit into 64 bits, or the
     *                   truth tier is down: then nothing has changed
     *
     * @throws InvalidKey|InvalidInterval
     */
    public function increment(string $key, int $by = 1, int $initial = 0, int|\DateInterval|null $ttl = null): int|false
    {
        return $this->count($key, $by, true, $initial, $ttl);
    }

    /** @return int|false see increment() */
    public function decrement(string $key, int $by = 1, int $initial = 0, int|\DateInterval|null $ttl = null): int|false
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
        if (($here = $this->here()) !== null) {
            return $here->getMultiple($keys);
        }
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
                $names[$key] = $key === '' || isset($key[Space::LONGEST]) ? $this->space->key($key) : $this->space->entries . $key;
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
                $this->view->observer?->missed((string) $key, $this->space);
            }
        }

        return $found;
    }

    /**
     * Stores values in one transaction or round trip, each as set() does.
     *
     * @param array<array-key, mixed> $values by key
     * @param list<string>            $tags
     *
     * @throws NotStorable|InvalidKey|InvalidInterval nothing is stored
     */
    public function setMultiple(array $values, int|\DateInterval|null $ttl = null, array $tags = [], int|\DateInterval|null $soft = null): bool
    {
        return $this->setAll($values, $ttl === null ? $this->space->ttl : $this->seconds($ttl), $tags, $soft === null ? $this->space->soft : $this->seconds($soft));
    }

    /**
     * As setMultiple(), for adapters whose values have times and tags of their own.
     *
     * @internal
     *
     * @param array<array-key, mixed>        $values by key
     * @param array<array-key, int>          $ttls   of those that have one, by key
     * @param array<array-key, list<string>> $tags   of those that have any, by key
     *
     * @throws NotStorable|InvalidKey nothing is stored
     */
    public function setEach(array $values, array $ttls, array $tags = []): bool
    {
        return $this->setAll($values, $this->space->ttl, [], $this->space->soft, $ttls, $tags);
    }

    /**
     * @param array<array-key, mixed>        $values by key
     * @param list<string>                   $tags
     * @param array<array-key, int>          $ttls   of those that have another one than $ttl, by key
     * @param array<array-key, list<string>> $tagsOf those that have others than $tags, by key
     *
     * @throws NotStorable|InvalidKey
     */
    private function setAll(array $values, int $ttl, array $tags, int $soft, array $ttls = [], array $tagsOf = []): bool
    {
        if (($here = $this->here()) !== null) {
            return $here->setAll($values, $ttl, $tags, $soft, $ttls, $tagsOf);
        }
        $held = Signals::hold();
        if ($values === []) {
            return $this->told(true);
        }
        $entries = $pinned = [];
        $history = $this->view->history;
        foreach ($values as $key => $_) {
            $name = $this->space->key((string) $key);
            if ($history->pin($name)) {
                $pinned[] = $name;
            }
        }
        $over = [];
        foreach ($values as $key => $value) {
            $life = $ttls[$key] ?? $ttl;
            try {
                $entries[$this->space->entries . $key] = $this->entry($value, $life, $tagsOf[$key] ?? $tags, $soft);
            } catch (NotStorable $refusal) {
                throw $refusal->under((string) $key);
            }
            if ($life < 0) {
                $over[] = $key;
                unset($values[$key], $entries[$this->space->entries . $key]);
            }
        }
        $done = $over === [] || $this->deleteMultiple($over);
        $verdicts = $over === [] ? [] : [$this->verdict];
        if ($entries === []) {
            return $done;
        }
        $sets = $this->request->sets();
        if ($this->openTransaction() !== null) {
            foreach ($values as $key => $value) {
                $done = $this->set((string) $key, $value, $ttls[$key] ?? $ttl, $tagsOf[$key] ?? $tags, $soft) && $done;
                $verdicts[] = $this->verdict;
            }
            $this->verdict = Verdict::worst(...$verdicts);

            return $done;
        }
        $calls = $this->view->calls;
        $of = $sets->setMany($entries, $this->space);
        foreach ($pinned as $name) {
            $history->unpin($name);
        }
        foreach ($values as $key => $value) {
            $name = $this->space->entries . $key;
            $done = $this->done((string) $key, $name, $value, $entries[$name], $of[$name], $calls) && $done;
            $verdicts[] = $this->verdict;
        }
        $this->verdict = Verdict::worst(...$verdicts);

        return $done;
    }

    /** @param iterable<string|int> $keys */
    public function deleteMultiple(iterable $keys): bool
    {
        if (($here = $this->here()) !== null) {
            return $here->deleteMultiple($keys);
        }
        $held = Signals::hold();
        $names = [];
        // Collect all keys first: a generator that yields them may use the cache.
        foreach ($keys as $key) {
            $names[(string) $key] = $this->space->key((string) $key);
        }
        $deletes = $this->request->deletes();
        $transaction = $this->openTransaction();
        $done = true;
        foreach ($names as $key => $name) {
            $done = ($transaction === null || $transaction->change($name, $this->space, null)) && $done;
            $this->copies->drop((string) $key);
        }
        if ($names === [] || $transaction !== null) {
            return $this->told($done);
        }
        $names = \array_values($names);
        $done = $deletes->delete($names, $this->space);
        foreach ($done ? $names : [] as $name) {
            $this->request->ended($name);
        }

        return $this->told($done);
    }

    /** Invalidates every entry of this space that carries one of the tags, at once and in constant time. */
    public function invalidateTags(string ...$tags): bool
    {
        $markers = $this->space->tags($tags);

        return $markers === [] ? ($this->here() ?? $this)->told(true) : $this->mark($markers);
    }

    /**
     * A key space of its own, with its own tags and flush.
     *
     * @param null|int|\DateInterval $ttl  of what this object, and the groups made from it, store without one; null: as in this
     *                                     cache. It is the object's and is stored nowhere: open a group the same way everywhere
     * @param null|int|\DateInterval $soft the same for the soft expiry
     *
     * @throws InvalidKey|InvalidInterval
     */
    public function group(string $name, bool $cacheOnly = false, int|\DateInterval|null $ttl = null, int|\DateInterval|null $soft = null): self
    {
        if ($name === '') {
            throw InvalidKey::empty('group name');
        }
        if (\strlen($name) > Space::LONGEST) {
            throw InvalidKey::tooLong('group name', \strlen($name), Space::LONGEST);
        }

        return new self($this->request, $this->space->group($name, $cacheOnly, $ttl === null ? $this->space->ttl : $this->seconds($ttl), $soft === null ? $this->space->soft : $this->seconds($soft)));
    }

    /**
     * The same cache, seen by a request of its own: its view begins with its first read, and refresh(), writeFills() and
     * transactions of one object do not concern the other. What one of them changes, the other learns as from a stranger.
     */
    public function apart(): self
    {
        $held = Signals::hold();

        return new self($this->request->apart(), $this->space);
    }

    /**
     * Announces that this request is about to change what these keys are computed from. Until this request sets or
     * deletes them, or ends, nothing is stored under them and readers miss, so that they ask the database. Inside a
     * transaction that also drops what was set there before. If the truth tier cannot take an intent (lastOutcome() is Down),
     * the key is invalidated once it is back, and again when the intent ends.
     */
    public function intend(string ...$keys): void
    {
        if (($here = $this->here()) !== null) {
            $here->intend(...$keys);

            return;
        }
        $held = Signals::hold();
        $intents = $this->request->intents();
        $transaction = $this->openTransaction();
        $told = true;
        foreach ($keys as $key) {
            $this->copies->drop($key);
            $name = $this->space->key($key);
            $told = ($transaction !== null ? $transaction->change($name, $this->space, null) : $intents->put($name, $this->space)) && $told;
        }
        $this->told($told);
    }

    /**
     * Replaces a value by one computed from it; atomic across processes and servers. Expiry and tags stay.
     *
     * @param \Closure(mixed): mixed $change takes the old value and returns the new one, or null to keep the old one;
     *                                       called again if another process changed the value meanwhile
     *
     * @return mixed the new value; null: nothing was stored, and lastOutcome() tells why: the key has no value (Missing), $change
     *               kept the old one (Kept), an intent stands (Held), or the truth tier is down (Down)
     *
     * @throws NotStorable|InvalidKey
     */
    public function update(string $key, \Closure $change): mixed
    {
        return $this->change($key, static fn(?Entry $there, mixed $value): mixed => $there === null ? null : $change($value));
    }

    /**
     * Gives a value another time to live, from now on; atomic across processes and servers. Value, soft expiry and tags stay.
     *
     * @param int|\DateInterval|null $ttl seconds; 0: no expiry; negative: already expired, so the key is deleted; null: the group's default
     *
     * @return bool false: the key has no value, an intent stands, or the truth tier is down: lastOutcome() tells
     *
     * @throws InvalidKey|InvalidInterval
     */
    public function touch(string $key, int|\DateInterval|null $ttl = null): bool
    {
        if (($here = $this->here()) !== null) {
            return $here->touch($key, $ttl);
        }
        $ttl = $ttl === null ? $this->space->ttl : $this->seconds($ttl);
        if ($ttl < 0) {
            return $this->deleteIfThere($key);
        }
        $held = Signals::hold();
        $truth = $this->request->truth;
        $decide = static fn(?Entry $there): Entry|Verdict => $there?->lasting($truth->now(), $ttl) ?? Verdict::Missing;
        $swaps = $this->request->swaps();
        $calls = $this->view->calls;
        $name = $this->space->key($key);
        $entry = $swaps->atomic($name, $this->space, $this->openTransaction()?->guard($decide, $this->space) ?? $decide, false);
        $isDone = $entry instanceof Entry;
        $this->verdict = $isDone ? null : $entry;
        // One of what a transaction has set stays with it.
        $isDone && $this->copies->drop($key);
        $calls === $this->view->calls || $this->request->gone($name, $this->space);

        return $isDone;
    }

    /**
     * Drops this request's copies of these keys; without keys, of this whole space and the groups in it. The next get
     * reads from the tiers below. Nothing changes for other requests, and writes are judged as before.
     */
    public function forget(string ...$keys): void
    {
        if (($here = $this->here()) !== null) {
            $here->forget(...$keys);

            return;
        }
        if ($keys === []) {
            $this->view->forget($this->space);
        }
        // What is being decoded now was read before.
        $this->view->changes++;
        foreach ($keys as $key) {
            $this->copies->drop($key);
            $this->view->history->gone($this->space->entries . $key);
        }
        $this->request->transaction?->show();
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
            $cache->here();
            $lists[] = [$cache->space, $keys];
        }
        $held = Signals::hold();
        $reader = ($this->here() ?? $this)->request->reader();
        $reader->prefetch($lists);
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
        if (($here = $this->here()) !== null) {
            return $here->learn();
        }
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
        if (($here = $this->here()) !== null) {
            $here->refresh();

            return;
        }
        $held = Signals::hold();
        $this->request->refresh();
    }

    /**
     * Asks what others have changed, for every cache that this process has open, as the calling fiber sees it: what to do once a
     * lock is held under which all change a value of a cache-only space. There, a value that is missed again afterwards counts as
     * missed then. Elsewhere writes are judged as before, by the first read: call refresh() instead.
     */
    public static function learnAll(): void
    {
        $held = Signals::hold();
        Request::renewAll();
    }

    /** As refresh(), for every cache that this process has open, as the calling fiber sees it: what a worker does between two messages. */
    public static function refreshAll(): void
    {
        $held = Signals::hold();
        Request::refreshAll();
    }

    /**
     * Runs $work, which holds a database transaction from BEGIN to COMMIT. What it changes in the cache counts from
     * COMMIT on.
     *
     * Each key, tag and space that $work changes gets an intent. Until the end no process stores anything under a changed key,
     * and only this request sees what was set inside. When $work returns, each set value is stored if no other request
     * changed its key since the transaction began; every other change is made once more. If $work throws, everything
     * that was set or filled inside is dropped and the exception passes on. If the process dies before the end, no old
     * value is served.
     *
     * It is the calling fiber's: what other fibers do meanwhile is not in it. A transaction inside another joins the
     * outermost one, on whichever group it is called; if it throws, what was changed inside it is dropped. Fills made inside
     * stay in this request. Cache-only spaces, and add(), replace(), increment(), decrement(), update() and touch(), act at once.
     *
     * @template T
     *
     * @param \Closure(): T $work
     *
     * @return T
     */
    public function transaction(\Closure $work): mixed
    {
        if (($here = $this->here()) !== null) {
            return $here->transaction($work);
        }
        // A signal's handler may throw while $work runs, and after the end, but not where that would leave it open.
        $held = Signals::hold();
        $this->request->beginTransaction();
        $isOpen = true;
        try {
            $result = Signals::letIn($work);
            $isOpen = false;
        } catch (\Throwable $throwable) {
            $isOpen = false;
            $this->end(false);

            throw $throwable;
        } finally {
            // The end of a fiber that is not resumed.
            // @phpstan-ignore booleanAnd.leftAlwaysFalse (PHPStan knows of no such end)
            $isOpen && $this->request->endTransaction(false);
        }
        $this->end(true);

        return $result;
    }

    /** As transaction(), for callers that only see the database's statements. Call it before BEGIN. */
    public function begin(): void
    {
        if (($here = $this->here()) !== null) {
            $here->begin();

            return;
        }
        $held = Signals::hold();
        $this->request->beginTransaction();
        try {
            unset($held);
            // @phpstan-ignore catch.neverThrown (its destructor lets the handlers run)
        } catch (\Throwable $throwable) {
            // A signal's handler threw: for the caller it has not begun.
            $this->rollBack();

            throw $throwable;
        }
    }

    /** Call it after COMMIT. Returns false if the truth tier could not record everything; what is missing is kept until it can. */
    public function commitTransaction(): bool
    {
        if (($here = $this->here()) !== null) {
            return $here->commitTransaction();
        }
        $held = Signals::hold();
        return $this->end(true);
    }

    /** Call it after ROLLBACK, or when the database connection is lost. Returns false as commitTransaction() does. */
    public function rollBack(): bool
    {
        if (($here = $this->here()) !== null) {
            return $here->rollBack();
        }
        $held = Signals::hold();
        return $this->end(false);
    }

    /** Call it after ROLLBACK TO a savepoint. Drops what was set or filled in the transaction so far; the transaction goes on. */
    public function rollBackToSavepoint(): void
    {
        if (($here = $this->here()) !== null) {
            $here->rollBackToSavepoint();

            return;
        }
        $held = Signals::hold();
        $this->request->rollBackTo();
    }

    /**
     * Writes the fills that wait for the end of the request: those of this cache and of all its groups, in one transaction or round
     * trip. lastOutcome() is Stored then if all of them were stored, and else tells of the one that went worst.
     */
    public function writeFills(): void
    {
        if (($here = $this->here()) !== null) {
            $here->writeFills();

            return;
        }
        $held = Signals::hold();
        $this->verdict = $this->request->writeFills();
    }

    /**
     * What became of the last changing call of this object, as the calling fiber sees it: set(), add(), replace(), fill(), delete(),
     * flush(), increment(), decrement(), setMultiple(), deleteMultiple(), invalidateTags(), intend(), update(), touch(),
     * writeFills(), the end of a transaction, and a remember() that computed. Stored if there was none. Reading changes nothing.
     *
     * Each group() is an object of its own with an outcome of its own. After the end of a transaction it says whether everything
     * could be recorded; what the table of conflicts made of each value set inside, stats() counts.
     */
    public function lastOutcome(): Outcome
    {
        return match (($this->here() ?? $this)->verdict) {
            null, Verdict::Store, Verdict::Same => Outcome::Stored,
            Verdict::Bounded => Outcome::Bounded,
            Verdict::Kept => Outcome::Kept,
            Verdict::Missing => Outcome::Missing,
            Verdict::Held => Outcome::Held,
            Verdict::Drop => Outcome::Dropped,
            Verdict::Refused => Outcome::NotStorable,
            Verdict::Failed => Outcome::Down,
        };
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
        return Report::stats($this->request, $this->copies->gets + $this->granted - $this->free, $this->copies, $stored);
    }

    /**
     * Tells people which tiers hold a key, and what they hold.
     *
     * @return list<array{tier: string, found: bool, age: ?float, size: ?int, ttl: ?float, tags: list<string>, position: ?int, kind: string}>
     */
    public function inspect(string $key): array
    {
        if (($here = $this->here()) !== null) {
            return $here->inspect($key);
        }
        $held = Signals::hold();
        return Report::inspect($this->request, $this->space, $this->space->key($key), $this->copies->has($key));
    }

    /**
     * What the page cache and the WordPress plugin need beyond this interface.
     *
     * @internal
     */
    public function internals(): Internals
    {
        return new Internals(($this->here() ?? $this)->request, $this->space);
    }

    /** @return iterable<string, array{size: int, age: float, ttl: ?float, group: string, tags: list<string>}> everything in the truth tier, by key */
    public function entries(): iterable
    {
        return Report::entries($this->request);
    }

    /** This space as another coroutine sees it that calls now; null: the caller is the main program, or this is its own already. */
    private function here(): ?self
    {
        if ($this->request->main !== null || (!$this->passes && \Fiber::getCurrent() === null) || ($coroutine = Coroutine::current()) === null) {
            return null;
        }
        $this->others ??= new \WeakMap();
        $here = $this->others[$coroutine] ?? null;
        if ($here === null) {
            $this->others[$coroutine] = $here = new self($this->request->of($coroutine), $this->space);
            // Counted together: they outlive the coroutine.
            $here->copies->gets = &$this->copies->gets;
            $here->copies->lookups = &$this->copies->lookups;
            $here->copies->hits = &$this->copies->hits;
        }
        $here->revoke();

        return $here;
    }

    protected function getIn(string $key, mixed $default): mixed
    {
        $here = $this->here() ?? $this;
        $copies = $here->copies;
        $copies->gets++;
        if (\hrtime(true) >= $copies->due) {
            $here->check();
        }

        return $here->values[$key] ?? $copies->near?->get($key, $copies) ?? $here->lookup($key, $default, isAsked: true);
    }

    /** Lets the next get check the clock: a copy that ends may come. */
    private function revoke(): void
    {
        // As in readOrCompute().
        $copies = $this->copies;
        $copies->gets += $this->granted - $this->free;
        $this->free = $this->granted = 0;
        $copies->unchecked = 0;
    }

    protected function check(): void
    {
        $now = \hrtime(true);
        $copies = $this->copies;
        if ($now >= $this->view->due) {
            $this->request->check($now);
        }
        if ($now >= $copies->due) {
            $copies->expire($now, $this->view->due);
        }
        $gets = $this->granted - $this->free;
        if ($this->free === -1 || $gets > self::RUN) {
            $isLoop = $gets > self::RUN && $now - $this->checked < self::CLOSE * $gets;
            $this->checked = $now;
            $copies->gets += $gets;
            // If a copy has an expiry, each get checks the clock.
            $this->free = $this->granted = $isLoop && $copies->end === \PHP_INT_MAX && $this->view->due !== 0 ? self::RUN : -1;
            $copies->unchecked = $this->granted;
        }
    }

    protected function lookup(string $key, mixed $default, ?bool $below = true, mixed $copy = false, bool $isAsked = false): mixed
    {
        if ($this->passes && $below !== null) {
            // getIn() counts it.
            $this->free++;

            return $this->getIn($key, $default);
        }
        $copies = $this->copies;
        if (isset($copies->waiting[$key])) {
            $copies->lookups++;
            $value = $copies->arrive($key, $found);
            if ($found) {
                return $value;
            }
        }
        if ($copies->version !== $copies->current) {
            $this->view->open($copies, $this->space);
            $copy = $isAsked = false;
        }
        if (!$isAsked && $copies->near !== null) {
            $value = $copy === false ? $copies->near->get($key, $copies) : $copies->near->judge($key, $copies, $copy);
            if ($value !== null) {
                return $value;
            }
        }

        return $below === null ? $default : $this->find($key, $default, $below);
    }

    /** Answers what the near tier cannot tell by itself, from the tiers below too. */
    private function find(string $key, mixed $default, bool $below): mixed
    {
        $this->granted < 1 || $this->revoke();
        $copies = $this->copies;
        $copies->lookups++;
        $view = $this->view;
        if (!$below && $view->near === null && !isset($copies->entries[$key])) {
            return $default;
        }
        // A signal handler may have asked for another key since.
        $hit = ($copies->other[2] ?? $key) === $key ? $copies->other : null;
        $isAsked = $copies->near !== null && $copies->version === $view->version && $hit === $copies->other;
        $held = Signals::hold();
        if (isset($copies->entries[$key])) {
            $value = $copies->decode($key, $found);
            if ($found) {
                return $value;
            }
        }
        $name = $key === '' || isset($key[Space::LONGEST]) ? $this->space->key($key) : $this->space->entries . $key;
        $changes = $view->changes;
        $request = $this->request;
        $reader = $request->forks ? $request->reader() : $request->reader ?? $request->reader();
        $entry = $view->near === null ? null : $reader->near($name, $this->space, $copies->own[$key] ?? 0, $isAsked && $copies->version === $view->version, $hit);
        if ($entry !== null) {
            $value = $copies->put($key, $entry, $found);
        } elseif ($below) {
            $value = $reader->value($key, $name, $this->space, $copies, $found);
            $found || $view->observer?->missed($key, $this->space);
        } else {
            return $default;
        }
        if ($changes !== $view->changes) {
            // Meanwhile a destructor or signal handler has changed something, perhaps this key.
            $copies->drop($key);
        }

        return $found ? $value : $default;
    }

    /** The open transaction that a call in this space belongs to, if any. */
    private function openTransaction(): ?Transaction
    {
        return $this->space->cacheOnly ? null : $this->request->transaction;
    }

    /** @param non-empty-list<string> $markers */
    private function mark(array $markers): bool
    {
        if (($here = $this->here()) !== null) {
            return $here->mark($markers);
        }
        $held = Signals::hold();
        $marks = $this->request->marks();

        return $this->told($this->openTransaction()?->mark($markers, $this->space) ?? $marks->mark($markers));
    }

    /** Removes a value whose time is over, if it is there. */
    private function deleteIfThere(string $key): bool
    {
        if ($this->has($key)) {
            return $this->delete($key);
        }

        return $this->refuse($this->request->truth->down() ? Verdict::Failed : Verdict::Missing);
    }

    /** Notes why a call that may not have been passed on to its fiber's object yet is not made. */
    private function refuse(Verdict $verdict): bool
    {
        $here = $this->here() ?? $this;
        $here->verdict = $verdict;

        return false;
    }

    /** Notes and returns whether the truth tier could record a change. */
    private function told(bool $done): bool
    {
        $this->verdict = $done ? null : Verdict::Failed;

        return $done;
    }

    /** Ends the transaction, and notes and returns whether the truth tier could record everything. */
    private function end(bool $committed): bool
    {
        $this->verdict = $this->request->endTransaction($committed);

        return $this->verdict === Verdict::Store;
    }

    /** Lets all objects of this space count its gets together, however long each of them lives. */
    private function countIn(Observer $observer): void
    {
        $tally = $observer->tally($this->space);
        if ($tally !== null) {
            $this->free = &$tally->free;
            $this->granted = &$tally->granted;
            $this->copies->gets = &$tally->gets;
            $this->copies->lookups = &$tally->lookups;
            $this->copies->hits = &$tally->hits;
        }
    }

    private function compute(string $key, \Closure|callable $compute, Computation $computation): mixed
    {
        $observer = $this->view->observer;
        try {
            return $observer === null ? $computation->run($compute) : $observer->compute($key, $this->space, static fn(): mixed => $computation->run($compute));
        } catch (\Throwable $thrown) {
            $this->verdict = Verdict::Kept;

            throw $thrown;
        }
    }

    private function seconds(int|\DateInterval $time): int
    {
        return \is_int($time) ? $time : Interval::seconds($time, true);
    }

    /** @param list<string> $tags */
    private function entry(mixed $value, int $ttl, array $tags, int|\DateInterval|null $soft): Entry
    {
        $this->granted < 1 || $this->revoke();
        $soft = $soft === null ? $this->space->soft : $this->seconds($soft);
        try {
            $payload = $this->request->codec->encode($value);
        } catch (NotStorable $refused) {
            $this->refuse(Verdict::Refused);

            throw $refused;
        }
        $entry = Entry::make($payload, $this->request->truth->now(), $ttl, $soft, $tags === [] ? [] : $this->space->tags($tags));
        if (\is_array($value)) {
            $entry->given = $value;
        }

        return $entry;
    }

    private function done(string $key, string $name, mixed $value, Entry $entry, Verdict $verdict, int $calls): bool
    {
        // Once more: a destructor that has read the key meanwhile began a view, by which a fill outside must not be judged.
        $history = $this->view->history;
        $history->isShared && $history->change($name);
        if ($verdict === Verdict::Store || $verdict === Verdict::Same) {
            $this->keep($key, $value, $entry, $calls);
        } else {
            $this->copies->drop($key);
        }
        $this->verdict = $verdict;
        $isDone = $verdict !== Verdict::Failed && $verdict !== Verdict::Refused;
        if ($isDone) {
            $this->request->ended($name);
        }

        return $isDone;
    }

    /**
     * Keeps a copy of what was just stored. If a destructor has used the cache meanwhile, the store may have another value: then
     * no copy stays, not in the near tier either.
     *
     * @param int $calls of the view, before it was stored
     */
    private function keep(string $key, mixed $value, Entry $entry, int $calls): void
    {
        $this->copies->keepValue($key, $value, $entry);
        if ($calls !== $this->view->calls) {
            $this->request->gone($this->space->key($key), $this->space);
        }
    }

    /**
     * @param list<string> $tags
     * @param int          $moment see History::beginning()
     */
    private function fillIn(Transaction $transaction, string $key, mixed $value, int $ttl, array $tags, int|\DateInterval|null $soft, int $moment): bool
    {
        $entry = $this->entry($value, $ttl, $tags, $soft);
        $this->verdict = null;
        if ($ttl < 0) {
            return true;
        }
        $filled = $transaction->fill($this->space->key($key), $this->space, $entry, $moment);
        $this->verdict = $filled ? null : Verdict::Drop;
        if ($filled) {
            $this->copies->keepValue($key, $value, $entry);
        }

        return $filled;
    }

    /** @param \Closure(?Entry): (Entry|Verdict) $decide */
    private function atomic(string $key, mixed $value, \Closure $decide): bool
    {
        if (($here = $this->here()) !== null) {
            return $here->atomic($key, $value, $decide);
        }
        $held = Signals::hold();
        $entry = $this->swap($key, $decide, $calls);
        if ($entry !== null) {
            $this->keep($key, $value, $entry, $calls);
        }

        return $entry !== null;
    }

    private function count(string $key, int $by, bool $up, int $initial, int|\DateInterval|null $ttl): int|false
    {
        $ttl = $ttl === null ? $this->space->ttl : $this->seconds($ttl);
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
        }, $ttl, Verdict::Refused);

        return $count ?? false;
    }

    /**
     * @param \Closure(?Entry): (Entry|Verdict) $decide
     *
     * @param-out int $calls see keep()
     */
    private function swap(string $key, \Closure $decide, ?int &$calls): ?Entry
    {
        $swaps = $this->request->swaps();
        $calls = $this->view->calls;
        $name = $this->space->key($key);
        // What a transaction has set stays with it, if nothing comes of this.
        $this->request->transaction?->holds($name) || $this->copies->drop($key);

        try {
            $entry = $swaps->atomic($name, $this->space, $this->openTransaction()?->guard($decide, $this->space) ?? $decide);
        } catch (\Throwable $thrown) {
            $this->verdict = $thrown instanceof NotStorable ? Verdict::Refused : Verdict::Kept;

            throw $thrown;
        }
        $this->verdict = $entry instanceof Verdict ? $entry : null;

        return $entry instanceof Entry ? $entry : null;
    }

    /**
     * @param \Closure(?Entry, mixed): mixed $next takes the entry and its value, returns the new value, or null to keep the old one
     * @param Verdict                        $kept the verdict if it keeps the old one
     */
    private function change(string $key, \Closure $next, int $ttl = 0, Verdict $kept = Verdict::Kept): mixed
    {
        if (($here = $this->here()) !== null) {
            return $here->change($key, $next, $ttl, $kept);
        }
        $held = Signals::hold();
        $codec = $this->request->codec;
        $truth = $this->request->truth;
        $value = null;
        $soft = $this->space->soft;
        $decide = static function (?Entry $there) use ($codec, $truth, $next, $ttl, $soft, $kept, &$value): Entry|Verdict {
            $value = null;
            try {
                $value = $next($there, $there === null ? null : $codec->decode($there->payload));
            } catch (Undecodable) {
                // A value that cannot be decoded cannot be changed.
                return Verdict::Refused;
            }
            if ($value === null) {
                return $there === null && $kept === Verdict::Kept ? Verdict::Missing : $kept;
            }
            $payload = $codec->encode($value);

            return $there === null ? Entry::make($payload, $truth->now(), $ttl, $soft, []) : $there->with($payload);
        };
        $entry = $this->swap($key, $decide, $calls);
        if ($entry === null || $value === null) {
            return null;
        }
        $this->keep($key, $value, $entry, $calls);

        return $value;
    }
}
