<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/** What each process of the experiment has to know. */
final class Settings
{
    public function __construct(
        /** The truth tier's. */
        public readonly string $dsn,
        /** This server's own directory. */
        public readonly string $directory,
        /** Where the database and the diaries of all are. */
        public readonly string $common,
        /** What stands before the truth, as the option of that name. */
        public readonly string $near,
        /** False: near tiers never hear of a change. */
        public readonly bool $journal,
        /** Seconds that a request waits for a part. */
        public readonly float $timeout,
        /** Destructors, which the garbage collector runs in the middle of calls, call the cache too. */
        public readonly bool $nested = false,
        /** Its processes are to be without the extension, also where others have it. */
        public readonly bool $isPlain = false,
        /** One of Loop::NAMES, in which a process on the command line serves several requests at once; '': one after another. */
        public readonly string $loop = '',
    ) {}

    /** @return array<string, string> */
    public function toArray(): array
    {
        return [
            'dsn' => $this->dsn,
            'directory' => $this->directory,
            'common' => $this->common,
            'near' => $this->near,
            'journal' => $this->journal ? '1' : '',
            'timeout' => (string) $this->timeout,
            'nested' => $this->nested ? '1' : '',
            'plain' => $this->isPlain ? '1' : '',
            'loop' => $this->loop,
        ];
    }

    /** @param array<mixed> $values */
    public static function from(array $values): self
    {
        return new self(
            $values['dsn'],
            $values['directory'],
            $values['common'],
            $values['near'],
            (bool) $values['journal'],
            (float) $values['timeout'],
            (bool) $values['nested'],
            (bool) $values['plain'],
            $values['loop'],
        );
    }

    /** @return array<string, ?string> what the environment of its processes has that this one's has not */
    public function environment(): array
    {
        $directories = \getenv('PHP_INI_SCAN_DIR');
        if (!$this->isPlain || $directories === false) {
            return [];
        }
        // The one of ext/with.
        $plain = \array_filter(\explode(':', $directories), static fn(string $directory): bool => !\is_file("$directory/larder.ini")
            || !\str_contains((string) \file_get_contents("$directory/larder.ini"), 'extension='));

        // Empty parts stand for PHP's own directory; an empty value would not.
        return ['PHP_INI_SCAN_DIR' => \implode(':', $plain) ?: null];
    }

    /** In its processes. */
    public function check(): void
    {
        if ($this->isPlain && \extension_loaded('larder')) {
            throw new \LogicException('Cannot do without the extension: php.ini loads it.');
        }
    }

    public function database(): Database
    {
        return new Database($this->common . '/database');
    }

    /** @param string $of a part of the process's name of its own */
    public function diary(string $of = ''): Diary
    {
        return new Diary($this->common . '/' . $this->diaryName((int) \getmypid()) . $of);
    }

    public function diaryName(int $pid): string
    {
        return 'diary-' . \basename($this->directory) . '-' . $pid;
    }
}
