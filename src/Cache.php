<?php

declare(strict_types=1);

namespace Larder;

use Larder\Codec\Entry;
use Larder\Codec\NotStorable;
use Larder\Codec\Undecodable;
use Larder\Config\Assembly;
use Larder\Config\InvalidConfiguration;
use Larder\System\Signals;
use Larder\System\WrongUser;
use Larder\Tier\InvalidKey;
use Larder\Tier\Near\ApcuNear;
use Larder\Tier\Near\SegmentNear;
use Larder\Tier\Report;
use Larder\Tier\Request;
use Larder\Tier\RequestTier;
use Larder\Tier\Space;
use Larder\Tier\Transaction;
use Larder\Tier\Verdict;
use Larder\Tier\View;

/**
 * The front door: one cache over up to four tiers.
 *
 * `false` always means: not done. Nothing here throws because a part has failed: then a get is a miss, a write is
 * false, and one line in the log says why. What throws: a key that cannot be one (Tier\InvalidKey), a value that
 * cannot be stored (Codec\NotStorable), a configuration that makes no sense (Config\InvalidConfiguration).
 *
 * Keys are any non-empty strings of up to 65,536 bytes. Times are seconds; 0 is no expiry, a negative one has passed.
 *
 * Longer than other files: it is the whole public interface with its documentation, and its hot path, which may not
 * call into a class of its own (a call costs as much as the array look-up that a hit is).
 */
final class Cache
{
    /**
     * After STREAK gets that followed one another within CLOSE nanoseconds each, as in a loop that does nothing else,
     * the clock is looked at once in RUN + 1 of them; in all other programs at each get.
     */
    private const RUN = 31;
    private const STREAK = 512;
    private const CLOSE = 500;

    /** @var array<array-key, mixed> the copies' $values, by reference: a hit is an array look-up */
    private array $values;
    private readonly RequestTier $copies;

    /** @var array<array-key, int> the copies' $own, by reference */
    private array $own;

    /** Gets that look at no clock; below zero they have been counted since $gets were. */
    private int $free = 0;
    private int $granted = 0;
    private int $checked = 0;
    private int $streak = 0;
    private int $lookups = 0;

    /** APCu or the segment as the nearest tier is asked from here, without a call in between. Derived anew with each view. */
    private ?ApcuNear $near = null;
    private ?Segment $segment = null;
    private int $version = 0;
    private string $nearPrefix = '';
    /** Compact copies lie between these two: made after the last flush, and not after this request's view. */
    private string $floor = '';
    private string $ceiling = '';
    private int $floorAt = 0;
    private int $ceilingAt = 0;
    private int $gets = 0;
    private int $nearHits = 0;

    /** The stack's count when learn() was last asked. */
    private int $news;

    private readonly View $view;

    private function __construct(private readonly Request $request, private readonly Space $space)
    {
        $this->view = $request->view;
        $this->news = $request->view->news;
        $copies = $request->view->copies($space);
        if ($copies === null) {
            $copies = new RequestTier($request->codec, $request->view->history, $request->truth, $space->entries);
            $request->view->register($space, $copies);
        }
        $this->copies = $copies;
        $this->values = &$copies->values;
        $this->own = &$copies->own;
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

    public function get(string $key, mixed $default = null): mixed
    {
        if (--$this->free < 0) {
            $this->check();
        }

        return $this->values[$key] ?? $this->lookup($key, $default);
    }

    /**
     * Stores a value in every tier before it returns. Where somebody else changed the key since this request first
     * read it, the table of conflicts decides: a set that it dropped returns true, and the key is invalidated.
     *
     * @param int          $ttl  seconds; 0 no expiry, negative: as expired
     * @param list<string> $tags
     *
     * @throws NotStorable|InvalidKey
     */
    public function set(string $key, mixed $value, int $ttl = 0, array $tags = []): bool
    {
        $held = Signals::hold();
        $name = $this->space->key($key);
        $entry = $this->entry($value, $ttl, $tags);
        if ($ttl < 0) {
            return $this->delete($key);
        }
        $writer = $this->request->writer();
        $transaction = $this->openTransaction();
        if ($transaction !== null) {
            $told = $transaction->change($name, $this->space, $entry);
            $this->copies->keepValue($key, $value, $entry);

            return $told;
        }

        return $this->done($key, $name, $value, $entry, $writer->set($name, $this->space, $entry));
    }

    /**
     * Stores if there is no value; atomic across processes and servers. False also when the truth tier is down.
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
     * Stores if there is a value; atomic across processes and servers. False also when the truth tier is down.
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
     * Stores a value that was just computed after a miss: here and near at once, in the truth tier with commit() or
     * at the request's end. False, and not stored, if somebody changed the key meanwhile.
     *
     * @param list<string> $tags
     *
     * @throws NotStorable|InvalidKey
     */
    public function fill(string $key, mixed $value, int $ttl = 0, array $tags = []): bool
    {
        $held = Signals::hold();
        $name = $this->space->key($key);
        $entry = $this->entry($value, $ttl, $tags);
        if ($ttl < 0) {
            return true;
        }
        $writer = $this->request->writer();
        $transaction = $this->openTransaction();
        if ($transaction !== null) {
            $transaction->fill($name, $this->space);
            $this->copies->keepValue($key, $value, $entry);

            return true;
        }
        $filled = $writer->fill($name, $this->space, $entry);
        if ($filled || $this->request->truth->down()) {
            // Without a truth tier the request still has what it computed.
            $this->copies->keepValue($key, $value, $entry);
        } else {
            $this->copies->drop($key);
        }

        return $filled;
    }

    /**
     * The value, or what $compute returns, computed by one process for all that miss it at the same time.
     *
     * @param \Closure(): mixed $compute an exception passes on, and the next caller computes
     * @param list<string>      $tags
     * @param int               $soft    seconds after which one caller renews it while the others get the old value; 0 never
     *
     * @throws NotStorable|InvalidKey
     */
    public function remember(string $key, \Closure $compute, int $ttl = 0, array $tags = [], int $soft = 0): mixed
    {
        if (--$this->free < 0) {
            $this->check();
        }
        if (isset($this->values[$key])) {
            return $this->values[$key];
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
        if ($this->openTransaction() !== null) {
            // Everybody computes for himself then: what one sees is not what others see.
            $value = $this->get($key, $this->request);
            if ($value === $this->request) {
                $value = Signals::letIn($compute);
                $this->fill($key, $value, $ttl, $tags);
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
     * Removes the key everywhere, and with it what others are about to fill. True also if it was not there.
     *
     * @param mixed $there set to whether there was a value in the truth tier (one that a tag has invalidated counts)
     */
    public function delete(string $key, mixed &$there = null): bool
    {
        if (!$this->space->cacheOnly || !$this->request->truth->appends()) {
            return $this->remove([$key], $there);
        }
        $held = Signals::hold();
        // Where nothing is judged it need not be judged now; then whether there was a value has to be asked before.
        $name = $this->space->key($key);
        $there = \func_num_args() < 2 || $this->isThere($key, $name);
        $writer = $this->request->writer();
        $this->copies->drop($key);

        return $writer->append($name, $this->space, null) || $this->remove([$key]);
    }

    /** Empties this space, and the groups in it, at once and in constant time. */
    public function flush(): bool
    {
        return $this->mark([$this->space->flush()]);
    }

    /**
     * Adds to an integer, atomically across processes and servers; one that is missing starts at $initial.
     *
     * @return int|false the new value; false, unchanged: not an integer, beyond 64 bits, or the truth tier is down
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
                // The places of those that are asked for together, so that the order stays.
                $found[$key] = $this->request;
                $names[$key] = $this->space->key($key);
            }
        }
        if ($names === []) {
            return $found;
        }
        $held = Signals::hold();
        $changes = $this->view->changes;
        $entries = $this->request->reader()->fetchMany(\array_values($names), $this->space);
        foreach ($names as $key => $name) {
            $there = false;
            if (isset($entries[$name])) {
                $found[$key] = $this->copies->put((string) $key, $entries[$name], $there);
                $changes === $this->view->changes || $this->copies->drop((string) $key);
            }
            if (!$there) {
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
        $entries = [];
        foreach ($values as $key => $value) {
            $entries[$this->space->key((string) $key)] = $this->entry($value, $ttl, []);
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
     * "I am about to change what these are computed from": until this request sets or deletes them, or ends, nothing
     * is stored under them and readers go to the database.
     */
    public function intend(string ...$keys): void
    {
        $held = Signals::hold();
        $intents = $this->request->intents();
        foreach ($keys as $key) {
            $this->copies->drop($key);
            $name = $this->space->key($key);
            if ($this->request->transaction !== null) {
                $this->request->transaction->intend($name, $this->space);
            } else {
                $intents->put($name, $this->space);
            }
        }
    }

    /**
     * Replaces the value that is there by what is computed from it; atomic across processes and servers. Its expiry and
     * tags stay.
     *
     * @param \Closure(mixed): mixed $change from the old value to the new one; null: leave it. Called again where somebody
     *                                       came between
     *
     * @return mixed the new value; null: there is none, it was left, or the truth tier is down
     *
     * @throws NotStorable|InvalidKey
     */
    public function update(string $key, \Closure $change): mixed
    {
        return $this->change($key, static fn(?Entry $there, mixed $value): mixed => $there === null ? null : $change($value));
    }

    /**
     * Drops this request's copies, of these keys or else of this whole space and the groups in it: the next get reads
     * from the tiers below. Nothing changes for anybody else, and writes are judged as before.
     */
    public function forget(string ...$keys): void
    {
        if ($keys === []) {
            $this->view->forget($this->space);
        }
        foreach ($keys as $key) {
            $this->copies->drop($key);
            $this->view->history->gone($this->space->entries . $key);
        }
    }

    /**
     * Reads what is about to be asked for, of several spaces at once: one round trip or one statement. Values wait
     * encoded, and are decoded when they are asked for. A near tier that has them is left to answer for itself.
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
        $this->request->reader()->prefetch($lists);
    }

    /**
     * Learns now what others changed, as a process that lives on does by itself once a second, and drops the copies of
     * it. Writes are judged as before.
     *
     * @return bool whether anything did change since the request began or since this was last asked, so that whoever
     *              keeps copies of his own knows to drop them
     */
    public function learn(): bool
    {
        $this->request->renew();
        $news = $this->view->news !== $this->news;
        $this->news = $this->view->news;

        return $news;
    }

    /**
     * In a process that lives on: a new request begins, nothing is held from before. Commits first. In a transaction, which
     * does hold something from before, it learns what others changed, as learn() does.
     */
    public function refresh(): void
    {
        $held = Signals::hold();
        $this->request->refresh();
        $this->version = -1;
    }

    /**
     * Runs $work, which holds a database transaction from BEGIN to COMMIT, so that what it changes counts from COMMIT on.
     *
     * Each key, tag and space that it changes gets an intent: until the end nobody stores anything under a changed key, and
     * what is set inside is seen by this request alone. When $work returns, what was set is stored if nobody else changed
     * its key since the transaction began; everything else is done once more. An exception drops all that was set or filled
     * inside, and passes on. If the process dies before the end, nothing old is shown.
     *
     * A call inside another joins the outermost one, whichever group it is made on; an exception that leaves it drops what
     * was changed inside it. Fills inside stay in this request. Cache-only spaces, and add(), replace(), increment(),
     * decrement() and update(), act at once.
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
        try {
            $result = $work();
        } catch (\Throwable $throwable) {
            $this->rollBack();

            throw $throwable;
        }
        $this->commitTransaction();

        return $result;
    }

    /** For whoever only sees statements go by: see transaction(). Before the database's BEGIN. */
    public function begin(): void
    {
        $held = Signals::hold();
        $this->request->begin();
    }

    /** After the database's COMMIT. False: not all of it could be recorded; it is kept until it can. */
    public function commitTransaction(): bool
    {
        $held = Signals::hold();
        return $this->request->end(true);
    }

    /** After the database's ROLLBACK, or the loss of its connection. False: see commitTransaction(). */
    public function rollBack(): bool
    {
        $held = Signals::hold();
        return $this->request->end(false);
    }

    /** After a ROLLBACK TO a savepoint: drops what was set or filled in the transaction so far, which goes on. */
    public function rollBackToSavepoint(): void
    {
        $held = Signals::hold();
        $this->request->rollBackTo();
    }

    /** Writes the fills that wait for the request's end. */
    public function commit(): void
    {
        $held = Signals::hold();
        $this->request->commit();
    }

    /**
     * What each tier did in this process: hits, misses, writes, time (seconds), errors, of the truth also calls; what it
     * holds: engine, bytes, entries, budget; under `conflicts` what the table of conflicts decided.
     *
     * @param bool $stored false: not what the tiers hold, which asks the engines, but what this process did alone
     *
     * @return array<string, array<string, int|float|string>>
     */
    public function stats(bool $stored = true): array
    {
        $held = Signals::hold();

        return Report::stats($this->request, $this->gets + $this->granted - $this->free, $this->nearHits, $this->lookups, $this->copies, $stored);
    }

    /**
     * Where a key lies, for people.
     *
     * @return list<array{tier: string, found: bool, age: ?float, size: ?int, ttl: ?float, tags: list<string>, position: ?int, kind: string}>
     */
    public function inspect(string $key): array
    {
        $held = Signals::hold();

        return Report::inspect($this->request, $this->space, $this->space->key($key), $this->copies->has($key));
    }

    /**
     * What the names of files begin with that belong to this cache on this server alone, in a private directory that is
     * there: for what an application would note beside the cache.
     *
     * @return ?string null: there is no such directory
     */
    public function local(): ?string
    {
        return $this->request->local;
    }

    /** @return iterable<string, array{size: int, age: float, ttl: ?float, group: string}> everything in the truth tier, by key */
    public function entries(): iterable
    {
        return Report::entries($this->request);
    }

    /** The clock is looked at: copies that have ended go, and what others changed is learned once a second. */
    private function check(): void
    {
        $now = \hrtime(true);
        if ($now >= $this->view->due) {
            $this->request->renew();
        }
        if ($now >= $this->copies->due) {
            $this->copies->expire();
        }
        $this->streak = $now - $this->checked < self::CLOSE * ($this->granted + 1) ? $this->streak + 1 : 0;
        $this->checked = $now;
        if ($this->streak > self::STREAK || $this->granted !== 0) {
            // Else $free goes on below zero, and each get looks; as it does where a copy may end at any time.
            $this->gets += $this->granted - $this->free;
            $this->free = $this->granted = $this->streak > self::STREAK && $this->copies->due === \PHP_INT_MAX ? self::RUN : 0;
        }
    }

    /** @param bool $below false: not asked of the truth tier (with the tiers themselves, which nobody could have stored, as default) */
    private function lookup(string $key, mixed $default, bool $below = true): mixed
    {
        if ($this->version !== $this->view->version) {
            $this->derive();
        }
        if ($this->segment !== null) {
            /** @var array{int, mixed}|array{int, null, mixed, int, int, int, int, list<string>, bool}|null $copy */
            $copy = $this->segment->get($this->nearPrefix . $key);
            if (isset($copy[1]) && $copy[0] > $this->floorAt
                && (isset($this->own[$key]) ? $copy[0] === $this->own[$key] : $copy[0] <= $this->ceilingAt)) {
                if ((++$this->nearHits & 1023) === 0) {
                    $this->copies->trim();
                }

                // Of a long value too nothing but its place is kept here.
                return $this->values[$key] = $copy[1];
            }
            if ($copy !== null) {
                $hit = SegmentNear::parse($copy);
                $value = $this->good($key, $hit[0], $hit[1], $found);
                if ($found) {
                    return $value;
                }
            }
        } elseif ($this->near !== null) {
            $raw = \apcu_fetch($this->nearPrefix . $key);
            if (\is_string($raw)) {
                if (isset($this->own[$key]) ? \strncmp($raw, 's' . \pack('J', $this->own[$key]), 9) === 0 && $raw > $this->floor
                    : $raw < $this->ceiling && $raw > $this->floor) {
                    if ((++$this->nearHits & 1023) === 0) {
                        $this->copies->trim();
                    }

                    return $this->values[$key] = \substr($raw, 9);
                }
                $hit = ApcuNear::parse($raw);
                $value = $hit === null ? null : $this->good($key, $hit[0], $hit[1], $found);
                if ($hit !== null && $found) {
                    return $value;
                }
            } elseif (\is_array($raw) && isset($raw[0], $raw[1]) && $raw[0] > $this->floorAt
                && (isset($this->own[$key]) ? $raw[0] === $this->own[$key] : $raw[0] <= $this->ceilingAt)) {
                // Long strings are read from APCu each time, in half a microsecond, and not kept twice.
                $this->copies->passed[$key] = true;
                if ((++$this->nearHits & 1023) === 0) {
                    $this->copies->trim();
                }

                return $raw[1];
            } elseif ($raw !== false) {
                $hit = ApcuNear::parse($raw);
            }
        }

        return $this->find($key, $default, $below, $hit ?? null);
    }

    /** The value of a near copy that ends, or is encoded, if nothing has to be asked of the tiers to know that it is good. */
    private function good(string $key, Entry $entry, int $position, mixed &$found): mixed
    {
        $found = false;
        if ($position <= $this->floorAt || (isset($this->own[$key]) ? $position !== $this->own[$key] : $position > $this->ceilingAt)
            || $entry->soft !== 0 || $entry->sure !== 0 || $entry->tags !== [] || ($entry->expiry !== 0 && $entry->expired($this->request->truth->now()))) {
            return null;
        }
        $held = Signals::hold();
        $changes = $this->view->changes;
        $value = $this->copies->put($key, $entry, $found);
        $changes === $this->view->changes || $this->copies->drop($key);
        if ($found === true) {
            $this->nearHits++;
        }

        return $value;
    }

    /** @param array{Entry, int}|null $hit what the nearest tier has, where lookup() asked it */
    private function find(string $key, mixed $default, bool $below, ?array $hit): mixed
    {
        $held = Signals::hold();
        $this->lookups++;
        if (isset($this->copies->entries[$key])) {
            $value = $this->copies->decode($key, $found);
            if ($found) {
                return $value;
            }
        }
        $name = $this->space->key($key);
        $changes = $this->view->changes;
        $isAsked = $this->version === $this->view->version && ($this->segment !== null || $this->near !== null);
        $entry = $this->below($key, $name, $below, $isAsked, $hit);
        if ($entry === null) {
            return $default;
        }
        $value = $this->copies->put($key, $entry, $found);
        if ($changes !== $this->view->changes) {
            // A destructor or signal handler has changed something meanwhile, and that may have been this key.
            $this->copies->drop($key);
        }

        return $found ? $value : $default;
    }

    /** As has(), for a key that is about to go: its value is neither decoded nor kept. */
    private function isThere(string $key, string $name): bool
    {
        if (--$this->free < 0) {
            $this->check();
        }

        return $this->copies->has($key) || $this->below($key, $name, true, false, null) !== null;
    }

    /**
     * What the near tiers have, or else, if it is to be asked, the truth.
     *
     * @param bool                   $isAsked the nearest tier was asked already
     * @param array{Entry, int}|null $hit     what it answered
     */
    private function below(string $key, string $name, bool $truth, bool $isAsked, ?array $hit): ?Entry
    {
        $reader = $this->request->reader();
        $entry = $this->view->nears === [] ? null : $reader->near($name, $this->space, $this->own[$key] ?? 0, $isAsked, $hit);

        return $entry === null && $truth ? $reader->fetch($name, $this->space) : $entry;
    }

    /**
     * A destructor that uses the cache meanwhile finds no near tier, or derives for itself; what it changes makes another
     * version, and this is derived anew.
     */
    private function derive(): void
    {
        $held = Signals::hold();
        $view = $this->view;
        $this->near = null;
        $this->segment = null;
        $near = $view->nearReadable ? $view->nears[0] ?? null : null;
        if ($near instanceof ApcuNear || $near instanceof SegmentNear) {
            // The floor first: asking for it may renew the view, and begin a new generation of near copies.
            $view->floor($this->space);
            $version = $view->version;
            $floor = \max($view->floor($this->space), $view->history->ownFloor);
            $ceiling = $view->history->start();
            $this->version = -1;
            $this->floorAt = $floor;
            $this->ceilingAt = $ceiling;
            $this->nearPrefix = $near->prefix . $this->space->entries;
            if ($near instanceof ApcuNear) {
                $this->floor = 's' . \pack('J', $floor);
                $this->ceiling = 's' . \pack('J', $ceiling + 1);
                $this->near = $near;
            } else {
                $this->segment = $near->segment;
            }
            $this->version = $version;
        } else {
            $this->version = $view->version;
        }
    }

    /** The transaction that a change in this space belongs to. */
    private function openTransaction(): ?Transaction
    {
        return $this->space->cacheOnly ? null : $this->request->transaction;
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
        // All of them first: whoever yields them may use the cache.
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
        $entry = Entry::make($this->request->codec->encode($value), $this->request->truth->now(), $ttl, $soft, $tags === [] ? [] : $this->space->tags($tags));
        if (\is_array($value)) {
            $entry->given = $value;
        }

        return $entry;
    }

    private function done(string $key, string $name, mixed $value, Entry $entry, Verdict $verdict): bool
    {
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

    /** @param \Closure(?Entry): ?Entry $decide */
    private function atomic(string $key, mixed $value, \Closure $decide): bool
    {
        $held = Signals::hold();
        $writer = $this->request->writer();
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
                // No integer, or the sum would pass 64 bits.
                return null;
            }

            return $up ? $from + $by : $from - $by;
        }, $ttl);

        return $count ?? false;
    }

    /** @param \Closure(?Entry, mixed): mixed $next from what there is, and its value, to the new value; null: leave it */
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
                // Not a value that could be computed with.
            }
            if ($value === null) {
                return null;
            }
            $payload = $codec->encode($value);

            return $there === null ? Entry::make($payload, $truth->now(), $ttl, 0, []) : $there->with($payload);
        };
        $writer = $this->request->writer();
        $this->copies->drop($key);
        $entry = $writer->atomic($this->space->key($key), $this->space, $decide);
        if ($entry === null || $value === null) {
            return null;
        }
        $this->copies->keepValue($key, $value, $entry);

        return $value;
    }
}
