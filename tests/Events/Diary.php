<?php

declare(strict_types=1);

namespace Larder\Tests\Events;

use Larder\Events\Listener;

/** Notes what it is told. */
final class Diary extends Listener
{
    /** @var list<string> */
    public array $lines = [];

    /** @var list<float> */
    public array $trips = [];

    /** @param ?\Closure(string): void $does what it does besides, with the method's name */
    public function __construct(public ?\Closure $does = null) {}

    public function onMiss(string $key, string $group): void
    {
        $this->note("misses $key in '$group'", 'onMiss');
    }

    public function onCompute(string $key, string $group): void
    {
        $this->note("computes $key in '$group'", 'onCompute');
    }

    public function onComputed(string $key, string $group, float $seconds, ?\Throwable $thrown): void
    {
        $this->note("computed $key in '$group'" . ($thrown === null ? '' : ': ' . $thrown->getMessage()) . ($seconds < 0.0 || $seconds > 60.0 ? " $seconds" : ''), 'onComputed');
    }

    public function onConflict(string $key, string $group, string $verdict): void
    {
        $this->note("$verdict $key in '$group'", 'onConflict');
    }

    public function onOutage(string $store, string $message): void
    {
        $this->note("$store is out: $message", 'onOutage');
    }

    public function onRoundTrip(string $store, float $seconds): void
    {
        $this->trips[] = $seconds;
        $this->does === null || ($this->does)('onRoundTrip');
    }

    /** @return list<string> since it was asked last */
    public function take(): array
    {
        $lines = $this->lines;
        $this->lines = [];

        return $lines;
    }

    private function note(string $line, string $method): void
    {
        $this->lines[] = $line;
        $this->does === null || ($this->does)($method);
    }
}
