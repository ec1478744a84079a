<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle\Profiler;

use Symfony\Bundle\FrameworkBundle\DataCollector\AbstractDataCollector;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\DataCollector\LateDataCollectorInterface;

/**
 * The panel of Larder's pools.
 *
 * @phpstan-import-type Call from CallLog
 */
final class LarderDataCollector extends AbstractDataCollector implements LateDataCollectorInterface
{
    public const NAME = 'larder';

    public function __construct(private readonly CallLog $log) {}

    public static function getTemplate(): string
    {
        return '@Larder/Collector/larder.html.twig';
    }

    public function getName(): string
    {
        return self::NAME;
    }

    public function collect(Request $request, Response $response, ?\Throwable $exception = null): void
    {
        $this->lateCollect();
    }

    /** Once more after the response: what was deferred is stored then. */
    public function lateCollect(): void
    {
        $this->data = ['calls' => $this->log->calls];
    }

    public function reset(): void
    {
        parent::reset();
        $this->log->clear();
    }

    /** @return list<Call> */
    public function getCalls(): array
    {
        /** @var list<Call> */
        return \is_array($this->data) ? $this->data['calls'] ?? [] : [];
    }

    /** @return array{calls: int, hits: int, misses: int, time: float, computed: float, tiers: array<string, int>} times in milliseconds */
    public function getTotals(): array
    {
        $totals = ['calls' => 0, 'hits' => 0, 'misses' => 0, 'time' => 0.0, 'computed' => 0.0, 'tiers' => []];
        foreach ($this->getCalls() as $call) {
            ++$totals['calls'];
            $totals['hits'] += $call['hits'];
            $totals['misses'] += $call['misses'];
            $totals['time'] += $call['time'];
            $totals['computed'] += $call['computed'] ?? 0.0;
            foreach ($call['tiers'] as $tier => $hits) {
                $totals['tiers'][$tier] = ($totals['tiers'][$tier] ?? 0) + $hits;
            }
        }

        return $totals;
    }
}
