<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Cache;
use Larder\Page\Files\FileOptions;

/**
 * The stored pages, in two groups of the cache. Under a request's key lie, each with a letter in front, in `page`
 *
 *     p  the page, or the list of field names that its variants depend on; each variant has a key of its own
 *     s  its freshness stamp: without it the page has been expired, and is renewed at the next request
 *
 * What is known besides lies in `page-notes`: see PageNotes, Builders and Budget.
 *
 * Page and stamp carry the same tags, the stamp's with a mark in front. Invalidating a tag removes pages; with the mark it
 * expires them. Nothing that lies there is trusted to be what this class wrote.
 *
 * @phpstan-import-type Page from StoredReply
 * @phpstan-import-type Copyable from FastDoor
 * @phpstan-type Stored array{page: Page, body: string, isExpired: bool, name: string}
 */
final class Pages
{
    /** Most lists of field names that one URL's variants may depend on. */
    private const LISTS = 4;

    /** Bytes that a page takes beside its body, about. */
    private const HEADER = 1_500;

    /** Of many visits one is noted, so that a hit costs no write. */
    private const NOTED = 32;

    /** Why store() did not take a page. */
    public const TOO_LARGE = 'it takes more than a quarter of the bytes that all pages together may take';
    public const UNWRITTEN = 'it was purged while it was made, or the cache could not be written';

    /** In the application's request, so that what a transaction purges counts from its COMMIT on. */
    private readonly Cache $shared;

    // Made on first use: a hit needs none of these.
    private ?Cache $apart = null;
    private ?Cache $own = null;
    private ?Cache $noted = null;
    private ?PageNotes $notes = null;
    private ?Builders $builders = null;
    private ?Budget $budget = null;
    private ?Purge $purge = null;
    private ?FastDoor $door = null;
    private bool $hasDoor;

    private readonly ?FileOptions $files;

    /** @var list<string> tags of the page found or stored last */
    private array $tags = [];

    /** @var ?array{string, Page, string, list<string>} the page found or stored last that has no variants: its key, itself, its body and tags */
    private ?array $last = null;

    /**
     * @param ?Settings $settings null: for a process that stores and removes no page of itself
     * @param int       $bytes    of all pages in the cache together
     */
    public function __construct(private readonly Cache $cache, private readonly ?Settings $settings = null, private readonly int $bytes = Budget::BYTES)
    {
        $this->shared = $cache->group('page');
        $this->files = $settings?->files;
        $this->hasDoor = $settings !== null;
    }

    public function notes(): PageNotes
    {
        return $this->notes ??= new PageNotes($this->noted());
    }

    public function builders(): Builders
    {
        return $this->builders ??= new Builders($this->noted());
    }

    public function purge(): Purge
    {
        return $this->purge ??= new Purge($this->shared, $this->notes(...), $this->settings);
    }

    private function noted(): Cache
    {
        return $this->noted ??= $this->apart()->group('page-notes', cacheOnly: true);
    }

    private function budget(): Budget
    {
        return $this->budget ??= new Budget($this->own(), $this->noted(), $this->bytes);
    }

    /** Whether this visit is one of those that are noted: by chance, for which a clock's last digits will do. */
    private static function isNoted(): bool
    {
        return \intdiv(\hrtime(true), 10) % self::NOTED === 0;
    }

    /**
     * A request of its own, in which pages are judged and stored: what the application does with its cache does not concern it.
     * Its view must begin before the application runs. What is found before it is made was read in the application's request,
     * which a hit needs no second one for.
     */
    private function apart(): Cache
    {
        return $this->apart ??= $this->cache->apart();
    }

    private function own(): Cache
    {
        return $this->own ??= $this->apart()->group('page');
    }

    private function door(): ?FastDoor
    {
        if ($this->hasDoor && $this->settings !== null) {
            $this->hasDoor = false;
            $this->door = FastDoor::of($this->own(), $this->settings);
        }

        return $this->door;
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
        $from = $this->own ?? $this->shared;
        $found = $from->getMultiple(["p$key", "s$key"]);
        $value = $found["p$key"] ?? null;
        if (ResponseEncoder::isWhole($value)) {
            self::isNoted() && $this->budget()->used($key);
            $this->tags = self::tagsIn($value);
            $this->last = [$key, $value['page'], $value['body'], $this->tags];

            return $value + ['isExpired' => !isset($found["s$key"]), 'name' => $key];
        }
        $lists = self::lists($value);
        if ($lists === []) {
            return null;
        }
        $isVariant = true;
        $keys = \array_map(static fn(array $fields): string => $key . RequestKey::variant($fields), $lists);
        $found = $from->getMultiple(\array_merge(...\array_map(static fn(string $key): array => ["p$key", "s$key"], $keys)));
        $last = null;
        foreach ($keys as $each) {
            $variant = $found["p$each"] ?? null;
            if (ResponseEncoder::isWhole($variant) && $variant['page']['made'] >= ($last['page']['made'] ?? 0)) {
                $this->tags = self::tagsIn($variant);
                $last = $variant + ['isExpired' => !isset($found["s$each"]), 'name' => $each];
            }
        }

        $last !== null && self::isNoted() && $this->budget()->used($last['name']);

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
            $vary = \array_values(\array_diff(self::lists($this->shared->get("p$key"))[0] ?? [], ['accept-encoding']));
        }
        $name = $key . ($vary === [] ? '' : RequestKey::variant($vary));
        $page['headers'] = [...$page['headers'], ...$this->settings?->proxies?->lines($tags) ?? []];
        if (!$this->budget()->holds(\strlen($body) + self::HEADER)) {
            return self::TOO_LARGE;
        }
        if (!ResponseEncoder::fitsMemory(\strlen($body))) {
            return ResponseEncoder::NO_MEMORY;
        }
        if (!$this->budget()->admit($name, \strlen($body) + self::HEADER)) {
            return self::UNWRITTEN;
        }
        $work = fn(): bool => $this->put($key, $name, $page, $body, $vary, $tags, $seconds);

        $done = $this->door()?->replace($key, [$name], $this->names($tags), $work, fn(): ?array => $this->copyable($key)) ?? $work();
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
        $done = $this->own()->fill("p$name", $value, $seconds, $tags)
            && $this->own()->fill("s$name", 1, $seconds, \array_map(Tags::ofStamp(...), $tags));
        if ($done && $vary !== []) {
            $lists = self::lists($this->own()->get("p$key"));
            if (!\in_array($vary, $lists, true)) {
                $done = $this->own()->set("p$key", ['vary' => \array_slice([$vary, ...$lists], 0, self::LISTS)], PageNotes::KEPT);
            }
        }
        $this->own()->writeFills();
        $there = $this->own()->getMultiple(["p$name", "s$name"]);

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
        $there = $this->own()->get("p$key");
        if ($there === null) {
            return;
        }
        $names = \array_map(static fn(array $fields): string => $key . RequestKey::variant($fields), self::lists($there) ?: [[]]);
        $work = fn(): bool => $this->own()->deleteMultiple(\array_map(static fn(string $name): string => "p$name", $names));
        $this->door()?->replace($key, $names, [], $work, static fn(): null => null) ?? $work();
    }

    /**
     * Makes the local copy of a page that this request has got from here.
     *
     * @param string $name that it lies under
     */
    public function copy(string $key, string $name): void
    {
        // Only larder-serve.php reads copies.
        if (\class_exists(Serve::class, false) && Serve::$place !== null) {
            $this->door()?->copy($key, $name, $this->names($this->tags), fn(): ?array => $this->copyable($key));
        }
    }

    /** Gives the web server the page that was found last, where it may send it. Call it when the visitor has his answer. */
    public function publish(): void
    {
        if ($this->files === null || $this->last === null) {
            return;
        }
        [$key, $page, $body, $tags] = $this->last;
        $names = [...\array_slice($this->shared->internals()->journalled("p$key"), 0, 1), ...$this->names($tags)];
        try {
            $this->purge()->tree()?->publish($this->files, $this->shared, $key, $page, $body, $names, fn(): bool => ($this->copyable($key)[2] ?? null) === $page);
        } catch (\Throwable $failure) {
            // The page cache must not cost the visitor the page.
            $this->report('file', 'the web server got no file of a page: ' . $failure->getMessage());
        }
        $this->last = null;
    }

    /**
     * Where else on this server a stored page lies, for people.
     *
     * @param string $name that it lies under
     * @param Page   $page
     *
     * @return array{file: ?string, reason: ?string, copy: ?bool} the web server's file, or why there is none (both null: files
     *                                                            are not asked for); whether larder-serve.php has a copy (null: it is not used here)
     */
    public function elsewhere(string $key, string $name, array $page): array
    {
        $reason = null;
        $file = $this->files === null ? null : $this->purge()->tree()?->file($this->files, $key, $page, $reason);

        return ['file' => $file, 'reason' => $reason, 'copy' => $this->door()?->has($key, $name)];
    }

    /**
     * What a local copy of a key's page may be made from, read anew.
     *
     * @return ?Copyable
     */
    private function copyable(string $key): ?array
    {
        $this->own()->refresh();
        // This makes the invalidations first that the store could not take before.
        $this->own()->learn();
        $stored = $this->find($key);
        $lists = self::lists($this->own()->get("p$key"));
        // Which of several lists counts is not Serving's to say.
        if ($stored === null || $stored['isExpired'] || \count($lists) > 1 || !$this->own()->internals()->isCopyable()) {
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

        return \array_slice($this->shared->internals()->journalled('p', ...$tags, ...\array_map(Tags::ofStamp(...), $tags)), 1, 2 * \count($tags));
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
        $this->own()->refresh();
    }

    /** Whether the cache has failed, and is left alone for a while. */
    public function isDown(): bool
    {
        return $this->own()->internals()->isDown();
    }

    /** Logs a line about what failed while the visitor got his page: at most one a minute about each subject, from each process. */
    public function report(string $subject, string $message): void
    {
        $this->own()->internals()->report($subject, $message);
    }

    /** Lets the next call try the cache again. */
    public function retry(): void
    {
        $this->own()->internals()->retry();
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
        $tiers = $this->own()->inspect("p$name");

        return Tags::named(\end($tiers)['tags'] ?? []);
    }
}
