<?php

declare(strict_types=1);

namespace Larder\WordPress;

use Larder\Cache;
use Larder\Codec\NotStorable;
use Larder\System\ErrorLog;
use Larder\System\WrongUser;

/**
 * WordPress's object cache: what $wp_object_cache is, with every method and property of WordPress's own class.
 *
 * It holds what this request has read as WordPress gave or got it, objects to be cloned for each reader, and asks
 * Larder\Cache, a group a key space, for all else:
 *
 *     s/<place>/c/<group>   WordPress's own groups      <place> on a network: g for global groups, else the blog's id;
 *     s/<place>/p/<group>   those of plugins            on a single site there is none
 *     ~larder               what Larder itself notes of this site
 *
 * so that a group, all groups of plugins, a site of a network, or all of them are flushed by one mark.
 *
 * Longer than other files: it is the interface of another class, with its documentation in WordPress.
 *
 * @see https://developer.wordpress.org/reference/classes/wp_object_cache/
 */
#[\AllowDynamicProperties]
class ObjectCache
{
    /** Larder's own records of this site: see records(). */
    public const OWN = '~larder';

    private const LOOK = 15;

    /** Nanoseconds after which a request that goes on learns what others changed. */
    private const RENEWAL = 1_000_000_000;

    /** Longer keys are hashed. */
    private const LONGEST = 1_024;

    /** One request in so many is recorded in the statistics. */
    private const SAMPLE = 16;

    /** @var ?\Closure(array<string, array<array-key, mixed>>, int): void is told what this request has of a blog, before that is dropped */
    public static ?\Closure $dropping = null;

    /** @var array<string, array<array-key, mixed>> by group and key, of the current blog */
    public array $cache = [];
    public int $cache_hits = 0;
    public int $cache_misses = 0;

    /** @var array<string, true> */
    public array $global_groups = [];

    /** @var array<string, true> */
    public array $non_persistent_groups = [];
    public string $blog_prefix = '';
    public readonly bool $multisite;

    /**
     * The clock is looked at once in so many hits, less one: a mask. Zero, at each hit: on the command line, where processes
     * wait for others, and in a class that extends this one, whose own get() must see every hit.
     */
    public int $mask;

    private ?Cache $root = null;
    private string $problem = '';
    private int $blog = 0;

    /** @var array<string, Cache> of the current blog, by group */
    private array $spaces = [];

    /** @var array<int, array{array<string, array<array-key, mixed>>, array<string, array<array-key, true>>}> what $cache and $kept are of other blogs */
    private array $away = [];

    /** @var array<string, array<array-key, true>> keys of WordPress's own groups that were found missing */
    private array $missed = [];

    /** @var array<string, array<array-key, true>> keys that only this request has, since they could not be stored */
    private array $kept = [];

    /** @var list<array{Cache, string}> what was added after a failed read, and may be a lock: with their spaces */
    private array $locks = [];

    /** Misses in groups that are not persistent. */
    private int $fleeting = 0;

    /** What the database has now may be rolled back. */
    private bool $inTransaction = false;

    private int $due = \PHP_INT_MAX;
    private ?Prefetch $prefetch = null;

    public function __construct(?Cache $root = null)
    {
        $this->mask = \PHP_SAPI === 'cli' || static::class !== self::class ? 0 : self::LOOK;
        $this->multisite = \function_exists('is_multisite') && \is_multisite();
        $this->blog = $this->multisite ? \get_current_blog_id() : 0;
        $this->blog_prefix = $this->multisite ? $this->blog . ':' : '';
        if ($root !== null) {
            $this->begin($root);
        } elseif (\func_num_args() === 0 && ($GLOBALS['wp_object_cache'] ?? null) instanceof self) {
            // A plugin makes an object of its own, or puts it in the place of the site's: it is over the same cache.
            $this->root = $GLOBALS['wp_object_cache']->root;
            $this->due = \hrtime(true) + self::RENEWAL;
        }
    }

    /** The one of this request, over the site's cache; or, where that cannot be had, for this request alone. */
    public static function start(): self
    {
        try {
            $site = Site::current();
            $directory = $site->directory();
            if ($directory === '') {
                throw new \RuntimeException('WordPress may write neither beside itself nor into ' . \WP_CONTENT_DIR . ', so there is no place for the cache. Make a directory that the web server can write, and define LARDER_DIRECTORY as its path.');
            }
            $isRoots = $directory !== null && Owner::expect($directory);
            // A network starts its cache twice (ms-settings.php).
            $isFirst = !isset($GLOBALS['wp_object_cache']);

            $cache = Owner::run(static function () use ($site, $isRoots): self {
                unset($GLOBALS['wp_object_cache']);
                $root = Cache::open($site->source());
                if (!(new Presence($site, $root))->confirm()) {
                    // phpcs:ignore WordPress.Security.EscapeOutput.ExceptionNotEscaped -- for the log; what shows it escapes it
                    throw new \RuntimeException('it must begin empty, and cannot be emptied: ' . $site->describe() . ' cannot be read or written. Type: wp larder doctor');
                }
                $cache = $isRoots ? new RootObjectCache($root) : new self($root);
                // Not with the plugin, which comes later, or, where it is not active, never.
                Intents::watch($cache);

                return $cache;
            });
            $isFirst && Owner::opened();

            return $cache;
        } catch (WrongUser $wrong) {
            if (\PHP_SAPI === 'cli') {
                // What it changed in the database, the web's cache would never hear of.
                // phpcs:ignore WordPress.WP.AlternativeFunctions.file_system_operations_fwrite -- the terminal is no file
                \fwrite(\STDERR, 'Larder: ' . $wrong->getMessage() . \PHP_EOL);
                exit(1);
            }
            $problem = $wrong->getMessage();
        } catch (\Throwable $error) {
            $problem = $error->getMessage();
        }
        Presence::leave();
        $cache = new self(null);
        $cache->problem = $problem;
        // Then transients belong into the database. A network starts its cache twice (ms-settings.php), and would load
        // WordPress's own functions beside ours the second time.
        $cache->multisite
            ? \add_action('ms_loaded', static fn() => \wp_using_ext_object_cache(false))
            : \wp_using_ext_object_cache(false);
        ErrorLog::write('Larder: the object cache is not persistent: ' . $problem);

        return $cache;
    }

    /** The front door of this site's cache; null: this request's own memory is all there is. */
    public function larder(): ?Cache
    {
        return $this->root;
    }

    /** Where a site's cache has what Larder itself notes: statistics, who flushed. */
    public static function records(Cache $root): Cache
    {
        return $root->group(self::OWN, true);
    }

    /** Why it is not persistent, and what to do; '' if it is. */
    public function problem(): string
    {
        return $this->problem;
    }

    /** The front door of a group, for the current blog; null: the group is not persistent. */
    public function space(string $group): ?Cache
    {
        if (isset($this->spaces[$group])) {
            return $this->spaces[$group];
        }
        if ($this->root === null || isset($this->non_persistent_groups[$group])) {
            return null;
        }

        return $this->spaces[$group] = $this->open($this->root, $this->place($group), $group);
    }

    /**
     * @param mixed   $key   an integer or a string that is not empty
     * @param ?string $group
     * @param bool    $force past this request's own copies
     * @param mixed   $found by reference: whether there was one
     *
     * @return mixed false if there is none
     */
    public function get($key, $group = 'default', $force = false, &$found = null)
    {
        // PHP 8.5 complains of null as an offset, and all of an array.
        \is_string($group) || $group = self::group($group);
        if (!$force && (\is_string($key) || \is_int($key)) && isset($this->cache[$group][$key])) {
            if ((++$this->cache_hits & $this->mask) === 0 && $this->look()) {
                $this->cache_hits--;

                return $this->first($key, $group, false, $found);
            }
            $found = true;
            $value = $this->cache[$group][$key];

            return \is_object($value) ? clone $value : $value;
        }

        return $this->first($key, $group, (bool) $force, $found);
    }

    /**
     * @param iterable<int|string> $keys
     * @param string               $group
     * @param bool                 $force
     *
     * @return array<array-key, mixed>
     */
    public function get_multiple($keys, $group = 'default', $force = false)
    {
        $group = self::group($group);
        $space = $force ? null : $this->space($group);
        $values = $names = $times = [];
        // A list goes by at once, so one look at the clock is enough for it. A caller that makes keys one by one may wait between two.
        $isList = \is_array($keys) && !$force;
        $isList && $this->look();
        foreach ($keys as $key) {
            // @phpstan-ignore function.alreadyNarrowedType (plugins pass anything)
            $value = $isList && (\is_int($key) || \is_string($key)) ? $this->cache[$group][$key] ?? null : null;
            if ($value !== null) {
                $this->cache_hits++;
                $values[$key] = \is_object($value) ? clone $value : $value;
            } elseif ($space !== null && self::isName($key) && !$this->holds($group, $key)) {
                $times[$key] = ($times[$key] ?? 0) + 1;
                $names[$key] = self::name($key);
                // Its place, so that the order stays.
                $values[$key] ??= false;
            } else {
                $values[$key] = $this->get($key, $group, $force);
            }
        }
        $found = $names === [] || $space === null ? [] : $space->getMultiple($names);
        foreach ($names as $key => $name) {
            if (\array_key_exists($name, $found)) {
                $this->cache_hits += $times[$key];
                $value = $this->cache[$group][$key] = $found[$name];
                if ($this->kept) {
                    unset($this->kept[$group][$key]);
                }
                $values[$key] = \is_object($value) ? clone $value : $value;
            } else {
                $this->cache_misses += $times[$key];
                $this->missed[$group][$key] = true;
            }
        }

        return $values;
    }

    /**
     * @param mixed $key an integer or a string that is not empty
     * @param mixed      $data
     * @param string     $group
     * @param int        $expire seconds, 0 for none
     *
     * @return bool
     */
    public function set($key, $data, $group = 'default', $expire = 0)
    {
        if (!$this->isValid($key)) {
            return false;
        }
        $group = self::group($group);
        if (\is_object($data)) {
            $data = clone $data;
        }
        $this->cache[$group][$key] = $data;
        $space = $this->spaces[$group] ?? $this->space($group);
        if ($space === null) {
            return true;
        }
        unset($this->missed[$group][$key]);
        try {
            $this->checkReads($group, $key);
            $done = $space->set(self::name($key), $data, (int) $expire);
        } catch (NotStorable) {
            // A closure, a connection, what a failed read has led to: this request can use it, and no other could.
            $space->delete(self::name($key));
            $done = false;
        }

        return $this->noted($group, $key, $done);
    }

    /**
     * @param array<int|string, mixed> $data
     * @param string                   $group
     * @param int                      $expire
     *
     * @return array<array-key, bool>
     */
    public function set_multiple(array $data, $group = '', $expire = 0)
    {
        $group = self::group($group);
        $space = $this->space($group);
        $done = [];
        if ($space !== null && \count($data) > 1) {
            try {
                $this->checkReads($group, ...\array_keys($data));
                $named = [];
                foreach ($data as $key => $value) {
                    $named[self::isName($key) ? self::name($key) : ''] = $value;
                }
                if (!\array_key_exists('', $named) && $space->setMultiple($named, (int) $expire)) {
                    foreach ($data as $key => $value) {
                        $this->cache[$group][$key] = \is_object($value) ? clone $value : $value;
                        unset($this->missed[$group][$key], $this->kept[$group][$key]);
                        $done[$key] = true;
                    }

                    return $done;
                }
            } catch (NotStorable) {
                // One of them; each by itself, then.
            }
        }
        foreach ($data as $key => $value) {
            $done[$key] = $this->set($key, $value, $group, $expire);
        }

        return $done;
    }

    /**
     * In WordPress's own groups a value that was just computed from the database; in all others atomic across processes.
     *
     * @param mixed $key an integer or a string that is not empty
     * @param mixed      $data
     * @param string     $group
     * @param int        $expire
     *
     * @return bool
     */
    public function add($key, $data, $group = 'default', $expire = 0)
    {
        if (\wp_suspend_cache_addition() || !$this->isValid($key)) {
            return false;
        }
        $group = self::group($group);
        $space = $this->space($group);
        $own = Groups::isOwn($group);
        // A lock that this request has seen may have ended, or have been given back by another.
        if ($own || $space === null ? $this->holds($group, $key) : $this->keeps($group, $key)) {
            return false;
        }
        if (\is_object($data)) {
            $data = clone $data;
        }
        if ($space === null) {
            $this->cache[$group][$key] = $data;

            return true;
        }
        if ($own && !isset($this->missed[$group][$key])) {
            $there = $space->get(self::name($key), $this);
            if ($there !== $this) {
                $this->cache[$group][$key] = $there;

                return false;
            }
        }
        unset($this->missed[$group][$key], $this->kept[$group][$key]);
        try {
            if ($own || !\is_scalar($data) || !(bool) $data) {
                $this->checkReads($group, $key);
            } elseif (FailedReads::any()) {
                // A lock, perhaps: it holds until the request's end.
                $this->locks[] = [$space, self::name($key)];
            }
            // WordPress adds without looking what it has just read from the database, also after a change of its own.
            $own && $space->computedNow(self::name($key));
            $done = match (true) {
                $own => $space->fill(self::name($key), $data, (int) $expire),
                // Over at once; WordPress's own class, and set(), say true.
                (int) $expire < 0 => !$space->has(self::name($key)),
                default => $space->add(self::name($key), $data, (int) $expire),
            };
        } catch (NotStorable) {
            if (!$own && $space->has(self::name($key))) {
                return false;
            }
            // WordPress's own class would have added it.
            $own = $this->kept[$group][$key] = true;
            $done = false;
        }
        if ($done || $own) {
            // A fill that was refused, since the key was changed meanwhile: this request has what it computed.
            $this->cache[$group][$key] = $data;
        }

        return $done || $own;
    }

    /**
     * @param array<int|string, mixed> $data
     * @param string                   $group
     * @param int                      $expire
     *
     * @return array<array-key, bool>
     */
    public function add_multiple(array $data, $group = '', $expire = 0)
    {
        $done = [];
        foreach ($data as $key => $value) {
            $done[$key] = $this->add($key, $value, $group, $expire);
        }

        return $done;
    }

    /**
     * @param mixed $key an integer or a string that is not empty
     * @param mixed      $data
     * @param string     $group
     * @param int        $expire
     *
     * @return bool
     */
    public function replace($key, $data, $group = 'default', $expire = 0)
    {
        if (!$this->isValid($key)) {
            return false;
        }
        $group = self::group($group);
        $space = $this->space($group);
        if ($space === null || $this->keeps($group, $key)) {
            return $this->holds($group, $key) && $this->set($key, $data, $group, $expire);
        }
        if ($this->inTransaction && Groups::isOwn($group)) {
            // What is atomic happens at once, and this may be rolled back.
            $this->get($key, $group, false, $found);

            return $found === true && $this->set($key, $data, $group, $expire);
        }
        if (\is_object($data)) {
            $data = clone $data;
        }
        try {
            $this->checkReads($group, $key);
            // What was added in this request may still wait to be stored.
            $space->writeFills();
            $done = $space->replace(self::name($key), $data, (int) $expire);
        } catch (NotStorable) {
            return $space->has(self::name($key)) && $this->set($key, $data, $group, $expire);
        }
        if ($done) {
            $this->cache[$group][$key] = $data;
        } else {
            unset($this->cache[$group][$key]);
        }

        return $done;
    }

    /**
     * @param mixed $key an integer or a string that is not empty
     * @param string     $group
     * @param bool       $deprecated
     *
     * @return bool whether there was one
     */
    public function delete($key, $group = 'default', $deprecated = false)
    {
        if (!$this->isValid($key)) {
            return false;
        }
        $group = self::group($group);
        $there = $this->holds($group, $key);
        unset($this->cache[$group][$key]);
        $space = $this->spaces[$group] ?? $this->space($group);
        if ($space === null) {
            return $there;
        }
        unset($this->kept[$group][$key]);
        if ($there) {
            $space->delete(self::name($key));

            return true;
        }
        // Asked only where it is not known: in some spaces that is a read of its own.
        $space->delete(self::name($key), $stored);

        return (bool) $stored;
    }

    /**
     * @param array<int|string> $keys
     * @param string            $group
     *
     * @return array<array-key, bool>
     */
    public function delete_multiple(array $keys, $group = '')
    {
        $done = [];
        foreach ($keys as $key) {
            $done[$key] = $this->delete($key, $group);
        }

        return $done;
    }

    /**
     * Atomic across processes; as with WordPress's own class not below zero, and what is no number counts as zero.
     *
     * @param mixed $key an integer or a string that is not empty
     * @param int        $offset
     * @param string     $group
     *
     * @return int|float|false the new value
     */
    public function incr($key, $offset = 1, $group = 'default')
    {
        return $this->count($key, (int) $offset, $group);
    }

    /**
     * @param mixed $key an integer or a string that is not empty
     * @param int        $offset
     * @param string     $group
     *
     * @return int|float|false
     */
    public function decr($key, $offset = 1, $group = 'default')
    {
        return $this->count($key, -(int) $offset, $group);
    }

    /**
     * This site, and what is global; no other site of a network. Who does it all the time is named (see Flushes).
     *
     * @return bool
     */
    public function flush()
    {
        $this->forget();
        if ($this->root === null) {
            return true;
        }
        $done = true;
        foreach ($this->multisite ? [(string) $this->blog, 'g'] : [''] as $place) {
            $done = self::at($this->root, $place)->flush() && $done;
        }
        if ($this->multisite) {
            // Elsewhere they are emptied with the rest.
            Page\Purge::site();
        }
        (new Flushes(self::records($this->root)))->count();

        return $done;
    }

    /** All sites of a network. */
    public function flush_network(): bool
    {
        $this->forget();

        return $this->root === null || self::at($this->root, '')->flush();
    }

    /**
     * @param string $group
     *
     * @return bool
     */
    public function flush_group($group)
    {
        $group = self::group($group);
        unset($this->cache[$group], $this->missed[$group], $this->kept[$group]);

        return $this->space($group)?->flush() ?? true;
    }

    /** @return bool */
    public function flush_runtime()
    {
        $this->root?->writeFills();
        $this->forget();
        $this->root?->forget();

        return true;
    }

    /**
     * Without a type, here and below: classes that extend WordPress's own have none.
     *
     * @param string|string[] $groups
     *
     * @return void
     */
    public function add_global_groups($groups)
    {
        foreach ((array) $groups as $group) {
            $this->global_groups[$group] = true;
            unset($this->spaces[$group]);
        }
    }

    /**
     * @param string|string[] $groups
     *
     * @return void
     */
    public function add_non_persistent_groups($groups)
    {
        foreach ((array) $groups as $group) {
            $this->non_persistent_groups[$group] = true;
            unset($this->spaces[$group]);
        }
    }

    /**
     * @param int $blog_id
     *
     * @return void
     */
    public function switch_to_blog($blog_id)
    {
        $blog = (int) $blog_id;
        if (!$this->multisite || $blog === $this->blog) {
            return;
        }
        self::$dropping?->__invoke($this->cache, $this->blog);
        $global = $this->global_groups;
        $this->away[$this->blog] = [\array_diff_key($this->cache, $global), \array_diff_key($this->kept, $global)];
        [$cache, $kept] = $this->away[$blog] ?? [[], []];
        $this->cache = $cache + \array_intersect_key($this->cache, $global);
        $this->kept = $kept + \array_intersect_key($this->kept, $global);
        unset($this->away[$blog]);
        $this->spaces = \array_intersect_key($this->spaces, $global);
        $this->missed = \array_intersect_key($this->missed, $global);
        $this->blog = $blog;
        $this->blog_prefix = $blog . ':';
    }

    /** @return void */
    public function reset()
    {
        self::$dropping?->__invoke($this->cache, $this->blog);
        $this->cache = \array_intersect_key($this->cache, $this->global_groups);
        $this->away = [];
    }

    /** @return void */
    public function stats()
    {
        echo '<p>';
        echo '<strong>Cache Hits:</strong> ' . (int) $this->cache_hits . '<br />';
        echo '<strong>Cache Misses:</strong> ' . (int) $this->cache_misses . '<br />';
        echo '</p><ul>';
        foreach ($this->cache as $group => $values) {
            echo '<li><strong>Group:</strong> ' . \esc_html((string) $group) . ' - ( ' . (int) \count($values) . ' )</li>';
        }
        echo '</ul>';
    }

    /** What these keys are computed from is about to change in the database. */
    public function intend(string $group, string ...$keys): void
    {
        $space = $this->space($group);
        foreach ($keys as $key) {
            unset($this->cache[$group][$key], $this->missed[$group][$key], $this->kept[$group][$key]);
        }
        $space?->intend(...\array_map(self::name(...), $keys));
        if ($space !== null && Replicas::lag() > 0.0 && $this->root !== null) {
            Replicas::change(self::records($this->root), ...\array_slice($this->changes($group, ...$keys), 1));
        }
    }

    /**
     * What these groups are computed from is about to change, for which keys is not known.
     *
     * @param int $blog of a network, whose tables they are; 0: the current one
     */
    public function outdate(string $group, int $blog = 0): void
    {
        if (Replicas::lag() > 0.0 && $this->root !== null) {
            Replicas::change(self::records($this->root), $blog === 0 || isset($this->global_groups[$group]) ? $this->changes($group)[0] : "$blog:$group");
        }
        if ($blog === 0 || $blog === $this->blog || isset($this->global_groups[$group])) {
            $this->flush_group($group);
        } elseif ($this->multisite && $this->root !== null && !isset($this->non_persistent_groups[$group])) {
            unset($this->away[$blog]);
            $this->open($this->root, (string) $blog, $group)->flush();
        }
    }

    /**
     * The last statement is done.
     *
     * @param bool $isDone false: a transaction goes on
     */
    public function written(bool $isDone): void
    {
        $this->root === null || Replicas::changed(self::records($this->root), $isDone);
    }

    /** A transaction of the database begins: what is said to be changed is so with its end. */
    public function beginTransaction(): void
    {
        $this->root?->begin();
        $this->inTransaction = true;
    }

    public function commitTransaction(): void
    {
        $this->inTransaction = false;
        $this->root?->commitTransaction();
    }

    /** What this request has of it, it may have from the transaction. */
    public function rollBack(): void
    {
        $this->inTransaction = false;
        $this->root?->rollBack();
        $this->drop();
    }

    public function rollBackToSavepoint(): void
    {
        $this->root?->rollBackToSavepoint();
        $this->drop();
    }

    /** It did not: readers need not go to the database for it any more. */
    public function relent(string $group, string ...$keys): void
    {
        $this->space($group)?->deleteMultiple(\array_map(self::name(...), $keys));
    }

    /** The request is over: what it added is stored, and what it used is remembered. */
    public function close(): void
    {
        if ($this->root === null) {
            return;
        }
        Intents::finish();
        foreach ($this->locks as [$space, $name]) {
            $space->delete($name);
        }
        $this->root->writeFills();
        if ($this->prefetch !== null) {
            $used = [];
            foreach ($this->cache as $group => $values) {
                if (!isset($this->non_persistent_groups[$group])) {
                    $used[$this->place($group)][$group] = \array_keys($values);
                }
            }
            $this->prefetch->save($used);
        }
        if (\PHP_SAPI !== 'cli' && \random_int(1, self::SAMPLE) === 1 && Choices::all()['statistics']) {
            $root = $this->root;
            Statistics::record(self::records($root), $this->report(), self::SAMPLE, static fn(): ?int => Statistics::held($root->stats()));
        }
    }

    /**
     * What this request did. A miss is counted where something could have been kept: nothing can be done about the
     * other ones, and WordPress has many of them on each page.
     *
     * @return array{hits: int, misses: int, seconds: float, round_trips: int, tiers: array<string, array<string, int|float|string>>, groups: array<string, array{keys: int}>}
     */
    public function report(): array
    {
        $tiers = $this->root?->stats(false) ?? [];
        $groups = [];
        foreach ($this->cache as $group => $values) {
            $groups[$group] = ['keys' => \count($values)];
        }
        unset($tiers['conflicts']);
        $seconds = 0.0;
        $trips = 0;
        $below = 0;
        $misses = $this->cache_misses - ($this->root === null ? 0 : $this->fleeting);
        foreach ($tiers as $name => $tier) {
            $seconds += (float) ($tier['time'] ?? 0);
            $trips += (int) ($tier['calls'] ?? 0);
            $below += $name === 'request' ? 0 : (int) ($tier['hits'] ?? 0);
        }
        if (isset($tiers['request'])) {
            $tiers['request'] = ['hits' => \max(0, $this->cache_hits - $below), 'misses' => $below + $misses] + $tiers['request'];
        }

        return ['hits' => $this->cache_hits, 'misses' => $misses, 'seconds' => $seconds, 'round_trips' => $trips, 'tiers' => $tiers, 'groups' => $groups];
    }

    /**
     * @param string|string[] $salt WordPress's own takes anything else as it is
     *
     * @return array{data: mixed, salt: mixed}
     */
    public static function salted(mixed $data, $salt): array
    {
        return ['data' => $data, 'salt' => \is_array($salt) ? \implode(':', $salt) : $salt];
    }

    /** @param string|string[] $salt */
    public static function unsalted(mixed $value, $salt): mixed
    {
        return \is_array($value) && isset($value['salt'], $value['data']) && $value['salt'] === (\is_array($salt) ? \implode(':', $salt) : $salt)
            ? $value['data'] : false;
    }

    private function begin(Cache $root): void
    {
        $this->root = $root;
        $this->due = \hrtime(true) + self::RENEWAL;
        $this->prefetch = Choices::all()['prefetch'] ? Prefetch::ofRequest($root->internals()->local()) : null;
        $wanted = [];
        foreach ($this->prefetch?->wanted() ?? [] as $place => $groups) {
            foreach ($groups as $group => $keys) {
                $space = $this->open($root, (string) $place, (string) $group);
                // A list has no keys so long that they have another name.
                $wanted[] = [$space, $keys];
                if (!$this->multisite) {
                    // Which groups are global, and so lie elsewhere, is not known yet; here there is one place for all.
                    $this->spaces[$group] = $space;
                }
            }
        }
        // In both cases from now on it counts what others change: nothing has been asked of the database yet.
        $wanted === [] ? $root->internals()->start() : $root->prefetch($wanted);
    }

    /** Where a group's keys lie: see above. */
    private function place(string $group): string
    {
        return !$this->multisite ? '' : (isset($this->global_groups[$group]) ? 'g' : (string) $this->blog);
    }

    private function open(Cache $root, string $place, string $group): Cache
    {
        $cacheOnly = Groups::isCacheOnly($group);
        $kind = $cacheOnly || Groups::isOwn($group) ? 'c' : 'p';
        $name = self::name($group);

        return $root->internals()->within($place === '' ? ['s', $kind, $name] : ['s', $place, $kind, $name], $cacheOnly);
    }

    private static function at(Cache $root, string $place): Cache
    {
        return $root->internals()->within($place === '' ? ['s'] : ['s', $place]);
    }

    /**
     * What this request has not read yet, or what is to be read anew.
     *
     * @internal for get() and wp_cache_get()
     */
    public function first(mixed $key, mixed $group, bool $force, mixed &$found): mixed
    {
        $found = false;
        // Without calls: groups that are not persistent come here for each miss.
        if (!\is_int($key) && (!\is_string($key) || \trim($key) === '') && !$this->isValid($key)) {
            return false;
        }
        if (!\is_string($group) || $group === '' || $group === '0') {
            $group = self::group($group);
        }
        $space = $this->spaces[$group] ?? (isset($this->non_persistent_groups[$group]) ? null : $this->space($group));
        if ((!$force || $space === null || isset($this->kept[$group][$key]))
            && isset($this->cache[$group]) && \array_key_exists($key, $this->cache[$group])) {
            $found = true;
            $this->cache_hits++;
            $value = $this->cache[$group][$key];

            return \is_object($value) ? clone $value : $value;
        }
        if ($space !== null) {
            $name = \is_string($key) && $key[0] !== 's' && !isset($key[self::LONGEST]) ? $key : self::name($key);
            if ($force) {
                // What was added in this request may still wait to be stored.
                $space->writeFills();
                $space->forget($name);
            }
            $value = $space->get($name, $this);
            if ($value !== $this) {
                $found = true;
                $this->cache_hits++;
                $this->cache[$group][$key] = $value;
                if ($this->kept) {
                    unset($this->kept[$group][$key]);
                }

                return \is_object($value) ? clone $value : $value;
            }
            unset($this->cache[$group][$key]);
            $this->missed[$group][$key] = true;
        } else {
            $this->fleeting++;
        }
        $this->cache_misses++;

        return false;
    }

    private function count(mixed $key, int|float $offset, mixed $group): int|float|false
    {
        if (!$this->isValid($key)) {
            return false;
        }
        $group = self::group($group);
        $space = $this->space($group);
        $add = static function (mixed $value) use ($offset): int|float {
            $sum = (\is_numeric($value) ? $value + 0 : 0) + $offset;

            return $sum < 0 ? 0 : $sum;
        };
        $isOwn = $this->inTransaction && Groups::isOwn($group);
        if ($space === null || $this->keeps($group, $key) || $isOwn) {
            // What is atomic happens at once, and a transaction may be rolled back.
            $isOwn && $this->get($key, $group);
            if (!$this->holds($group, $key)) {
                return false;
            }
            $value = $add($this->cache[$group][$key]);
            // A number can be stored, whatever it was before.
            $this->set($key, $value, $group);

            return $value;
        }
        $space->writeFills();
        $value = $space->update(self::name($key), $add);
        unset($this->cache[$group][$key]);
        if (!\is_int($value) && !\is_float($value)) {
            return false;
        }

        return $this->cache[$group][$key] = $value;
    }

    /**
     * What was computed after a failed read is not for others, and neither is what may have come from a copy of the database
     * that lags behind. A session was not read from the database.
     *
     * @throws NotStorable
     */
    private function checkReads(string $group, int|string ...$keys): void
    {
        if (FailedReads::any() && !Groups::isSession($group)) {
            throw NotStorable::at('', 'was computed after a statement had failed');
        }
        if (Replicas::lag() > 0.0 && $this->root !== null && Groups::isRead($group)
            && Replicas::isBehind(self::records($this->root), ...$this->changes($group, ...$keys))) {
            throw NotStorable::at('', 'may be older than a change of the database');
        }
    }

    /** @return list<string> by which Replicas knows a group and its keys */
    private function changes(string $group, int|string ...$keys): array
    {
        $group = $this->place($group) . ':' . $group;

        return [$group, ...\array_map(static fn(int|string $key): string => "$group:$key", \array_values($keys))];
    }

    private function holds(string $group, int|string $key): bool
    {
        return isset($this->cache[$group]) && \array_key_exists($key, $this->cache[$group]);
    }

    /** Whether only this request has it: a plugin that empties $cache, as importers do, has emptied it of that too. */
    private function keeps(string $group, int|string $key): bool
    {
        if (isset($this->kept[$group][$key]) && !$this->holds($group, $key)) {
            unset($this->kept[$group][$key]);
        }

        return isset($this->kept[$group][$key]);
    }

    /** Of what could not be stored this request has its own. */
    private function noted(string $group, int|string $key, bool $done): bool
    {
        if ($done) {
            unset($this->kept[$group][$key]);
        } else {
            $this->kept[$group][$key] = true;
        }

        return $done;
    }

    /** Once a second: what others changed meanwhile. Whether copies were dropped. */
    private function look(): bool
    {
        $now = \hrtime(true);
        if ($now < $this->due || $this->root === null) {
            return false;
        }
        self::$dropping?->__invoke($this->cache, $this->blog);
        $this->due = $now + self::RENEWAL;
        $news = $this->root->learn();
        $this->cache = $this->lasting($this->cache, $this->kept, $news);
        foreach ($this->away as $blog => [$cache, $kept]) {
            $this->away[$blog] = [$this->lasting($cache, $kept, $news), $kept];
        }

        return true;
    }

    /**
     * What lies in no other place stays. Where nothing changed, only what may have ended by itself goes: below it is known.
     *
     * @param array<string, array<array-key, mixed>> $cache of a blog
     * @param array<string, array<array-key, true>>  $kept  of the same
     *
     * @return array<string, array<array-key, mixed>>
     */
    private function lasting(array $cache, array $kept, bool $news): array
    {
        $lasting = [];
        foreach ($cache as $group => $values) {
            if (isset($this->non_persistent_groups[$group]) || (!$news && !Groups::isCacheOnly((string) $group))) {
                $lasting[$group] = $values;
            }
        }
        foreach ($kept as $group => $keys) {
            $lasting[$group] ??= \array_intersect_key($cache[$group] ?? [], $keys);
        }

        return $lasting;
    }

    /** This request's copies of what lies elsewhere too. */
    private function drop(): void
    {
        self::$dropping?->__invoke($this->cache, $this->blog);
        $this->cache = \array_intersect_key($this->cache, $this->non_persistent_groups);
        foreach ($this->away as $blog => [$cache]) {
            $this->away[$blog] = [\array_intersect_key($cache, $this->non_persistent_groups), []];
        }
        $this->missed = $this->kept = [];
    }

    private function forget(): void
    {
        self::$dropping?->__invoke($this->cache, $this->blog);
        $this->cache = $this->away = $this->missed = $this->kept = [];
    }

    private static function group(mixed $group): string
    {
        return \is_scalar($group) && $group !== false && (string) $group !== '' && (string) $group !== '0' ? (string) $group : 'default';
    }

    private static function isName(mixed $key): bool
    {
        return \is_int($key) || (\is_string($key) && \trim($key) !== '');
    }

    /** @phpstan-assert-if-true int|string $key */
    private function isValid(mixed $key): bool
    {
        if (self::isName($key)) {
            return true;
        }
        if (!\function_exists('__')) {
            \wp_load_translations_early();
        }
        // phpcs:ignore WordPress.PHP.DevelopmentFunctions.error_log_debug_backtrace -- names the function that was called wrongly, as WordPress does
        $calls = \array_column(\debug_backtrace(\DEBUG_BACKTRACE_IGNORE_ARGS, 3), 'function');
        // wp_cache_get() calls first() without get().
        $function = 'WP_Object_Cache::' . \str_replace('wp_cache_', '', \in_array($calls[1], ['first', 'count'], true) ? $calls[2] : $calls[1]);
        // phpcs:ignore WordPress.WP.I18n -- WordPress's own text, so that it has it in every language
        $text = \is_string($key) ? \__('Cache key must not be an empty string.') : \sprintf(\__('Cache key must be an integer or a non-empty string, %s given.'), \gettype($key));
        // phpcs:ignore WordPress.Security.EscapeOutput -- it escapes what it prints, and has parts of HTML
        \_doing_it_wrong($function, $text, '6.1.0');

        return false;
    }

    private static function name(int|string $key): string
    {
        return match (true) {
            \is_int($key) => (string) $key,
            // What looks like one that was hashed too, so that no two are one.
            \strlen($key) > self::LONGEST || \str_starts_with($key, 'sha256:') => 'sha256:' . \hash('sha256', $key),
            default => $key,
        };
    }
}
