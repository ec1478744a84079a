<?php

declare(strict_types=1);

namespace Larder\Tests\Load;

use Larder\Cache;

/** Each request has a Cache of its own, and with it its own view and its own position in the journal. */
final class LarderSide implements Side
{
    /** @var list<Cache> whose requests are over */
    private array $idle = [];

    /** @var list<Cache> */
    private array $all = [];

    private int $failed = 0;

    /** @param array<string, mixed> $options for Cache::open() */
    public function __construct(private readonly array $options) {}

    public function request(string $key): ?object
    {
        $cache = \array_pop($this->idle);
        if ($cache === null) {
            $this->all[] = $cache = Cache::open($this->options);
        } else {
            $cache->refresh();
        }
        if ($cache->get($key) === null) {
            return $cache;
        }
        $this->idle[] = $cache;

        return null;
    }

    public function computed(object $request, string $key, string $value): void
    {
        \assert($request instanceof Cache);
        $request->set($key, $value, BoundedLife::LIFE) || $this->failed++;
        $this->idle[] = $request;
    }

    public function flush(): void
    {
        Cache::open($this->options)->flush();
    }

    public function counts(): array
    {
        $counts = ['dropped' => 0, 'bounded' => 0, 'failed' => $this->failed, 'errors' => 0, 'Caches' => \count($this->all)];
        foreach ($this->all as $cache) {
            $stats = $cache->stats();
            $counts['dropped'] += (int) $stats['conflicts']['dropped'];
            $counts['bounded'] += (int) $stats['conflicts']['bounded'];
            $counts['errors'] += (int) $stats['far']['errors'];
        }

        return $counts;
    }
}
