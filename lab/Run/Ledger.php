<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

/**
 * What a long run has measured so far, in a file, so that it can go on where it was stopped: one line of JSON for what
 * the run is, then one for each task of each round.
 *
 * A line that was cut off by the end of the process is left out, and measured again.
 */
final class Ledger
{
    /** @var array<string, true> "round task" */
    private array $known = [];

    /** @var list<array{int, string, list<Measured>}> */
    private array $kept = [];

    /** @var ?resource */
    private $file = null;

    /**
     * @param ?string $path  null: nothing is kept
     * @param string  $what  the run: another one's file is overwritten
     * @param int     $seed  of a run that starts
     */
    public function __construct(private readonly ?string $path, string $what, public int $seed)
    {
        if ($path === null) {
            return;
        }
        $end = $this->load($path, $what);
        $file = \fopen($path, 'c+');
        if ($file === false) {
            throw new NotWritable("Cannot write $path.");
        }
        \ftruncate($file, $end);
        \fseek($file, $end);
        $this->file = $file;
        if ($end === 0) {
            $this->append(['what' => $what, 'seed' => $seed]);
        }
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

    /** @param list<Measured> $measured */
    public function keep(int $round, string $task, array $measured): void
    {
        if ($this->file !== null) {
            $this->append([$round, $task, \array_map(static fn(Measured $one): array => [$one->samples, $one->perSecond, $one->wrong], $measured)]);
        }
    }

    /** The run is whole: there is nothing to go on with. */
    public function remove(): void
    {
        if ($this->file !== null && $this->path !== null) {
            \fclose($this->file);
            $this->file = null;
            \unlink($this->path);
        }
    }

    /** @return int<0, max> bytes of it that are good */
    private function load(string $path, string $what): int
    {
        $file = \is_file($path) ? \fopen($path, 'r') : false;
        if ($file === false) {
            return 0;
        }
        $first = \json_decode((string) \fgets($file), true);
        if (!\is_array($first) || ($first['what'] ?? null) !== $what || !\is_int($first['seed'] ?? null)) {
            return 0;
        }
        $this->seed = $first['seed'];
        $end = \max(0, (int) \ftell($file));
        while (($line = \fgets($file)) !== false && \str_ends_with($line, "\n")) {
            $entry = \json_decode($line, true);
            if (!\is_array($entry) || !\is_int($entry[0] ?? null) || !\is_string($entry[1] ?? null) || !\is_array($entry[2] ?? null)) {
                break;
            }
            $measured = [];
            foreach ($entry[2] as $one) {
                /** @var array{list<float|int>, float|int|null, ?string} $one written by keep() */
                $measured[] = new Measured(\array_map(\floatval(...), $one[0]), $one[1] === null ? null : (float) $one[1], $one[2]);
            }
            $this->known["$entry[0] $entry[1]"] = true;
            $this->kept[] = [$entry[0], $entry[1], $measured];
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
