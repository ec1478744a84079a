<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Disk;

/**
 * A database in write-ahead mode, and the bell beside it.
 *
 * Frames that a killed process left behind are not in the log's index; they come to life when that is rebuilt, unless
 * another commit has been written over them (sqlite.org/walformat.html, section 2.3).
 */
final class Database extends FileSystem
{
    /** @var array<int, object> what each process' transaction has made of the database */
    private array $open = [];

    /** Complete frames that are not in the index yet. */
    private ?object $frames = null;

    /** Bytes of the bell's first part, which holds the change log; here it is small. */
    public const AREA = 256;
    private const FIRST = self::AREA + 2;

    /** @param object $current an Inside\Shelf */
    public function __construct(private object $current)
    {
        $header = \pack('NJJ', 0, self::FIRST, 0);
        $this->write($this->open('bell', 'w'), 0, \str_pad(\pack('N', \crc32($header)) . $header, self::FIRST, "\0"));
    }

    public function kill(int $process): void
    {
        parent::kill($process);
        unset($this->open[$process]);
    }

    protected function engine(int $process, string $step, mixed ...$arguments): mixed
    {
        switch ($step) {
            case 'db.since':
                return $this->current->since(...$arguments);
            case 'db.read':
                return $this->current->read(...$arguments);
            case 'db.look':
                return clone $this->current;
            case 'db.begin':
                return (bool) ($this->open[$process] = clone $this->current);
            case 'db.end':
                return $this->open[$process]->end();
            case 'db.land':
                $this->open[$process]->land(...$arguments);

                return true;
            case 'db.change':
                return $this->open[$process]->write($arguments[0]);
            case 'db.frames':
                return (bool) ($this->frames = $this->open[$process]);
            case 'db.visible':
                $this->current = $this->open[$process];
                unset($this->open[$process]);
                $this->frames = null;

                return true;
            case 'recover':
                $this->current = $this->frames ?? $this->current;
                $this->frames = null;

                return true;
            default:
                return parent::engine($process, $step, ...$arguments);
        }
    }

    public function __clone()
    {
        foreach ($this->open as $process => $shelf) {
            $this->open[$process] = clone $shelf;
        }
    }

    protected function engineKey(): string
    {
        $text = parent::engineKey() . $this->current->key() . '|' . $this->frames?->key();
        foreach ($this->open as $process => $shelf) {
            $text .= "|$process" . $shelf->key();
        }

        return $text;
    }
}
