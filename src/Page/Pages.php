<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Cache;
use Larder\Page\Files\FileOptions;
use Larder\Page\Files\Tree;
use Larder\Page\Http\NoVarySearch;
use Larder\System\FileLock;
use Larder\System\ProcessId;
use Larder\System\Quiet;

/**
 * The stored pages, in two groups of the cache. Under a request's key lie, each with a letter in front, in `page`
 *
 *     p  the page, or the list of field names that its variants depend on; each variant has a key of its own
 *     s  its freshness stamp: without it the page has been expired, and is renewed at the next request
 *
 * and in `page-notes`
 *
 *     x  by a part of the key's hash, with all of the hash: a mark, that the page was private, uncacheable or failing last
 *        time, so nobody waits for it
 *     t  the same: why the store did not take the page last time, although another one may be taken
 *     b  its builder
 *     i, r, u and ring: see Budget
 *     w  by host name: how many may wait there
 *     n  by path and not by key: the last No-Vary-Search rule of a response
 *     o  by origin: the owner's options and what the web server tells PHP of itself, for the command line; and without one,
 *        of which origins there are some
 *
 * Page and stamp carry the same tags, the stamp's with a mark in front. Invalidating a tag removes pages; with the mark it
 * expires them. Nothing that lies there is trusted to be what this class wrote.
 *
 * @phpstan-import-type Page from Serve
 * @phpstan-import-type Copyable from FastDoor
 * @phpstan-type Stored array{page: Page, body: string, isExpired: bool, name: string}
 */
final class Pages
{
    /** Most tags that the cache invalidates in one call. */
    private const AT_ONCE = 1_000;

    /** Most lists of field names that one URL's variants may depend on. */
    private const LISTS = 4;

    /** Seconds that a list of field names, or a No-Vary-Search rule, is kept. */
    private const RULES = 86_400;

    /** Seconds after which another one may build: the application may be longer, but nobody waits longer for it. */
    public const BUILDING = 60;

    /** Bytes that a page takes beside its body, about. */
    private const HEADER = 1_500;

    /** Places for waiting where nobody knows how many processes there are. */
    private const PLACES = 4;

    /** Pages that are known at the same time not to be stored: a flood of them takes no more room. */
    private const MARKS = 1_024;

    /** Files of the right to build where the cache cannot note one: pages of one file wait for each other. */
    private const LOCKS = 64;
    private const UNSHARED = '-build-unshared';

    /** Origins whose options are noted: a visitor may make up hosts. */
    private const ORIGINS = 256;

    /** Seconds that nobody waits for a page that could not be stored. */
    private const UNSTORED = 60;

    /** Why store() did not take a page. */
    private const TOO_LARGE = 'it takes more than a quarter of the bytes that all pages together may take';
    public const UNWRITTEN = 'it was purged while it was made, or the cache could not be written';

    /** Judges by its own request: what the application does with its cache does not concern it. */
    private readonly Cache $own;
    private readonly Cache $notes;
    private readonly Budget $budget;

    /** In the application's request, so that what a transaction purges counts from its COMMIT on. */
    private readonly Cache $shared;

    private readonly ?FastDoor $door;

    /** The web server's own copies of pages; null: there are none. */
    private readonly ?Tree $tree;
    private readonly ?FileOptions $files;
    private readonly Proxies $proxies;

    /** @var list<string> tags of the page found or stored last */
    private array $tags = [];

    /** @var ?array{string, Page, string, list<string>} the page found or stored last that has no variants: its key, itself, its body and tags */
    private ?array $last = null;

    /**
     * @param ?Settings $settings null: for a process that stores and removes no page of itself
     * @param int       $bytes    of all pages in the cache together
     */
    public function __construct(Cache $cache, ?Settings $settings = null, int $bytes = Budget::BYTES)
    {
        $apart = $cache->apart();
        $this->own = $apart->group('page');
        $this->notes = $apart->group('page-notes', cacheOnly: true);
        $this->shared = $cache->group('page');
        $this->budget = new Budget($this->own, $this->notes, $bytes);
        $this->door = $settings === null ? null : FastDoor::of($this->own, $settings);
        $this->files = $settings?->files;
        $this->proxies = $settings->proxies ?? Proxies::from([]);
        $this->tree = $this->files === null ? null : new Tree($this->shared, $this->files->directory);
    }

    /**
     * The page of a key; of several variants the one that was made last. Its name is the key that it lies under.
     *
     * @param bool $isVariant set to whether there are others for this key, at least
     *
     * @return ?Stored
     */
    public function find(string $key, bool &$isVariant = false): ?array
    {
        $isVariant = false;
        $found = $this->own->getMultiple(["p$key", "s$key"]);
        $value = $found["p$key"] ?? null;
        if (ResponseEncoder::isWhole($value)) {
            $this->budget->used($key);
            $this->tags = self::tagsIn($value);
            $this->last = [$key, $value['page'], $value['body'], $this->tags];

            return $value + ['isExpired' => !isset($found["s$key"]), 'name' => $key];
        }
        $lists = self::lists($value);
        if ($lists === []) {
            return null;
        }
        $isVariant = true;
        $keys = \array_map(static fn(array $fields): string => $key . Serve::variant($fields), $lists);
        $found = $this->own->getMultiple(\array_merge(...\array_map(static fn(string $key): array => ["p$key", "s$key"], $keys)));
        $last = null;
        foreach ($keys as $each) {
            $variant = $found["p$each"] ?? null;
            if (ResponseEncoder::isWhole($variant) && $variant['page']['made'] >= ($last['page']['made'] ?? 0)) {
                $this->tags = self::tagsIn($variant);
                $last = $variant + ['isExpired' => !isset($found["s$each"]), 'name' => $each];
            }
        }

        $last === null || $this->budget->used($last['name']);

        return $last;
    }

    /**
     * @param Page         $page
     * @param list<string> $vary   field names in small letters
     * @param list<string> $tags
     * @param int          $seconds that it is kept
     *
     * @return string why it was not stored; '': it was
     */
    public function store(string $key, array $page, string $body, array $vary, array $tags, int $seconds): string
    {
        if ($vary === []) {
            // A default mostly, whose author has forgotten that others say Vary. It depends on the same fields, for else it would
            // answer those who have a variant of their own (RFC 9111, section 4.1); but everybody takes what is not coded.
            $vary = \array_values(\array_diff(self::lists($this->own->get("p$key"))[0] ?? [], ['accept-encoding']));
        }
        $name = $key . ($vary === [] ? '' : Serve::variant($vary));
        $page['headers'] = [...$page['headers'], ...$this->proxies->lines($tags)];
        if (!$this->budget->holds(\strlen($body) + self::HEADER)) {
            return self::TOO_LARGE;
        }
        if (!ResponseEncoder::fitsMemory(\strlen($body))) {
            return ResponseEncoder::NO_MEMORY;
        }
        if (!$this->budget->admit($name, \strlen($body) + self::HEADER)) {
            return self::UNWRITTEN;
        }
        $work = fn(): bool => $this->put($key, $name, $page, $body, $vary, $tags, $seconds);

        $done = $this->door === null ? $work() : $this->door->replace($key, [$name], $this->names($tags), $work, fn(): ?array => $this->copyable($key));
        if ($done && $vary === []) {
            $this->last = [$key, $page, $body, $tags];
            $this->publish();
        }

        return $done ? '' : self::UNWRITTEN;
    }

    /**
     * @param Page         $page
     * @param list<string> $vary
     * @param list<string> $tags
     */
    private function put(string $key, string $name, array $page, string $body, array $vary, array $tags, int $seconds): bool
    {
        $value = ['page' => $page, 'body' => $body, 'tags' => $tags];
        $done = $this->own->fill("p$name", $value, $seconds, $tags)
            && $this->own->fill("s$name", 1, $seconds, \array_map(Tags::ofStamp(...), $tags));
        if ($done && $vary !== []) {
            $lists = self::lists($this->own->get("p$key"));
            if (!\in_array($vary, $lists, true)) {
                $done = $this->own->set("p$key", ['vary' => \array_slice([$vary, ...$lists], 0, self::LISTS)], self::RULES);
            }
        }
        $this->own->commit();
        $there = $this->own->getMultiple(["p$name", "s$name"]);

        // Only now have the fills been judged and written: what was refused is gone from this request too.
        return $done && ($there["p$name"] ?? null) === $value && isset($there["s$name"]);
    }

    /** @return list<list<string>> the lists of field names in the place of a page */
    private static function lists(mixed $there): array
    {
        $lists = \is_array($there) && \is_array($there['vary'] ?? null) ? \array_values($there['vary']) : [];
        foreach ($lists as $names) {
            if (!\is_array($names) || $names === [] || \array_filter($names, \is_string(...)) !== $names) {
                return [];
            }
        }

        /** @var list<list<string>> $lists */
        return $lists;
    }

    /** Removes the page of a key, or the variant of it that this request gets. */
    public function remove(string $key): void
    {
        $there = $this->own->get("p$key");
        if ($there === null) {
            return;
        }
        $names = \array_map(static fn(array $fields): string => $key . Serve::variant($fields), self::lists($there) ?: [[]]);
        $work = fn(): bool => $this->own->deleteMultiple(\array_map(static fn(string $name): string => "p$name", $names));
        $this->door === null ? $work() : $this->door->replace($key, $names, [], $work, static fn(): null => null);
    }

    /**
     * Makes the local copy of a page that this request has got from here.
     *
     * @param string $name that it lies under
     */
    public function copy(string $key, string $name): void
    {
        $this->door?->copy($key, $name, $this->names($this->tags), fn(): ?array => $this->copyable($key));
    }

    /** Gives the web server the page that was found last, where it may send it. Call it when the visitor has his answer. */
    public function publish(): void
    {
        if ($this->tree === null || $this->files === null || $this->last === null) {
            return;
        }
        [$key, $page, $body, $tags] = $this->last;
        $names = [...\array_slice($this->shared->journalled("p$key"), 0, 1), ...$this->names($tags)];
        try {
            $this->tree->publish($this->files, $this->shared, $key, $page, $body, $names, fn(): bool => ($this->copyable($key)[2] ?? null) === $page);
        } catch (\Throwable $failure) {
            // The page cache must not cost the visitor the page.
            \error_log('Larder: the web server got no file of a page: ' . $failure->getMessage());
        }
        $this->last = null;
    }

    /**
     * Where else on this server a stored page lies, for people.
     *
     * @param string $name that it lies under
     * @param Page   $page
     *
     * @return array{file: ?string, reason: ?string, copy: ?bool} the web server's file, or why there is none (both null: nobody
     *                                                            wants files); whether larder-serve.php has a copy (null: it is not used here)
     */
    public function elsewhere(string $key, string $name, array $page): array
    {
        $reason = null;
        $file = $this->files === null ? null : $this->tree?->file($this->files, $key, $page, $reason);

        return ['file' => $file, 'reason' => $reason, 'copy' => $this->door?->has($key, $name)];
    }

    /**
     * What a local copy of a key's page may be made from, read anew.
     *
     * @return ?Copyable
     */
    private function copyable(string $key): ?array
    {
        $this->own->refresh();
        // This makes the invalidations first that the store could not take before.
        $this->own->learn();
        $stored = $this->find($key);
        $lists = self::lists($this->own->get("p$key"));
        // Which of several lists counts is not Serving's to say.
        if ($stored === null || $stored['isExpired'] || \count($lists) > 1 || !$this->own->isCopyable()) {
            return null;
        }

        return [$stored['name'], $lists[0] ?? [], $stored['page'], $stored['body'], $this->names($this->tags)];
    }

    /**
     * The markers of tags of a page and of its stamp, as the journal names them.
     *
     * @param list<string> $tags
     *
     * @return list<string>
     */
    private function names(array $tags): array
    {
        $tags = \array_unique($tags);

        return \array_slice($this->shared->journalled('p', ...$tags, ...\array_map(Tags::ofStamp(...), $tags)), 1, 2 * \count($tags));
    }

    /**
     * @param array<array-key, mixed> $stored
     *
     * @return list<string>
     */
    private static function tagsIn(array $stored): array
    {
        return \is_array($stored['tags'] ?? null) ? \array_values(\array_filter($stored['tags'], \is_string(...))) : [];
    }

    /** Reads anew from here on: what is built now is judged by what was purged since now. */
    public function refresh(): void
    {
        $this->own->refresh();
    }

    /** Whether the cache has failed, and is left alone for a while. */
    public function isDown(): bool
    {
        return $this->own->isDown();
    }

    /** Lets the next call try the cache again. */
    public function retry(): void
    {
        $this->own->retry();
    }

    /** Why the page could not be stored last time; null: nothing is known against it. */
    public function mark(string $key): ?string
    {
        return $this->reason('x', $key);
    }

    public function setMark(string $key, string $reason): void
    {
        $this->setReason('x', $key, $reason);
    }

    public function removeMark(string $key): void
    {
        $this->mark($key) === null || $this->notes->delete(self::slot('x', $key));
    }

    /** Why the store did not take the page last time; null: nothing is known. It says nothing about the next time. */
    public function refusal(string $key): ?string
    {
        return $this->reason('t', $key);
    }

    /** @param string $reason that store() gave */
    public function setRefusal(string $key, string $reason): void
    {
        // One that is too large will be so again, so nobody waits for it.
        $this->setReason($reason === self::TOO_LARGE ? 'x' : 't', $key, $reason);
    }

    private function reason(string $sort, string $key): ?string
    {
        $there = $this->notes->get(self::slot($sort, $key));

        return \is_array($there) && ($there[0] ?? null) === \hash('xxh128', $key) && \is_string($there[1] ?? null) ? $there[1] : null;
    }

    private function setReason(string $sort, string $key, string $reason): void
    {
        $this->notes->set(self::slot($sort, $key), [\hash('xxh128', $key), $reason], self::UNSTORED);
    }

    /** Of two pages that get one, the last one has it: visitors of the other wait once more. */
    private static function slot(string $sort, string $key): string
    {
        return $sort . \hexdec(\hash('xxh32', $key)) % self::MARKS;
    }

    /** The rule that the last response with one had, of all URLs with this path. */
    public function search(string $path): ?NoVarySearch
    {
        $text = $this->notes->get("n$path");

        return \is_string($text) ? NoVarySearch::fromText($text) : null;
    }

    public function setSearch(string $path, NoVarySearch $rule): void
    {
        $this->notes->set("n$path", $rule->text(), self::RULES);
    }

    /**
     * The options with which the last page of an origin was made: the command line has no others.
     *
     * @return array<array-key, mixed>
     */
    public function options(string $origin): array
    {
        $options = $this->noted($origin)['options'] ?? [];

        return \is_array($options) ? $options : [];
    }

    /** Whether the web has made a page with this cache, as far as it has noted. */
    public function isUsed(): bool
    {
        return $this->origins() !== [];
    }

    /**
     * As what the web server has told PHP the last request of an origin: the host as the visitor has spelled it, and the
     * server's own port and name.
     *
     * @return array<string, string> by the names of CGI (RFC 3875)
     */
    public function server(string $origin): array
    {
        $server = $this->noted($origin)['server'] ?? [];

        return \array_filter(\is_array($server) ? $server : [], static fn(mixed $value, int|string $name): bool => \is_string($value) && \is_string($name), \ARRAY_FILTER_USE_BOTH);
    }

    /** @return array<array-key, mixed> */
    private function noted(string $origin): array
    {
        $noted = $this->notes->get("o$origin");

        return \is_array($noted) ? $noted : [];
    }

    /** @return list<string> the origins that options are noted of, the last one first */
    public function origins(): array
    {
        $origins = $this->notes->get('o');

        return \is_array($origins) ? \array_values(\array_filter($origins, \is_string(...))) : [];
    }

    /**
     * @param array<array-key, mixed> $options
     * @param array<string, string>   $server  as server() gives it
     */
    public function noteOptions(string $origin, array $options, array $server): void
    {
        $noted = ['options' => $options, 'server' => $server];
        if ($this->noted($origin) === $noted) {
            return;
        }
        $origins = [$origin, ...\array_diff($this->origins(), [$origin])];
        $gone = \array_splice($origins, self::ORIGINS);
        $this->notes->setMultiple(["o$origin" => $noted, 'o' => $origins], self::RULES);
        $gone === [] || $this->notes->deleteMultiple(\array_map(static fn(string $origin): string => "o$origin", $gone));
    }

    /**
     * The tags that the application gave a page.
     *
     * @param string $name the key that it lies under
     *
     * @return list<string>
     */
    public function tags(string $name): array
    {
        $tiers = $this->own->inspect("p$name");

        return Tags::named(\end($tiers)['tags'] ?? []);
    }

    /** Removes all pages. */
    public function flush(): bool
    {
        return $this->shared->flush() && $this->follow() && $this->proxies->remove([Proxies::ALL]);
    }

    /**
     * Takes the right to build the page. It ends with release(), after BUILDING seconds, or, on this server, with the process.
     *
     * @param string $token proves to the request that this process sends to its own server that it may build
     *
     * @return ?bool false: somebody else is building it; null: nobody is, and the cache cannot note that this process does
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
        $local = $this->shared->local();
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

    /** Notes that somebody has waited for the cache in vain: for a while nobody does. */
    public function noteUnshared(): void
    {
        $local = $this->shared->local();
        $local === null || Quiet::call(static fn(): bool => \touch($local . self::UNSHARED));
    }

    private function isUnshared(string $local): bool
    {
        \clearstatcache(true, $local . self::UNSHARED);

        return \abs(\time() - (int) Quiet::call(static fn(): int|false => \is_file($local . self::UNSHARED) ? \filemtime($local . self::UNSHARED) : 0)) < self::UNSTORED;
    }

    /** Whether somebody alive is building the page. */
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
        $this->notes->set('r', true, self::UNSTORED);
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
        $local = $this->shared->local();
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
        $this->notes->set('w' . \gethostname(), \max(1, \intdiv($workers ?? 4 * self::PLACES, 4)), self::RULES);
    }

    private function builder(string $key): string
    {
        $this->notes->forget("b$key");
        $there = $this->notes->get("b$key");

        return \is_string($there) ? $there : '';
    }

    /**
     * The tags of a URL: its own, and that of all that a No-Vary-Search rule makes of it.
     *
     * @param string $url as Serve::url() gives it; without scheme and host it means every host
     *
     * @return list<string>
     */
    public function tagsOf(string $url): array
    {
        $rule = $this->search(\explode('?', $url, 2)[0]);

        return $rule === null ? [Tags::url($url)] : [Tags::url($url), Tags::url($rule->url($url))];
    }

    /** @param list<string> $tags */
    public function purge(array $tags): bool
    {
        $done = $this->invalidate($tags);

        return $this->proxies->remove($tags) && $done;
    }

    /** @param list<string> $tags */
    public function expire(array $tags): bool
    {
        $done = $this->invalidate(\array_map(Tags::ofStamp(...), $tags));

        return $this->proxies->remove($tags) && $done;
    }

    /** @param list<string> $tags */
    private function invalidate(array $tags): bool
    {
        $done = true;
        foreach (\array_chunk($tags, self::AT_ONCE) as $some) {
            $done = $this->shared->invalidateTags(...$some) && $done;
            $done = $this->follow(\array_slice($this->shared->journalled('p', ...$some), 1, \count($some))) && $done;
        }

        return $done;
    }

    /**
     * Takes from the web server's files what has changed. A page that has not, its next request puts there again.
     *
     * @param list<string> $names that the journal may not have yet
     */
    public function follow(array $names = []): bool
    {
        $trees = \array_column(Tree::noted($this->shared), null, 'directory');
        if ($this->tree !== null) {
            $trees[$this->tree->directory] = $this->tree;
        }

        return !\in_array(false, \array_map(static fn(Tree $tree): bool => $tree->follow($names), $trees), true);
    }
}
