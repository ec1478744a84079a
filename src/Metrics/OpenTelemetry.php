<?php

declare(strict_types=1);

namespace Larder\Metrics;

use Larder\Events\Listener;
use Larder\System\Coroutine;
use OpenTelemetry\API\Trace\SpanInterface;
use OpenTelemetry\API\Trace\SpanKind;
use OpenTelemetry\API\Trace\StatusCode;
use OpenTelemetry\API\Trace\TracerInterface;
use OpenTelemetry\Context\ScopeInterface;

/**
 * Spans of OpenTelemetry for what takes time: `cache.compute`, a computation of remember(), within which lie those of the database
 * that it asks; and `cache.round_trip`, a call of the truth tier. Hits have none. Needs the package open-telemetry/api,
 * whose context a fiber must have attached before it (its FiberBoundContextStorage warns otherwise).
 *
 *     Cache::open(['events' => new OpenTelemetry($provider->getTracer('larder'))])
 */
final class OpenTelemetry extends Listener
{
    /** @var \WeakMap<object, array<string, list<array{SpanInterface, ScopeInterface}>>> by coroutine, group and key: those that are under way, the innermost last */
    private \WeakMap $open;

    /** @param bool $keys whether spans name the key (`cache.key`), which may tell who a visitor is */
    public function __construct(private readonly TracerInterface $tracer, private readonly bool $keys = false)
    {
        $this->open = new \WeakMap();
    }

    public function onCompute(string $key, string $group): void
    {
        $builder = $this->tracer->spanBuilder('cache.compute')->setAttribute('larder.group', $group);
        $span = ($this->keys ? $builder->setAttribute('cache.key', $key) : $builder)->startSpan();
        $coroutine = Coroutine::current() ?? $this;
        $all = $this->open[$coroutine] ?? [];
        $all["$group:$key"][] = [$span, $span->activate()];
        $this->open[$coroutine] = $all;
    }

    public function onComputed(string $key, string $group, float $seconds, ?\Throwable $thrown): void
    {
        $coroutine = Coroutine::current() ?? $this;
        $all = $this->open[$coroutine] ?? [];
        $open = $all["$group:$key"] ?? [];
        $last = \array_pop($open);
        $all["$group:$key"] = $open;
        $this->open[$coroutine] = \array_filter($all);
        if ($last === null) {
            // It could not begin.
            return;
        }
        [$span, $scope] = $last;
        $scope->detach();
        $thrown === null || $span->recordException($thrown)->setStatus(StatusCode::STATUS_ERROR);
        $span->end();
    }

    public function onRoundTrip(string $store, float $seconds): void
    {
        $end = (int) (\microtime(true) * 1e9);
        $this->tracer->spanBuilder('cache.round_trip')
            ->setSpanKind(SpanKind::KIND_CLIENT)
            ->setAttribute('larder.store', $store)
            ->setStartTimestamp($end - (int) ($seconds * 1e9))
            ->startSpan()
            ->end($end);
    }
}
