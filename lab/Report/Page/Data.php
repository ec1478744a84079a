<?php

declare(strict_types=1);

namespace Larder\Lab\Report\Page;

use Larder\Lab\Report\Plain;
use Larder\Lab\Report\Rank;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;
use Larder\Lab\Statistics\Quantile;

/**
 * What the page's script draws from: not every sample, but every curve as finely as a picture shows it.
 *
 * @phpstan-import-type Figure from Pictures
 */
final readonly class Data
{
    /** Points of a curve. */
    private const POINTS = 80;

    private const COLUMNS = [
        'scenario', 'subject', 'engine', 'connection', 'serializer', 'compressor', 'payload', 'operation',
        'concurrency', 'unit', 'n', 'center', 'median', 'low', 'high', 'curve', 'share',
    ];

    public function __construct(private Report $report) {}

    /**
     * For a script element: nothing in it ends one or begins a comment.
     *
     * @param array<string, Figure> $figures Pictures::all()
     */
    public function json(array $figures): string
    {
        return \json_encode(
            ['columns' => self::COLUMNS, 'rows' => \array_map($this->row(...), $this->report->results), 'figures' => $figures],
            \JSON_THROW_ON_ERROR | \JSON_HEX_TAG | \JSON_HEX_AMP | \JSON_HEX_APOS | \JSON_HEX_QUOT | \JSON_UNESCAPED_SLASHES | \JSON_INVALID_UTF8_SUBSTITUTE,
        );
    }

    /** @return list<mixed> in the order of COLUMNS */
    private function row(Result $result): array
    {
        $cell = $result->cell;
        $samples = \array_merge(...$result->rounds);
        \sort($samples);
        $curve = Quantile::curve($samples, self::POINTS);

        return [
            ...\array_map(Plain::line(...), [$cell->scenario, $cell->subject, $cell->engine, $cell->connection, $cell->serializer, $cell->compressor, $cell->payload, $cell->operation]),
            $cell->concurrency,
            $cell->unit,
            \count($samples),
            self::short(Rank::center($result)),
            self::short($result->summary->median),
            self::short($result->summary->p5),
            self::short($result->summary->p95),
            \array_map(static fn(array $point): float|int => self::short($point[0]), $curve),
            \array_map(static fn(array $point): int => (int) \round($point[1] * \count($samples)), $curve),
        ];
    }

    /** Four digits are more than a picture shows. */
    public static function short(float $value): float|int
    {
        if ($value === 0.0 || !\is_finite($value)) {
            return 0;
        }
        $rounded = \round($value, \max(0, 3 - (int) \floor(\log10(\abs($value)))));

        return $rounded === \floor($rounded) && \abs($rounded) < 1e15 ? (int) $rounded : $rounded;
    }
}
