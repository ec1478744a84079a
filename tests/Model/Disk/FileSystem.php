<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Disk;

use Larder\Tests\Model\Engine;

/** The files of a server: names, what is in them, and locks that end with their holder. */
class FileSystem extends Engine
{
    /** @var array<string, int> */
    private array $names = [];

    /** @var array<int, string> content by inode */
    private array $files = [];

    /** @var array<int, int> inode to the process that has locked it */
    private array $locks = [];

    public function kill(int $process): void
    {
        parent::kill($process);
        foreach (\array_keys($this->locks, $process, true) as $inode) {
            unset($this->locks[$inode]);
        }
        $this->news++;
    }

    public function hidden(int $process, string $step): bool
    {
        return $step === 'violation';
    }

    protected function engine(int $process, string $step, mixed ...$arguments): mixed
    {
        return match ($step) {
            'find' => $this->names[$arguments[0]] ?? 0,
            'open' => $this->open(...$arguments),
            'size' => \strlen($this->files[$arguments[0]]),
            'read' => \substr($this->files[$arguments[0]], $arguments[1], $arguments[2]),
            'write' => $this->write(...$arguments),
            'truncate' => $this->truncate(...$arguments),
            'rename' => $this->rename(...$arguments),
            'unlink' => $this->unlink(...$arguments),
            'lock' => $this->lock($process, ...$arguments),
            'unlock' => $this->unlock(...$arguments),
            default => throw new \LogicException($step),
        };
    }

    protected function engineKey(): string
    {
        return \serialize([$this->names, $this->files, $this->locks]);
    }

    protected function open(string $path, string $mode): int
    {
        if (!isset($this->names[$path])) {
            if ($mode[0] === 'r') {
                return 0;
            }
            $this->names[$path] = \count($this->files) + 1;
            $this->files[] = '';
            // Inodes begin with 1.
            $this->files = \array_combine(\range(1, \count($this->files)), $this->files);
            \ksort($this->names);
            $this->news++;
        } elseif ($mode[0] === 'w') {
            $this->truncate($this->names[$path], 0);
        }

        return $this->names[$path];
    }

    protected function write(int $inode, int $offset, string $bytes): bool
    {
        $this->files[$inode] = \substr_replace(\str_pad($this->files[$inode], $offset, "\0"), $bytes, $offset, \strlen($bytes));
        $this->news++;

        return true;
    }

    private function truncate(int $inode, int $size): bool
    {
        $before = $this->files[$inode];
        $this->files[$inode] = \str_pad(\substr($before, 0, $size), $size, "\0");
        $this->news += $before === $this->files[$inode] ? 0 : 1;

        return true;
    }

    private function rename(string $from, string $to): bool
    {
        if (!isset($this->names[$from])) {
            return false;
        }
        $this->names[$to] = $this->names[$from];
        unset($this->names[$from]);
        \ksort($this->names);
        $this->news++;

        return true;
    }

    private function unlink(string $path): bool
    {
        $there = isset($this->names[$path]);
        unset($this->names[$path]);
        $this->news++;

        return $there;
    }

    private function lock(int $process, int $inode): bool
    {
        if (($this->locks[$inode] ?? $process) !== $process) {
            return false;
        }
        $this->locks[$inode] = $process;

        return true;
    }

    private function unlock(int $inode): bool
    {
        unset($this->locks[$inode]);
        $this->news++;

        return true;
    }
}
