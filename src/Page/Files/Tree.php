<?php

declare(strict_types=1);

namespace Larder\Page\Files;

use Larder\Cache;
use Larder\System\Failure;
use Larder\System\Ownership;
use Larder\System\PrivateDirectory;
use Larder\System\Quiet;
use Larder\System\ServerPolicy;
use Larder\System\StaticCopies;

/**
 * The files that the web server serves: copies of stored pages that every visitor may see, in buckets of time.
 *
 * This folder holds what pages get files (Address), when they end (Buckets), how they go (Index), and what the web servers
 * are told (NginxConfiguration and its like).
 *
 *     directory/1700000/http/example.org:80/shop@.html, .html.gz     one file of several names, one in each bucket
 *     directory/state/                                               for the owner only
 *         applied      up to which position of the journal all changes are applied
 *         index        see Index
 *         new-…        files that have no other name yet
 *         …            see StaticCopies, whose folders are the buckets
 *
 * A file is a copy of what the cache itself answers under the lock. A purger commits to the journal first, then takes the
 * lock and applies what the journal says; so it sees each file that was put there before, and after it no process puts an
 * older one there. If it is killed, the next process finds its changes in the journal. Every file has been synced before
 * it gets its name, and every directory when a file was taken out of it: a power cut shows neither an empty page nor a
 * purged one.
 */
final class Tree
{
    /** Pages, of which more are not taken out one by one: all go, and those still good come back at their next request. */
    private const MANY = 500;

    /** Files that are deleted from the trash at once. */
    private const PORTION = 500;

    /** What a name in a directory takes, and the unit in which disks give room: bytes. */
    private const ENTRY = 64;
    private const BLOCK = 4_096;

    /** Seconds after which a file without a name in a bucket is a dead process's. */
    private const ORPHAN = 60;

    private const ENDINGS = ['' => '.html', 'gzip' => '.html.gz', 'br' => '.html.br', 'zstd' => '.html.zst'];

    /** Seconds of a file's life over a far truth tier, whose journal a web server cannot read. */
    private const FAR_LIFE = 60;

    private readonly string $state;
    private readonly StaticCopies $mirror;
    private readonly Index $index;
    private bool $isPrepared = false;

    /** @param Cache $cache whose pages these are */
    public function __construct(private readonly Cache $cache, public readonly string $directory, private readonly ?ServerPolicy $policy = null)
    {
        $this->mirror = new StaticCopies($directory);
        $this->state = $this->mirror->state;
        $this->index = new Index("$this->state/index");
    }

    /**
     * All trees that hold pages of this cache on this server, of whatever process.
     *
     * @return list<self>
     */
    public static function noted(Cache $cache): array
    {
        $notes = $cache->internals()->mirrors();

        return $notes === null ? [] : \array_map(static fn(string $directory): self => new self($cache, $directory), StaticCopies::noted($notes));
    }

    /**
     * Gives a stored page its files, if it may have some and has none.
     *
     * @param Cache                                                                                                                   $group    of the pages
     * @param array{made: int, age: int, life: int, status: int, headers: list<string>, etag: string, forms: array<string, int>, ...} $page
     * @param list<string>                                                                                                            $names    by which the journal tells that it changes
     * @param \Closure(): bool                                                                                                        $isStored asks the cache, as a request of its own, whether the page is still what it answers
     */
    public function publish(FileOptions $options, Cache $group, string $key, array $page, string $body, array $names, \Closure $isStored): void
    {
        $path = Address::of($key, $page['status'], $page['headers'], $options->headers);
        $buckets = self::buckets();
        if ($path === null || $buckets === null) {
            return;
        }
        $now = \time();
        $end = \min($page['made'] + $page['life'] - $page['age'], $now + ($options->life ?? self::life($this->cache)));
        $labels = $buckets->cover($now, $end);
        if ($labels === []) {
            return;
        }
        $this->prepare($group);
        Quiet::call(function () use ($options, $path, $labels, $end, $page, $body, $names, $isStored, $buckets, $now): void {
            $this->apply([]);
            \clearstatcache();
            if (\is_file("$this->directory/$labels[0]/$path.html")) {
                return;
            }
            $new = $this->write($page['forms'], $body);
            $lock = $this->mirror->lock();
            try {
                if ($lock !== null && $this->update([]) && $isStored()) {
                    $this->put(($this->policy ?? new ServerPolicy())->atMost($options->budget, 'disk'), $path, $labels, $new, $end, $names);
                }
                $this->sweep($buckets, $now);
            } finally {
                \array_map(\unlink(...), \array_filter($new, \is_file(...)));
                $lock === null || \fclose($lock);
            }
            $this->emptyTrash();
        });
    }

    /**
     * The file that the web server sends of a page, for people.
     *
     * @param array{status: int, headers: list<string>, ...} $page
     * @param ?string                                        $reason set where there is none
     */
    public function file(FileOptions $options, string $key, array $page, ?string &$reason): ?string
    {
        $path = Address::of($key, $page['status'], $page['headers'], $options->headers, $reason);
        $now = \time();
        foreach ($path === null ? [] : Quiet::call($this->mirror->folders(...)) as $label) {
            $file = "$this->directory/$label/$path" . self::ENDINGS[''];
            if (!Buckets::unix()->isOver($label, $now) && \is_file($file)) {
                return $file;
            }
        }
        $reason ??= 'no request has had it made yet, or its life ends soon';

        return null;
    }

    /**
     * Takes out the files of all pages that have changed.
     *
     * @param list<string> $names of changes that the journal may not have yet
     *
     * @return bool false: the journal cannot be asked, or another process has held the lock too long
     */
    public function follow(array $names = []): bool
    {
        return !$this->mirror->exists() || Quiet::call(fn(): bool => $this->apply($names));
    }

    /** @param list<string> $names */
    private function apply(array $names): bool
    {
        if ($names === []) {
            $mark = $this->mark();
            $news = $this->cache->internals()->journal($mark);
            if ($news === null || $news['mark'] === $mark) {
                return $news !== null;
            }
            if ($news['names'] !== null && $this->relevant($news['names']) === []) {
                $lock = $this->mirror->lock(0.0);
                // A process that holds it, or has held it meanwhile, notes more. Going back would take out pages made since.
                $isNoted = $lock === null || $this->mark() !== $mark || $this->note($news['mark']);
                $lock === null || \fclose($lock);

                return $isNoted;
            }
        }
        $lock = $this->mirror->lock();
        try {
            return $lock !== null && $this->update($names);
        } finally {
            $lock === null || \fclose($lock);
        }
    }

    /**
     * Applies the journal, and these names besides. The caller holds the lock.
     *
     * @param list<string> $names
     */
    private function update(array $names): bool
    {
        $news = $this->cache->internals()->journal($this->mark());
        $changed = $news['names'] ?? [];
        $relevant = $this->relevant([...$changed, ...$names]);
        $about = $this->mirror->about();
        // What a damaged file does not tell may concern any page.
        $isLost = $about === null || ($news !== null && $news['names'] === null) || ($this->index->isCut() && $this->mirror->folders() !== []);
        $paths = $isLost || $relevant === [] ? [] : $this->index->find($relevant);
        if ($isLost || \count($paths) > self::MANY || \array_intersect($about[3], $relevant) !== []) {
            $this->clear();
        } elseif ($paths !== []) {
            $this->remove($paths);
        }

        return $news !== null && $this->note($news['mark']);
    }

    /**
     * The names that concern this tree's pages.
     *
     * @param list<string> $names
     *
     * @return list<string>
     */
    private function relevant(array $names): array
    {
        $about = $this->mirror->about();
        if ($about === null) {
            return $names;
        }
        [, $page, $tag, $flushes] = $about;

        return \array_values(\array_filter($names, static fn(string $name): bool => \str_starts_with($name, $page) || \str_starts_with($name, $tag) || \in_array($name, $flushes, true)));
    }

    /**
     * Writes the page's forms to files that have no name in a bucket yet.
     *
     * @param array<string, int> $forms lengths by content coding, in the body's order
     *
     * @return array<string, string> file by ending
     */
    private function write(array $forms, string $body): array
    {
        // Web servers make an entity tag of a file's time and length. This time is none: it differs where the content does,
        // and lies in the past, for Apache takes a present one for a weak tag.
        $time = (int) \hexdec(\substr(\hash('sha256', \substr($body, 0, $forms[''] ?? 0)), 0, 8)) >> 2;
        $files = [];
        $from = 0;
        foreach ($forms as $coding => $length) {
            $ending = self::ENDINGS[$coding] ?? null;
            if ($ending !== null) {
                $file = "$this->state/new-" . \bin2hex(\random_bytes(8));
                $handle = \fopen($file, 'xbe');
                $isWritten = $handle !== false && \fwrite($handle, \substr($body, $from, $length)) === $length && \fflush($handle) && \fsync($handle) && \fclose($handle);
                if (!$isWritten || !\chmod($file, 0o644) || !\touch($file, $time)) {
                    \unlink($file);
                    \array_map(\unlink(...), $files);
                    throw Failure::because($this->directory, 'a page\'s file cannot be written: ' . Quiet::$reason);
                }
                $files[$ending] = $file;
            }
            $from += $length;
        }

        return $files;
    }

    /**
     * @param list<string>          $labels
     * @param array<string, string> $new    file by ending
     * @param list<string>          $names
     */
    private function put(int $budget, string $path, array $labels, array $new, int $end, array $names): void
    {
        $size = 0;
        foreach ($new as $file) {
            $size += \intdiv((int) \filesize($file) + self::BLOCK - 1, self::BLOCK) * self::BLOCK + \count($labels) * self::ENTRY;
        }
        if ($size > $budget || !$this->index->add($path, $end, $size, $names)) {
            return;
        }
        $link = "$this->state/link";
        foreach ($labels as $label) {
            $this->makeDirectory(\dirname("$label/$path"));
            // The body as it is comes last: the others are looked for only beside it.
            foreach (\array_reverse($new) as $ending => $file) {
                \is_file($link) && \unlink($link);
                if (!\link($file, $link) || !\rename($link, "$this->directory/$label/$path$ending")) {
                    throw Failure::because($this->directory, 'a page\'s file cannot be linked: ' . Quiet::$reason);
                }
            }
        }
        if ($this->index->bytes() > $budget) {
            $this->remove($this->index->compact(\time(), $budget));
        }
    }

    /** Whether the directory is there now; another process may make it at the same moment. */
    private static function make(string $path, bool $withThoseAbove = false): bool
    {
        return \is_dir($path) || (\mkdir($path, 0o755, $withThoseAbove) && \chmod($path, 0o755)) || \is_dir($path);
    }

    private function makeDirectory(string $relative): void
    {
        $path = $this->directory;
        foreach (\explode('/', $relative) as $name) {
            $path .= "/$name";
            if (\is_link($path) || !self::make($path)) {
                throw Failure::because($this->directory, "$path is not the directory that it has to be");
            }
        }
    }

    /** @param list<string> $paths */
    private function remove(array $paths): void
    {
        $touched = [];
        foreach ($this->mirror->folders() as $label) {
            foreach ($paths as $path) {
                foreach (self::ENDINGS as $ending) {
                    if (\unlink("$this->directory/$label/$path$ending")) {
                        $touched[\dirname("$this->directory/$label/$path")] = true;
                    }
                }
            }
        }
        \array_map(StaticCopies::sync(...), \array_keys($touched));
    }

    /** Takes everything out of sight. */
    private function clear(): void
    {
        $this->mirror->clear();
        $this->index->clear();
    }

    private function sweep(Buckets $buckets, int $now): void
    {
        foreach ($this->mirror->folders() as $label) {
            $buckets->isOver($label, $now) && $this->mirror->discard($label);
        }
        foreach (\glob("$this->state/new-*") ?: [] as $file) {
            (int) \filectime($file) < $now - self::ORPHAN && \unlink($file);
        }
    }

    private function emptyTrash(): void
    {
        $left = self::PORTION;
        foreach (\glob("$this->state/trash-*") ?: [] as $directory) {
            self::delete($directory, $left);
        }
    }

    private static function delete(string $path, int &$left): void
    {
        if (\is_link($path) || !\is_dir($path)) {
            $left--;
            \unlink($path);

            return;
        }
        foreach (\array_diff(\scandir($path) ?: [], ['.', '..']) as $name) {
            $left > 0 && self::delete("$path/$name", $left);
        }
        $left > 0 && \rmdir($path);
    }

    private function mark(): string
    {
        return \is_file("$this->state/applied") ? (string) \file_get_contents("$this->state/applied") : '';
    }

    private function note(string $mark): bool
    {
        return $this->replace('applied', $mark);
    }

    /** Replaces a file of the state's as a whole. */
    private function replace(string $name, string $content): bool
    {
        $new = "$this->state/new-" . \bin2hex(\random_bytes(8));

        $isDone = \file_put_contents($new, $content) === \strlen($content) && \rename($new, "$this->state/$name");
        // On a full disk it lies there empty, or does not, and that is not the reason to tell.
        $isDone || !\is_file($new) || \unlink($new);

        return $isDone;
    }

    private static function life(Cache $cache): int
    {
        return isset($cache->stats(false)['far']) ? self::FAR_LIFE : \PHP_INT_MAX >> 1;
    }

    /** The clock of the web server that this request came through. */
    private static function buckets(): ?Buckets
    {
        $given = static fn(string $name): string => \is_string($value = $_SERVER[$name] ?? $_SERVER["REDIRECT_$name"] ?? null) ? $value : '';
        $shown = $given('LARDER_CLOCK');

        return $shown === '' ? Buckets::unix() : Buckets::wall($given('LARDER_ZONE'), $shown, \time());
    }

    /**
     * Makes the directory, or refuses one in which others could put pages.
     *
     * @throws Failure
     */
    private function prepare(Cache $group): void
    {
        if ($this->isPrepared) {
            return;
        }
        Quiet::call(function () use ($group): void {
            \clearstatcache();
            if (!self::make($this->directory, true)) {
                throw Failure::because($this->directory, 'the directory for the web server cannot be made: ' . Quiet::$reason);
            }
            $stat = \lstat($this->directory);
            if ($stat === false || ($stat['mode'] & 0o170000) !== 0o040000 || $stat['uid'] !== Ownership::user() || ($stat['mode'] & 0o022) !== 0) {
                throw Failure::because($this->directory, 'the directory for the web server is a link, another user\'s, or writable for others; give one of ' . Ownership::name(Ownership::user()) . '\'s own');
            }
            if (!\is_dir($this->state)) {
                $probe = "$this->directory/Case";
                $isOne = \touch($probe) && \is_file("$this->directory/case");
                \unlink($probe);
                if ($isOne) {
                    throw Failure::because($this->directory, 'its file system takes capitals and small letters for the same, and URLs do not');
                }
            }
            PrivateDirectory::prepare($this->state);
            $names = $group->internals()->journalled('p', 't');
            $about = [(string) $this->cache->internals()->local(), $names[0], \substr($names[1], 0, -1), \array_slice($names, 2)];
            if ($this->mirror->about() === null) {
                $this->begin($about);
            }
            if ($this->mirror->about() === null) {
                throw Failure::because($this->directory, 'the directory for the web server cannot be prepared: ' . (Quiet::$reason ?: 'another process holds its lock'));
            }
            if ($this->mirror->about() !== $about) {
                throw Failure::because($this->directory, 'another cache\'s pages lie there; give each cache a directory of its own, or delete this one');
            }
            $notes = $this->cache->internals()->mirrors();
            $notes === null || $this->mirror->note($notes);
        });
        $this->isPrepared = true;
    }

    /**
     * Names the cache whose pages lie here. Where that file was damaged, pages of another one may.
     *
     * @param array{string, string, string, list<string>} $about
     */
    private function begin(array $about): void
    {
        $lock = $this->mirror->lock();
        if ($lock !== null && $this->mirror->about() === null) {
            $this->clear();
            $text = \json_encode($about, \JSON_THROW_ON_ERROR);
            $this->replace('cache-sum', StaticCopies::sum($text)) && $this->replace('cache', $text);
        }
        $lock === null || \fclose($lock);
    }
}
