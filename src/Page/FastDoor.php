<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Cache;
use Larder\Page\Files\Patterns;
use Larder\System\FileLock;
use Larder\System\Ownership;
use Larder\System\PurgeCounter;
use Larder\System\Quiet;

/**
 * Makes what larder-serve.php needs (see Serve): its constants, the purge counter, and local copies of pages.
 *
 * A copy is always made in one way, so that it is never older than the cache: under its shard's lock, note the counter, read
 * the page from the cache anew, write. Who stores another page under a key holds the same lock, and drops the copy before.
 *
 *     copy      lock ─ note the tags ─ counter ─ read the cache ─ write the copy ─ unlock
 *     replace   lock ─ drop the copy ─ store ─ copy, as above ─ unlock
 *     purge     counter + 1, if a copy has the tag ─ COMMIT                by PurgeCounters, in whatever process
 *
 * Constants lie in memory that a reboot empties (/dev/shm). Who finds none there drops all copies first: after a power cut
 * the counter on the disk may be older than they are.
 *
 * What is copied comes from Pages as the name that it lies under, the fields that this depends on, the page, its body, and its
 * tags as the journal names them.
 *
 * The counter must see every purge, so there is no fast door before a truth tier that other servers share.
 *
 * @phpstan-import-type Page from StoredReply
 * @phpstan-import-type Constants from Serve
 * @phpstan-type Copyable array{string, list<string>, Page, string, list<string>}
 */
final class FastDoor
{
    /** Seconds to wait for a shard's lock, which is held while one page is stored. */
    private const PATIENCE = 0.5;

    /** No page carries this tag: its invalidation only moves the counter. */
    private const NO_PAGE = "\0door";

    /** How the CGI name of a field of the header begins. */
    private const FIELD = 'HTTP_';

    /** Beside the counter: whether copies were ever put into APCu. */
    private const APCU = '.apcu';

    /** Beside the counter: which site's constants have named it last. */
    private const SITE = '.site';

    /** @var list<Copies> wherever copies may lie; they are put into the first */
    private array $copies;
    private bool $isOpen = false;

    private function __construct(private readonly Cache $pages, private readonly PurgeCounter $counter, private readonly string $directory, private readonly Settings $settings)
    {
        $this->copies = [new FileCopies($this->directory, $settings->budget)];
    }

    /**
     * @param Cache $pages the group of the pages, in a request of its own
     *
     * @return ?self null: no site uses it, or it cannot be used with this cache
     */
    public static function of(Cache $pages, Settings $settings): ?self
    {
        $counter = $pages->internals()->purgeCounter();
        $local = $pages->internals()->local();
        $isAsked = Serve::$place !== null && Serve::$place !== '';
        if ($counter === null || $local === null || (!$isAsked && !$counter->exists())) {
            return null;
        }
        $door = new self($pages, $counter, "$local-copies-" . \basename($counter->path, '.count'), $settings);
        if ($isAsked) {
            $door->isOpen = $door->open((string) Serve::$place);
        }
        if (!$door->isOpen && \is_file($counter->path . self::APCU)) {
            $door->copies[] = $door->inApcu();
        }

        return $door;
    }

    /**
     * Takes the constants of sites away: nothing is answered by them any longer.
     *
     * @param string $beginning of the sites' names, which no others' begin with
     */
    public static function close(string $beginning): void
    {
        foreach (\glob(Serve::MEMORY . Ownership::user() . "-$beginning*") ?: [] as $place) {
            Quiet::call(static function () use ($place): bool {
                if (!Ownership::isPrivate($place)) {
                    return false;
                }
                \array_map(\unlink(...), \glob("$place/*") ?: []);

                return \rmdir($place);
            });
        }
    }

    /**
     * Makes the next request of each site whose constants name another cache ask that site which one it opens. A purge of this
     * cache moves no other one's counter, so a purger would believe that it counts.
     *
     * Where a site's constants have named this cache for longer than any are believed, none needs to be asked: the sites that
     * were to open it have done so.
     *
     * @param Cache $pages the group of the pages in the cache that was purged
     */
    public static function doubtOthers(Cache $pages): void
    {
        $path = $pages->internals()->purgeCounter()?->path;
        Quiet::call(static function () use ($path): bool {
            // A worker may have looked before.
            \clearstatcache();
            $now = \time();
            $isNamed = static fn(string $place): bool => $path !== null && \str_contains((string) \file_get_contents("$place/constants.php"), \var_export($path, true));
            $site = $path === null ? '' : (string) \file_get_contents($path . self::SITE);
            if (\str_starts_with($site, Serve::MEMORY) && Ownership::isPrivate($site) && $isNamed($site) && \filemtime("$site/constants.php") < $now - Serve::TRUST) {
                return true;
            }
            foreach (\glob(Serve::MEMORY . Ownership::user() . '-*') ?: [] as $place) {
                // Where they are not believed any longer the site is asked anyway.
                if (\abs($now - (int) \filemtime($place)) <= Serve::TRUST && Ownership::isPrivate($place) && !$isNamed($place)) {
                    \touch("$place/.", 1);
                }
            }

            return true;
        });
    }

    /** Notes that the constants were right just now. With "/." no file is made in the place of a directory that is gone. */
    private static function confirm(string $place): bool
    {
        \clearstatcache(true, $place);

        return \abs(\time() - (int) \filemtime($place)) < Serve::TRUST >> 1 || Quiet::call(static fn(): bool => \touch("$place/."));
    }

    /**
     * Makes the copy of a page that was served from the cache just now.
     *
     * @param string                $key  of the request
     * @param string                $name that the page lies under: the key, and the variant
     * @param list<string>          $tags of the page
     * @param \Closure(): ?Copyable $read  reads it once more
     */
    public function copy(string $key, string $name, array $tags, \Closure $read): void
    {
        if (!$this->isOpen) {
            return;
        }
        $counter = $this->counter->value();
        if ($counter === null) {
            $this->counter->isAbandoned() && $this->purge();
        } elseif ($this->copies[0]->counter(Serve::name($name, Serve::name($key)), $name) !== $counter) {
            $lock = $this->lock(Serve::name($key), 0.0);
            if ($lock !== null) {
                $this->write($lock, $key, $tags, $read);
                \fclose($lock);
            }
        }
    }

    /** Whether there is a copy as good as the stored page. What lies in another process's memory cannot be seen. */
    public function has(string $key, string $name): bool
    {
        $counter = $this->counter->value();
        $found = \array_map(static fn(Copies $copies): ?int => $copies->counter(Serve::name($name, Serve::name($key)), $name), $this->copies);

        return $counter !== null && \in_array($counter, $found, true);
    }

    /**
     * Stores or removes pages of a key, so that no copy is older at any moment.
     *
     * @param list<string>          $names  that they lie under
     * @param list<string>          $tags   of the page that is there after it
     * @param \Closure(): bool      $change
     * @param \Closure(): ?Copyable $read   what is there after it
     */
    public function replace(string $key, array $names, array $tags, \Closure $change, \Closure $read): bool
    {
        $base = Serve::name($key);
        $lock = $this->lock($base, self::PATIENCE);
        $isReached = $lock !== null && ($this->copies[1] ?? null) !== null ? $this->hasApcu() : $lock !== null;
        if ($lock === null || !$isReached) {
            // No process may serve a copy that this one cannot drop, nor one that was made meanwhile.
            $this->purge();
            $done = $change();
            $this->purge();

            return $done;
        }
        foreach ($this->copies as $copies) {
            foreach ([$key, ...$names] as $name) {
                $copies->drop(Serve::name($name, $base));
            }
        }
        $done = $change();
        if ($done && $this->isOpen) {
            $this->write($lock, $key, $tags, $read);
        }
        \fclose($lock);

        return $done;
    }

    /**
     * @param resource                $lock
     * @param list<string>            $tags
     * @param \Closure(): ?Copyable   $read
     */
    private function write(mixed $lock, string $key, array $tags, \Closure $read): void
    {
        $counter = $this->counter->note($tags) ? $this->counter->value() : null;
        $found = $counter === null ? null : $read();
        // Another page may be there by now, whose purge would not be noticed.
        if ($counter === null || $found === null || \array_diff($found[4], $tags) !== []) {
            return;
        }
        [$name, $vary, $page, $body] = $found;
        $left = $page['life'] - $page['age'] - \max(0, \time() - $page['made']);
        if ($left <= 0) {
            return;
        }
        $base = Serve::name($key);
        // So that a reader does not take one copy's head with another's body.
        $id = \hash('xxh128', $body);
        $copy = ['counter' => $counter, 'id' => $id];
        $vary === [] || $this->copies[0]->put($lock, $base, ['key' => $key, 'vary' => $vary] + $copy, [], '', $left);
        $ready = $name === $key ? Serve::ready($page, $key, $counter, $base . $id) : [];
        $this->copies[0]->put($lock, Serve::name($name, $base), ['key' => $name, 'page' => $page] + $copy, $ready, $body, $left);
    }

    /** @return ?resource the lock of the name's shard, until it is closed; null: another process holds it, or it cannot be made */
    private function lock(string $name, float $seconds): mixed
    {
        $lock = FileLock::file("$this->directory-$name[0].lock");

        return $lock !== null && FileLock::take($lock, $seconds) ? $lock : null;
    }

    /** Moves the counter, so that no copy is good any longer; and repairs what a purger has left that died. */
    private function purge(): bool
    {
        $this->pages->learn();
        $this->counter->note(\array_slice($this->pages->internals()->journalled('p', self::NO_PAGE), 1, 1));

        return $this->pages->invalidateTags(self::NO_PAGE);
    }

    private function open(string $place): bool
    {
        $isThere = $this->counter->exists() && \is_dir($place);
        if ($isThere && Serve::$constants !== null && Serve::$constants === $this->constants()) {
            return $this->choose() && self::confirm($place);
        }
        $lock = FileLock::file($this->directory . '.lock');
        if ($lock === null || !FileLock::take($lock, 0.0)) {
            // Another process is at it.
            return false;
        }
        $isNew = !\is_dir($place);
        // The copies of all are dropped only where this can come to its end: open_basedir may hide the place, or it is full.
        $new = $isNew ? $this->prepare($place) : null;
        try {
            if ($isNew && $new === null) {
                return false;
            }
            if ($isNew || !$this->counter->exists()) {
                $this->hasApcu() && $this->copies[] = $this->inApcu();
                foreach ($this->copies as $copies) {
                    $copies->wipe();
                }
                if (!$this->counter->exists() ? !$this->counter->make() : !$this->purge()) {
                    return false;
                }
            }
            if ($new !== null && Quiet::call(static fn(): bool => \rename($new, $place))) {
                $new = null;
            }

            return $this->choose() && $this->publish($place) && self::confirm($place);
        } finally {
            $new === null || Quiet::call(static fn(): bool => \rmdir($new));
            \fclose($lock);
        }
    }

    /** @return ?string a directory that can be renamed to the place; null: none can be made */
    private function prepare(string $place): ?string
    {
        $new = $place . '-' . \bin2hex(\random_bytes(6));

        return Quiet::call(static fn(): bool => \mkdir($new, 0o700)) ? $new : null;
    }

    /** Takes APCu for the copies if the owner asks for it. */
    private function choose(): bool
    {
        $files = $this->copies[0];
        $isThere = \is_file($this->counter->path . self::APCU);
        if ($this->settings->copies === 'apcu' && $this->hasApcu()) {
            $this->copies = [$this->inApcu(), $files];

            return $isThere || Quiet::call(fn(): bool => \touch($this->counter->path . self::APCU));
        }
        $this->copies = $isThere ? [$files, $this->inApcu()] : [$files];

        return true;
    }

    private function hasApcu(): bool
    {
        return \function_exists('apcu_enabled') && \apcu_enabled();
    }

    private function inApcu(): ApcuCopies
    {
        return new ApcuCopies($this->prefix(), $this->settings->budget);
    }

    /** With a secret: all pools of a php-fpm master share APCu. */
    private function prefix(): string
    {
        return 'larder-page-' . Serve::FORMAT . ':' . $this->counter->secret() . ':';
    }

    /** @return Constants */
    private function constants(): array
    {
        return [
            'format' => Serve::FORMAT,
            'counter' => $this->counter->path,
            'number' => $this->counter->number(),
            'files' => $this->directory,
            'apcu' => $this->settings->copies === 'apcu' && $this->hasApcu() ? $this->prefix() : '',
            'rules' => $this->settings->rules,
            'usual' => self::fields(\array_keys(RequestKey::PLAIN)),
            'unusual' => self::fields(\array_filter([...RequestKey::OVERRIDES, ...RequestKey::KEYED], fn(string $name): bool => !RequestKey::matches($name, $this->settings->rules['ignoredFields']))),
            'identity' => self::identity(),
            'conditions' => self::fields([...Serve::CONDITIONS, ...$this->settings->rules['clientControl'] ? Serve::CONTROL : []]),
            'accepted' => Serve::accepted(),
            'cookies' => '~' . (new Patterns($this->settings->rules['ignoredCookies'], [], []))->cookies . '~D',
        ];
    }

    /**
     * The variables that the fast door asks for, for it cannot see which there are: besides the known ones all that this web
     * server was seen to have.
     *
     * @return list<string>
     */
    private static function identity(): array
    {
        $names = \array_unique([...RequestKey::IDENTITY, ...Serve::$constants['identity'] ?? [], ...\array_map(\strval(...), \array_keys($_SERVER))]);
        $seen = \array_filter($names, static fn(string $name): bool => \preg_match(RequestKey::IDENTIFIES, $name) === 1 && !\str_starts_with($name, self::FIELD));
        \sort($seen);

        return $seen;
    }

    /**
     * @param array<string> $variables CGI names
     *
     * @return array<string, true> those that are fields of the header, by their names as getallheaders() spells them
     */
    private static function fields(array $variables): array
    {
        $fields = \array_filter($variables, static fn(string $name): bool => \str_starts_with($name, self::FIELD));

        return \array_fill_keys(\array_map(static fn(string $name): string => \ucwords(\strtolower(\strtr(\substr($name, \strlen(self::FIELD)), '_', '-')), '-'), $fields), true);
    }

    /** Writes the constants, if others stand there than this request has. */
    private function publish(string $place): bool
    {
        $file = "$place/constants.php";
        $text = "<?php\n\nreturn " . \var_export($this->constants(), true) . ";\n";

        return Quiet::call(function () use ($place, $file, $text): bool {
            if (!Ownership::isPrivate($place)) {
                return false;
            }
            if (!\is_file($file) || \file_get_contents($file) !== $text) {
                $new = $file . '-' . \bin2hex(\random_bytes(6));
                if (\file_put_contents($new, $text) !== \strlen($text) || !\chmod($new, 0o600) || !\rename($new, $file)) {
                    \is_file($new) && \unlink($new);

                    return false;
                }
                // It only spares purges a look at all sites.
                $note = FileLock::file($this->counter->path . self::SITE);
                $note !== null && \ftruncate($note, 0) && \fwrite($note, $place);
            }
            // A server may never look at a file again (opcache.validate_timestamps=0).
            \function_exists('opcache_invalidate') && \opcache_invalidate($file, true);

            return true;
        });
    }
}
