<?php

declare(strict_types=1);

namespace Larder\Metrics;

use Larder\Cache;
use Larder\Request\Observer;
use Larder\System\CountLog;
use Larder\System\Failure;
use Larder\System\FileLock;

/**
 * Says what all processes have done with a cache, and what it holds now, as OpenMetrics has it (the text format 1.0.0 of
 * https://github.com/prometheus/OpenMetrics), which Prometheus and others read.
 *
 * This folder holds what tells operators of a cache. What is told is counted in Request\Observer and System\CountLog.
 *
 * The label `group` has at most CountLog::MOST values besides `(none)`, outside all groups, and `(other)`: the groups that were
 * used first. A group's name is as the application gave it, of a group in a group `outer/inner`; percent-encoded where that could be
 * another group's.
 */
final readonly class OpenMetrics
{
    /** The content type of text(); and of plain(). */
    public const TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';
    public const PLAIN_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

    public const NONE = '(none)';

    public function __construct(private Cache $cache) {}

    /**
     * Asks each tier what it holds: as long as that takes.
     *
     * @throws Failure the counts cannot be read now, since another process holds their lock for seconds: answer with the status 503
     */
    public function text(): string
    {
        return self::written($this->samples(), false) . "# EOF\n";
    }

    /**
     * The same in Prometheus's own format, for what reads no other, as node_exporter's textfile collector.
     *
     * @throws Failure as text()
     */
    public function plain(): string
    {
        return self::written($this->samples(), true);
    }

    /**
     * The same for JSON: by family its type, unit and help, and its samples.
     *
     * @return array<string, array{type: string, unit: string, help: string, samples: list<array{name: string, labels: object, value: int|float}>}>
     *
     * @throws Failure as text()
     */
    public function document(): array
    {
        $samples = $this->samples();
        $families = [];
        foreach (Family::cases() as $family) {
            $families[$family->value] = ['type' => $family->type(), 'unit' => $family->unit(), 'help' => $family->help(), 'samples' => \array_map(
                static fn(array $sample): array => ['name' => $family->value . $sample[0], 'labels' => (object) $sample[1], 'value' => $sample[2]],
                $samples[$family->value] ?? [],
            )];
        }

        return $families;
    }

    /** @return array<string, list<array{string, array<string, string>, int|float}>> by family: what the sample's name ends with, its labels and value */
    private function samples(): array
    {
        $internals = $this->cache->internals();
        $samples = $this->counted($internals->counts());
        foreach ($this->cache->stats() as $tier => $row) {
            if ($tier !== 'request' && isset($row['engine'], $row['entries'], $row['bytes'])) {
                $labels = ['tier' => $tier, 'engine' => (string) $row['engine']];
                $samples[Family::Bytes->value][] = ['', $labels, (int) $row['bytes']];
                $samples[Family::Entries->value][] = ['', $labels, (int) $row['entries']];
                if (($row['budget'] ?? 0) > 0) {
                    $samples[Family::BudgetBytes->value][] = ['', $labels, (int) $row['budget']];
                }
            }
        }
        ['epoch' => $epoch, 'lag' => $lag, 'pending' => $pending] = $internals->condition();
        $samples[Family::JournalLag->value][] = ['', [], $lag];
        $samples[Family::PendingInvalidations->value][] = ['', [], $pending];
        $age = $internals->local() === null || $epoch === '' ? null : self::age($internals->local() . '-epoch', $epoch);
        if ($age !== null) {
            $samples[Family::EpochAgeSeconds->value][] = ['', [], $age];
        }

        return $samples;
    }

    /**
     * @param array<string, int> $counts
     *
     * @return array<string, list<array{string, array<string, string>, int|float}>> by family: what the sample's name ends with, its labels and value
     */
    private function counted(array $counts): array
    {
        $samples = [];
        foreach ($counts as $name => $count) {
            [$what, $one, $two, $path] = \explode('|', $name) + ['', '', '', ''];
            if ($what === 'gets') {
                $samples[Family::Gets->value][] = ['_total', ['group' => self::group($path), 'tier' => $one, 'result' => $two], $count];
            } elseif ($what === 'writes') {
                $samples[Family::Writes->value][] = ['_total', ['verdict' => $one], $count];
            }
        }
        $seconds = [
            [Family::ComputationsSeconds, $counts[Observer::COMPUTATIONS] ?? 0, $counts[Observer::COMPUTING] ?? 0],
            [Family::LeaseWaitsSeconds, $counts[Observer::WAITS] ?? 0, $counts[Observer::WAITING] ?? 0],
        ];
        foreach ($seconds as [$family, $count, $time]) {
            $samples[$family->value] = [['_count', [], $count], ['_sum', [], $time / 1e9]];
        }
        $samples[Family::Computations->value] = [['_total', [], $counts[Observer::COMPUTATIONS] ?? 0]];
        $samples[Family::RoundTrips->value] = [['_total', [], $counts[Observer::CALLS] ?? 0]];

        return $samples;
    }

    /** @param array<string, list<array{string, array<string, string>, int|float}>> $samples */
    private static function written(array $samples, bool $isPlain): string
    {
        $text = '';
        foreach (Family::cases() as $family) {
            // There a counter is called as its sample.
            $name = $isPlain && $family->type() === 'counter' ? $family->samples()[0] : $family->value;
            $text .= "# TYPE $name {$family->type()}\n"
                . ($isPlain || $family->unit() === '' ? '' : "# UNIT $name {$family->unit()}\n")
                . "# HELP $name " . self::escaped($family->help()) . "\n";
            foreach ($samples[$family->value] ?? [] as [$end, $labels, $value]) {
                $pairs = [];
                foreach ($labels as $label => $content) {
                    $pairs[] = $label . '="' . self::escaped($content) . '"';
                }
                $text .= $family->value . $end . ($pairs === [] ? '' : '{' . \implode(',', $pairs) . '}') . ' '
                    . (\is_int($value) ? $value : \json_encode($value, \JSON_THROW_ON_ERROR)) . "\n";
            }
        }

        return $text;
    }

    /**
     * As the application names it, if no other group can be shown as the same. What is no UTF-8, looks like NONE or CountLog::OTHERS,
     * or has a "%", or a "/" in a name, stays percent-encoded.
     */
    private static function group(string $path): string
    {
        if ($path === '' || $path === CountLog::OTHERS) {
            return $path === '' ? self::NONE : $path;
        }
        $name = \rawurldecode($path);

        return $name[0] === '(' || \str_contains($name, '%') || \substr_count($name, '/') !== \substr_count($path, '/') || \preg_match('//u', $name) !== 1 ? $path : $name;
    }

    private static function escaped(string $text): string
    {
        return \strtr($text, ['\\' => '\\\\', "\n" => '\\n', '"' => '\\"']);
    }

    /** Seconds since the file was written, which notes when a scrape met the epoch. Null: it cannot be written. */
    private static function age(string $path, string $epoch): ?int
    {
        $file = FileLock::file($path);
        if ($file === null || !FileLock::take($file, 1.0)) {
            return null;
        }
        if (\stream_get_contents($file) !== $epoch) {
            \ftruncate($file, 0);
            \rewind($file);
            \fwrite($file, $epoch);
            \fflush($file);
        }

        return \max(0, \time() - (int) (\fstat($file)['mtime'] ?? \time()));
    }
}
