<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * A directory of copies of what a cache holds, for a program that sends them without asking, as a web server does.
 *
 *     directory/1700000/…     copies, in folders named by digits
 *     directory/state/        for the owner only
 *         cache               see about()
 *         cache-sum           the sum of what is in it
 *         lock                held by who puts copies into folders or takes them out
 *         trash-…             whole folders, taken out of sight
 *
 * A flush of the cache takes all copies out of sight before it returns, in whatever process: it finds the mirrors in a file
 * beside the cache's other local files. What else becomes of copies is their owner's affair.
 */
final class StaticCopies
{
    /** Seconds to wait for the lock, which is held for milliseconds. */
    private const PATIENCE = 5.0;

    public readonly string $state;

    /** @var ?array{string, string, string, list<string>} see about() */
    private ?array $about = null;

    public function __construct(public readonly string $directory)
    {
        $this->state = "$directory/state";
    }

    /**
     * @param string $notes the file that names the mirrors of a cache
     *
     * @return list<string> their directories
     */
    public static function noted(string $notes): array
    {
        \clearstatcache();

        return \is_file($notes) ? \explode("\n", \rtrim((string) \file_get_contents($notes))) : [];
    }

    /** Names this one there, if it is not yet. */
    public function note(string $notes): void
    {
        if (!\in_array($this->directory, self::noted($notes), true)) {
            \file_put_contents($notes, "$this->directory\n", \FILE_APPEND);
        }
    }

    /**
     * After a flush was committed. A process that is just putting a copy there has the lock, and has seen the flush or not:
     * a process that waits for the lock takes that copy out too.
     *
     * @param string       $notes   as for noted()
     * @param list<string> $flushes the names of what was flushed, as the journal has them
     */
    public static function flushed(string $notes, array $flushes): void
    {
        Quiet::call(static function () use ($notes, $flushes): void {
            foreach (self::noted($notes) as $directory) {
                $mirror = new self($directory);
                $about = $mirror->about();
                if ($mirror->exists() && ($about === null || \array_intersect($about[3], $flushes) !== [])) {
                    $lock = $mirror->lock();
                    $mirror->clear();
                    $lock === null || \fclose($lock);
                }
            }
        });
    }

    /** @phpstan-impure */
    public function exists(): bool
    {
        return \is_dir($this->state);
    }

    /**
     * @return ?array{string, string, string, list<string>} of which cache it is, and with what the journal's names of its pages
     *                                                      and tags begin, and of flushes; null: the file that says so is damaged
     */
    public function about(): ?array
    {
        if ($this->about === null && \is_file("$this->state/cache")) {
            $text = (string) \file_get_contents("$this->state/cache");
            /** @var ?array{string, string, string, list<string>} $about */
            $about = \is_file("$this->state/cache-sum") && \file_get_contents("$this->state/cache-sum") === self::sum($text) ? \json_decode($text, true) : null;
            $this->about = $about;
        }

        return $this->about;
    }

    public static function sum(string $text): string
    {
        return \hash('xxh128', $text);
    }

    /**
     * @param float $seconds how long to wait for another process; 0: one try
     *
     * @return ?resource null: another process has held it too long
     */
    public function lock(float $seconds = self::PATIENCE): mixed
    {
        $lock = FileLock::file("$this->state/lock");

        return $lock !== null && FileLock::take($lock, $seconds) ? $lock : null;
    }

    /** @return list<string> the names of all folders */
    public function folders(): array
    {
        return \array_values(\array_filter(\scandir($this->directory) ?: [], static fn(string $name): bool => \preg_match('/^[0-9]+$/D', $name) === 1));
    }

    /** Takes all copies out of sight. */
    public function clear(): void
    {
        \array_map($this->discard(...), $this->folders());
        self::sync($this->directory);
    }

    public function discard(string $folder): void
    {
        \rename("$this->directory/$folder", "$this->state/trash-" . \bin2hex(\random_bytes(8)));
    }

    /** Waits until the disk knows what is in a directory. */
    public static function sync(string $directory): void
    {
        $handle = \fopen($directory, 're');
        if ($handle !== false) {
            \fsync($handle);
            \fclose($handle);
        }
    }
}
