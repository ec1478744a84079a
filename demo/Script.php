<?php

declare(strict_types=1);

namespace Larder\Demo;

use Larder\Cache;

/** What the scripts of scripts/ have in common, whether the web runs them or the command line. */
final class Script
{
    private int $start;

    private function __construct(
        /** @var array<array-key, mixed> */
        private readonly array $parameters,
    ) {
        $this->start = \hrtime(true);
    }

    /** @param list<string> $arguments */
    public static function begin(array $arguments): self
    {
        $parameters = $_GET;
        if (\PHP_SAPI === 'cli') {
            \parse_str($arguments[1] ?? '', $parameters);
        }

        return new self($parameters);
    }

    public function parameter(string $name): string
    {
        $value = $this->parameters[$name] ?? '';

        return \is_string($value) ? $value : '';
    }

    /** From here on time counts. */
    public function now(): void
    {
        $this->start = \hrtime(true);
    }

    /** The slow computation: it takes as many seconds as it is told, and writes down that it was begun. */
    public function compute(): string
    {
        $editions = $this->parameter('editions');
        \file_put_contents($editions, \getmypid() . ' ' . \hrtime(true) . "\n", \FILE_APPEND | \LOCK_EX);
        $edition = \count((array) \file($editions));
        \usleep((int) ((float) $this->parameter($edition === 1 && $this->parameter('first') !== '' ? 'first' : 'seconds') * 1e6));

        return 'edition ' . $edition;
    }

    public function answer(mixed $value, bool $computed, ?Cache $cache = null): void
    {
        $end = \hrtime(true);
        echo \json_encode([
            'value' => $value,
            'computed' => $computed,
            'engine' => $computed || $cache === null ? '' : self::engine($cache),
            'milliseconds' => ($end - $this->start) / 1e6,
            'pid' => \getmypid(),
            'ended' => $end,
        ], \JSON_THROW_ON_ERROR | \JSON_PRESERVE_ZERO_FRACTION), "\n";
    }

    /** Where the one value that this request asked for was found. */
    private static function engine(Cache $cache): string
    {
        foreach ($cache->stats() as $tier => $stats) {
            if (\in_array($tier, ['near', 'disk', 'far'], true) && $stats['hits'] > 0) {
                return (string) $stats['engine'];
            }
        }

        return '';
    }
}
