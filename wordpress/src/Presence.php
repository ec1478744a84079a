<?php

declare(strict_types=1);

// phpcs:disable WordPress.WP.AlternativeFunctions -- at the beginning of any request, when WordPress is not loaded

namespace Larder\WordPress;

use Larder\Cache;
use Larder\Page\FastDoor;
use Larder\System\Ownership;

/**
 * Whether every request since the last one had this cache. If not, it was not told what those changed, and it begins empty.
 *
 * A request without it leaves a mark: the drop-in does, where it finds no plugin or cannot use it, and the plugin, where
 * it finds no drop-in (drop-ins/object-cache.php). What had neither left nothing. So this server keeps a file whose name
 * says which cache it was, and by which drop-in, that last ran here: where one of these went away and came back, there is
 * no such file. What is copied has another number (inode) or, for a file system may give a number again, another time of its
 * last change of status (ctime), which no program can set. So the cache's folder has a file that is never written again. A restore
 * that finds this file in its place may leave it as it is; but it sets back the time of the folder's last modification, which
 * else is that of its last change of status. Several releases may share a cache; each has a note, until there is another cache.
 *
 * That costs a look at nine files (the drop-in, the database, its folder, the file there, the note, and the four places of
 * marks, each of which may be the only one that a request without the cache can write), and a write once a day: programs that clean the directories for
 * temporary files go by a file's age. A mark that they have taken away, as a reboot does in /tmp, says nothing.
 */
final class Presence
{
    /** In WP_CONTENT_DIR. */
    public const MARK = '/.larder-away';

    /** Seconds that a statement of a request that has died may go on for: longer than MySQL lets it wait for a lock. */
    private const LONGEST = 60;

    /** In the cache's folder: the file that is never written again. */
    private const ID = '/id';

    /** Bytes of a mark, at most. */
    private const MARKED = 64;

    /** Seconds after which a note is made young again. */
    private const DAY = 86_400;

    /** Seconds for which the cache itself knows a server. */
    private const KNOWN = 90 * 86_400;

    /** Which engine the web has, in a directory that was found: a command must have the same. */
    private const ENGINE = '/engine';

    /** @var ?list<string> */
    private ?array $places = null;

    /** What name() has answered. */
    private static string $called = '';

    private readonly string $name;

    /** The cache's folder on this server; null: it lies elsewhere, or on no disk. */
    private readonly ?string $folder;

    public function __construct(private readonly Site $site, private readonly Cache $root)
    {
        $this->name = self::name();
        $local = $site->isFar() ? null : $root->internals()->local();
        $this->folder = $local === null ? null : \dirname($local);
    }

    /** A request begins. False: the cache should have been emptied, and could not be. */
    public function confirm(): bool
    {
        return Quietly::call(function (): bool {
            \clearstatcache();
            $note = '';
            $isRestored = $this->isRestored();
            $seen = $isRestored ? 0 : $this->seen($this->identity(), $note);
            if ($seen === null) {
                return true;
            }
            $marks = $this->marked($seen - self::LONGEST);
            if ($seen > 0 && $seen <= \time() && ($marks === [] || ($note !== '' && \array_diff($marks, \explode("\n", (string) \file_get_contents($note))) === [] && !$this->isAway()))) {
                $note !== '' && $seen < \time() - self::DAY && \touch($note);

                return true;
            }
            // All sites of a network.
            if (!$this->root->group('s')->flush()) {
                return false;
            }
            // That may have made the files that the cache is known by.
            $id = self::id($this->site);
            $isRestored && \touch((string) $this->folder);
            $id === null || \is_file($id) || \fopen($id, 'x') === false || \chmod($id, 0o600);
            \clearstatcache();
            $this->write($this->identity(), $marks);

            return true;
        });
    }

    /**
     * What tells in a few stats, without the cache, that no request has been without it: another text after one was.
     *
     * @return ?string null: that cannot be told yet
     */
    public static function sign(Site $site): ?string
    {
        return Quietly::call(static function () use ($site): ?string {
            $sign = [...self::dropIn(), ...self::stamp(self::id($site))];
            foreach (self::marks($site) as $mark) {
                $left = self::left($mark);
                if ($left > \time() - self::LONGEST && $left <= \time()) {
                    return null;
                }
                $sign[] = $left;
            }

            return \implode(' ', $sign);
        });
    }

    /** A request goes on without the cache. */
    public static function leave(): void
    {
        try {
            $GLOBALS['larder_directories'] = Quietly::call(static fn(): array => \array_filter(
                [...Site::current()->directories(), Site::setting('DIRECTORY')],
                static fn(string $directory): bool => $directory !== '' && \is_dir($directory),
            ));
            require \dirname(__DIR__) . '/drop-ins/object-cache.php';
        } catch (\Throwable) {
            // It has more to do than that.
        }
    }

    /** What command and web must both have: the web's engine where it is known, and this PHP's own elsewhere. */
    public static function engine(string $directory): string
    {
        $own = \extension_loaded('pdo_sqlite') ? 'sqlite' : 'file';
        $web = \PHP_SAPI === 'cli' && Ownership::status($directory . self::ENGINE) !== null
            ? Quietly::call(static fn(): string => (string) \file_get_contents($directory . self::ENGINE, length: 10)) : '';
        if ($web === 'sqlite' && $own !== 'sqlite') {
            throw new \RuntimeException('this PHP has no pdo_sqlite, but the web\'s PHP has. Install the extension for the command line too.');
        }

        return $web === 'file' ? $web : $own;
    }

    /** Nothing is answered without the cache any longer, until a page is stored again. */
    public static function closeFastDoor(): void
    {
        Owner::run(static fn() => FastDoor::close(self::name()));
    }

    /** The plugin is deleted. */
    public static function remove(Site $site): void
    {
        Quietly::call(static function (): void {
            foreach (self::temporary() as $place) {
                foreach (\glob($place . '/larder-' . self::name() . '-*') ?: [] as $file) {
                    \unlink($file);
                }
            }
            foreach (\glob(\WP_CONTENT_DIR . self::MARK . '*') ?: [] as $file) {
                \unlink($file);
            }
        });
    }

    /** Whether the time of the cache's folder was set back, or its mode changed. Times are whole seconds, of two clocks. */
    private function isRestored(): bool
    {
        return $this->folder !== null && \filectime($this->folder) > \filemtime($this->folder) + 1;
    }

    /** @return array{string, string} which cache, by which drop-in */
    private function identity(): array
    {
        $source = $this->site->source();
        $cache = [$source['dsn'], $source['prefix'] ?? ''];
        if ($this->folder !== null) {
            // One that was restored from a backup is another one. A folder in which the database is the same is no other.
            $cache[] = \fileinode($this->folder . '/larder.db') ?: 'folder ' . \fileinode($this->folder);
            \array_push($cache, ...self::stamp(self::id($this->site)));
        }

        // A server's DSN may have a password in it.
        $hash = $this->site->isFar() ? 'sha256' : 'xxh128';

        return [\substr(\hash($hash, \implode("\n", $cache)), 0, 16), \substr(\hash('xxh128', \implode(' ', self::dropIn())), 0, 16)];
    }

    /**
     * When it was last confirmed, here.
     *
     * @param array{string, string} $identity
     * @param string                $note     set to the file that says so, where there is one: in it are the marks that are known
     *
     * @return ?int 0: never; null: this server is a new one, so it has not been without it either
     */
    private function seen(array $identity, string &$note): ?int
    {
        foreach ($this->places() as $place) {
            $file = $place . '/larder-' . $this->name . '-' . \implode('-', $identity);
            $status = Ownership::status($file);
            if ($status !== null) {
                $note = $file;

                return $status['mtime'];
            }
        }
        if (!$this->site->isFar()) {
            return 0;
        }
        // A file may get lost, and others would have to do without what they all share.
        $record = $this->record()->get($this->server());
        if (!\is_array($record)) {
            $isNew = $this->mark() === 0;
            $isNew && $this->write($identity, []);

            return $isNew ? null : 0;
        }

        return ($record[0] ?? '') === \implode('-', $identity) && \is_int($record[1] ?? null) ? $record[1] : 0;
    }

    /** @return array{int|string, int|string} of the drop-in, or of the link to it */
    private static function dropIn(): array
    {
        $file = \WP_CONTENT_DIR . '/object-cache.php';
        if (\is_link($file)) {
            $link = \lstat($file);

            return [$link['ino'] ?? '', $link['ctime'] ?? ''];
        }

        return self::stamp($file);
    }

    /** @return array{int|string, int|string} a file's number, and when its status last changed */
    private static function stamp(?string $file): array
    {
        return $file !== null && \is_file($file) ? [(int) \fileinode($file), (int) \filectime($file)] : ['', ''];
    }

    /** The file in the cache's folder that is never written again; null: the cache lies on no disk. */
    private static function id(Site $site): ?string
    {
        $directory = $site->directory() ?? '';
        $prefix = $site->source()['prefix'] ?? '';

        return $directory === '' ? null : $directory . ($prefix === '' ? '' : "/prefix-$prefix") . self::ID;
    }

    /** When the last mark was left. */
    private function mark(): int
    {
        return \max(\array_map(self::left(...), self::marks($this->site)));
    }

    /** @return list<string> a hash of what each mark says that was left since then: another one each time, also of one that cannot be written or read */
    private function marked(int $since): array
    {
        $hashes = [];
        foreach (self::marks($this->site) as $mark) {
            $left = self::left($mark);
            if ($left !== 0 && $left >= $since) {
                $hashes[] = \hash('xxh128', self::text($mark) ?: \random_bytes(16));
            }
        }

        return $hashes;
    }

    /** Whether a request without the cache goes on, or has ended without saying so. */
    private function isAway(): bool
    {
        foreach (self::marks($this->site) as $mark) {
            foreach (\glob($mark . '-*') ?: [] as $file) {
                if ((int) \filemtime($file) > \time() - self::LONGEST) {
                    return true;
                }
                \unlink($file);
            }
        }

        return false;
    }

    /** @return non-empty-list<string> */
    private static function marks(Site $site): array
    {
        $directory = $site->directory();
        $name = self::name();
        $marks = [\WP_CONTENT_DIR . self::MARK, ...\array_map(static fn(string $place): string => "$place/larder-$name-away", self::temporary())];

        return $directory === null ? $marks : [...$marks, $directory . '/away'];
    }

    /** When a mark was left; 0: there is none. Every user may leave one, but nothing else than a file of their own. */
    private static function left(string $file): int
    {
        // lstat() would warn of each that is not there, which takes longer than all the rest.
        return \is_file($file) && !\is_link($file) ? (int) \filemtime($file) : 0;
    }

    /** What a mark says. Opened so that a pipe which has been put into its place by now keeps no request waiting. */
    private static function text(string $file): string
    {
        $handle = self::left($file) === 0 ? false : \fopen($file, 'rn');

        return $handle === false ? '' : (string) \fread($handle, self::MARKED);
    }

    /**
     * @param array{string, string} $identity
     * @param list<string>          $marks    that are known
     */
    private function write(array $identity, array $marks): void
    {
        // Whatever was copied from the cache before is to be copied anew.
        FastDoor::close($this->name);
        $name = '/larder-' . $this->name . '-';
        foreach ($this->places() as $place) {
            $note = $place . $name . \implode('-', $identity);
            if (Ownership::flaw($note) === null && \file_put_contents($note, \implode("\n", $marks)) !== false) {
                \chmod($note, 0o600);
                break;
            }
        }
        foreach ($this->places() as $place) {
            foreach (\glob($place . $name . '*-*') ?: [] as $other) {
                // A server that comes back to another cache has been without it.
                \str_starts_with($other, $place . $name . $identity[0]) || \str_starts_with($other, $place . $name . 'away') || \unlink($other);
            }
        }
        if ($this->site->isFar()) {
            $this->record()->set($this->server(), [\implode('-', $identity), \time()], self::KNOWN);
        } elseif (\PHP_SAPI !== 'cli' && Site::setting('DSN') === '') {
            $file = $this->site->directory() . self::ENGINE;
            Ownership::flaw($file) === null && \file_put_contents($file, \extension_loaded('pdo_sqlite') ? 'sqlite' : 'file');
        }
    }

    private function record(): Cache
    {
        return ObjectCache::records($this->root);
    }

    /** Where releases have directories of their own, each is one. */
    private function server(): string
    {
        return 'seen-' . \hash('xxh128', (\function_exists('gethostname') ? \gethostname() : '') . ' ' . \WP_CONTENT_DIR);
    }

    /** @return list<string> the first that can be written has the file: not where a backup of the cache would have it too */
    private function places(): array
    {
        return $this->places ??= [...self::temporary(), \WP_CONTENT_DIR, ...($this->site->directory() === null ? [] : [(string) $this->site->directory()])];
    }

    /** @return list<string> */
    private static function temporary(): array
    {
        return \array_values(\array_unique(['/var/tmp', \function_exists('sys_get_temp_dir') ? \rtrim(\sys_get_temp_dir(), '/') : '/tmp']));
    }

    /** Tells sites apart by what no other user knows; as in the drop-in. */
    public static function name(): string
    {
        if (self::$called !== '') {
            return self::$called;
        }
        $site = '';
        foreach (['DB_NAME', 'DB_PASSWORD', 'AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY'] as $name) {
            $value = \defined($name) ? \constant($name) : '';
            $site .= \is_string($value) ? $value . ' ' : '';
        }
        $table = $GLOBALS['table_prefix'] ?? '';

        return self::$called = \hash('md5', $site . (\is_string($table) ? $table : ''));
    }
}
