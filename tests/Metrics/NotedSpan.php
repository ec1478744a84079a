<?php

declare(strict_types=1);

namespace Larder\Tests\Metrics;

use OpenTelemetry\API\Trace\Span;
use OpenTelemetry\API\Trace\SpanBuilderInterface;
use OpenTelemetry\API\Trace\SpanContext;
use OpenTelemetry\API\Trace\SpanContextInterface;
use OpenTelemetry\API\Trace\SpanInterface;
use OpenTelemetry\API\Trace\TracerInterface;
use OpenTelemetry\Context\ContextInterface;

/** A tracer, its builders and their spans in one: the API's interfaces without the SDK, which notes what it is told. */
final class NotedSpan extends Span implements TracerInterface, SpanBuilderInterface
{
    /** @var \ArrayObject<int, self> all spans of a tracer in the order of their ends */
    public readonly \ArrayObject $ended;
    public ?SpanInterface $parent = null;

    /** @var array<string, mixed> */
    public array $attributes = [];
    public string $status = '';
    public ?\Throwable $thrown = null;
    public ?int $start = null;
    public ?int $end = null;

    /** @param ?\ArrayObject<int, self> $ended */
    public function __construct(public readonly string $name = '', ?\ArrayObject $ended = null)
    {
        $this->ended = $ended ?? new \ArrayObject();
    }

    public function spanBuilder(string $spanName): SpanBuilderInterface
    {
        return new self($spanName, $this->ended);
    }

    public function isEnabled(): bool
    {
        return true;
    }

    public function setParent(ContextInterface|false|null $context): SpanBuilderInterface
    {
        throw new \LogicException('The parent is the current span.');
    }

    public function setStartTimestamp(int $timestampNanos): SpanBuilderInterface
    {
        $this->start = $timestampNanos;

        return $this;
    }

    public function setSpanKind(int $spanKind): SpanBuilderInterface
    {
        return $this;
    }

    public function startSpan(): SpanInterface
    {
        $this->parent = Span::getCurrent();

        return $this;
    }

    public function getContext(): SpanContextInterface
    {
        return SpanContext::getInvalid();
    }

    public function isRecording(): bool
    {
        return true;
    }

    public function setAttribute(string $key, mixed $value): static
    {
        $this->attributes[$key] = $value;

        return $this;
    }

    /** @param iterable<string, mixed> $attributes */
    public function setAttributes(iterable $attributes): static
    {
        return $this;
    }

    /** @param iterable<string, mixed> $attributes */
    public function addLink(SpanContextInterface $context, iterable $attributes = []): static
    {
        return $this;
    }

    /** @param iterable<string, mixed> $attributes */
    public function addEvent(string $name, iterable $attributes = [], ?int $timestamp = null): SpanInterface
    {
        return $this;
    }

    /** @param iterable<string, mixed> $attributes */
    public function recordException(\Throwable $exception, iterable $attributes = []): SpanInterface
    {
        $this->thrown = $exception;

        return $this;
    }

    public function updateName(string $name): SpanInterface
    {
        return $this;
    }

    public function setStatus(string $code, ?string $description = null): SpanInterface
    {
        $this->status = $code;

        return $this;
    }

    public function end(?int $endEpochNanos = null): void
    {
        $this->end = $endEpochNanos;
        $this->ended[] = $this;
    }
}
