<?php

declare(strict_types=1);

namespace Larder\Lab\Console;

use Larder\Lab\Report\Html;
use Larder\Lab\Report\Json;
use Larder\Lab\Report\Markdown;
use Larder\Lab\Run\NotWritable;
use Larder\Lab\Run\Report;
use Larder\Lab\Service\Silence;

/** Where a run writes its report. */
final readonly class Files
{
    private const DIRECTORY = 'larder-bench';

    /**
     * @param array<string, string> $files json, markdown, html to path
     * @param ?resource             $held  the directory, locked until the report is written
     */
    private function __construct(public array $files, private mixed $held = null) {}

    /**
     * @param array<string, string> $files by form; none: all three in a directory of their own
     * @param int                   $seed  of the run: one that is resumed replaces its own partial report
     *
     * @throws NotWritable before the run, which may last an hour
     */
    public static function of(array $files, int $seed): self
    {
        if (\array_unique($files) !== $files) {
            throw new NotWritable('Two forms of the report cannot go to one file: name another one for each.');
        }
        $self = $files === [] ? self::free($seed) : new self($files);
        \array_map(NotWritable::check(...), $self->files);

        return $self;
    }

    public function write(Report $report): void
    {
        foreach ($this->files as $form => $file) {
            NotWritable::write($file, match ($form) {
                'json' => (new Json())->encode($report),
                'markdown' => (new Markdown())->render($report),
                default => (new Html())->render($report),
            });
        }
        if ($this->held !== null) {
            \fclose($this->held);
        }
    }

    /** The first of larder-bench, larder-bench-2 … that no other run writes to and that has no other run's report. */
    private static function free(int $seed): self
    {
        for ($number = 1; ; ++$number) {
            $directory = self::DIRECTORY . ($number > 1 ? "-$number" : '');
            // Closed when a program is started: a server that outlived this run would keep the lock.
            $held = Silence::of(static fn() => (\is_dir($directory) || \mkdir($directory) || \is_dir($directory)) ? \fopen($directory, 're') : false);
            if ($held === false) {
                throw new NotWritable("Cannot create the directory $directory for the reports here. Change to a directory that you may write to, or name files: --html=FILE --json=FILE");
            }
            // Not every file system has locks.
            $free = \flock($held, \LOCK_EX | \LOCK_NB, $busy) || $busy !== 1;
            $json = "$directory/report.json";
            if ($free && (!\is_file($json) || self::isPartial($json, $seed))) {
                return new self(['json' => $json, 'markdown' => "$directory/report.md", 'html' => "$directory/report.html"], $held);
            }
        }
    }

    private static function isPartial(string $json, int $seed): bool
    {
        $begin = (string) \file_get_contents($json, length: 16_384);

        return \str_contains($begin, "\n\"seed\": $seed,\n") && \str_contains($begin, "\n\"partial\": true,\n");
    }
}
