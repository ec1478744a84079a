<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

/**
 * What a long run has measured so far, in a file of its own, so that it can resume where it was stopped.
 *
 * The file is named after what is run, and locked while it runs. Its first line says what the run is; each further line
 * has one task of one round, or who runs it. A line that was cut off is left out, and measured again.
 */
final class Ledger
{
    public readonly ?string $path;

    /** @var array<string, true> "round task" */
    private array $known = [];

    /** @var list<array{int, string, list<Measured>}> */
    private array $kept = [];

    /** @var ?resource locked */
    private $file = null;

    /** Who wrote last, in words. */
    private string $holder = 'another process';

    /**
     * @param ?string $directory null: nothing is kept
     * @param string  $what      the run: another one has another file
     * @param int     $seed      of a run that starts
     *
     * @throws NotWritable if another process runs the same
     */
    public function __construct(?string $directory, string $what, public int $seed)
    {
        $this->path = $directory === null ? null : \sprintf('%s/bench-%s.jsonl', $directory, \substr(\hash('sha256', $what), 0, 16));
        if ($this->path === null) {
            return;
        }
        $file = $this->lock($this->path, $what);
        $end = $this->load($file, $what);
        \ftruncate($file, $end);
        \fseek($file, $end);
        $this->file = $file;
        if ($end === 0) {
            $this->append(['what' => $what, 'seed' => $seed]);
        }
        $this->append(['by' => \sprintf('process %d, since %s UTC', (int) \getmypid(), \gmdate('Y-m-d H:i:s'))]);
    }

    /** @return list<array{int, string, list<Measured>}> round, task and what it found, of the run that is gone on with */
    public function kept(): array
    {
        return $this->kept;
    }

    public function has(int $round, string $task): bool
    {
        return isset($this->known["$round $task"]);
    }

    /** For the user: how much there is to resume from. */
    public function keeps(): string
    {
        return $this->path === null
            ? 'Nothing is kept to resume from: only whole scenarios without --quick are resumed.'
            : \sprintf('%s kept (%s), and the same command resumes from there.', \count($this->known) === 1 ? 'One measurement is' : \count($this->known) . ' measurements are', $this->path);
    }

    /** @param list<Measured> $measured */
    public function keep(int $round, string $task, array $measured): void
    {
        if ($this->file !== null) {
            $this->known["$round $task"] = true;
            $this->append([$round, $task, \array_map(\get_object_vars(...), $measured)]);
        }
    }

    /** The run is whole: there is nothing to resume. */
    public function remove(): void
    {
        if ($this->file !== null && $this->path !== null) {
            // First the name, then the lock: no process may lock a file that is about to go.
            \unlink($this->path);
            \fclose($this->file);
            $this->file = null;
        }
    }

    /** @return resource */
    private function lock(string $path, string $what)
    {
        for (;;) {
            // Closed when a program is started: a server that outlived this run would keep the lock.
            $file = \fopen($path, 'c+e');
            if ($file === false) {
                throw new NotWritable("Cannot write $path.");
            }
            if (!\flock($file, \LOCK_EX | \LOCK_NB)) {
                $this->load($file, $what);
                throw new NotWritable("The same run is under way: $this->holder, holds $path. Wait for its end, or stop it; the same command then resumes.");
            }
            // A run that ended between the two calls has taken the name away: the lock is then on a file without one.
            \clearstatcache(true, $path);
            if (\is_file($path) && \fileinode($path) === (\fstat($file)['ino'] ?? null)) {
                return $file;
            }
        }
    }

    /**
     * @param resource $file
     *
     * @return int<0, max> bytes of it that are good
     */
    private function load($file, string $what): int
    {
        $first = \json_decode((string) \fgets($file), true);
        if (!\is_array($first) || ($first['what'] ?? null) !== $what || !\is_int($first['seed'] ?? null)) {
            return 0;
        }
        $this->seed = $first['seed'];
        $end = \max(0, (int) \ftell($file));
        while (($line = \fgets($file)) !== false && \str_ends_with($line, "\n")) {
            $entry = \json_decode($line, true);
            if (\is_array($entry) && \is_string($entry['by'] ?? null)) {
                $this->holder = $entry['by'];
            } elseif (\is_array($entry) && \is_int($entry[0] ?? null) && \is_string($entry[1] ?? null) && \is_array($entry[2] ?? null)) {
                $measured = [];
                foreach ($entry[2] as $one) {
                    $measured[] = Measured::from(\is_array($one) ? $one : []);
                }
                $this->known["$entry[0] $entry[1]"] = true;
                $this->kept[] = [$entry[0], $entry[1], $measured];
            } else {
                break;
            }
            $end = \max(0, (int) \ftell($file));
        }

        return $end;
    }

    /** @param array<mixed> $entry */
    private function append(array $entry): void
    {
        $line = \json_encode($entry, \JSON_THROW_ON_ERROR | \JSON_INVALID_UTF8_SUBSTITUTE | \JSON_PRESERVE_ZERO_FRACTION) . "\n";
        if ($this->file === null || \fwrite($this->file, $line) !== \strlen($line)) {
            throw new NotWritable("Cannot write to $this->path any more: is the disk full? Its content is kept, and the same command resumes from there.");
        }
    }
}
