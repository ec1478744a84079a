<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Memcached;

use Larder\Tests\Model\Engine;
use Larder\Tests\Model\Enough;

/** A memcached server: items, each with a token that changes whenever it is stored. */
final class Server extends Engine
{
    /** @var array<string, array{string, string}> value and token by key */
    private array $items = [];

    /** @var array<string, int> the last token of each key: one never comes again, also not after the item has gone */
    private array $tokens = [];

    private int $increased = 0;
    private bool $explored = false;

    /** @param int $rounds a writer that is disturbed begins again: so many rounds, of all processes, are looked at */
    public function __construct(private readonly int $rounds) {}

    public function begin(): void
    {
        $this->explored = true;
    }

    protected function engine(int $process, string $step, mixed ...$arguments): mixed
    {
        return match ($step) {
            'gets' => \array_intersect_key($this->items, \array_flip($arguments[0])),
            'store' => $this->store(...$arguments),
            'incr' => $this->increase(...$arguments),
            'delete' => $this->delete(...$arguments),
            'lose' => $this->lose(...$arguments),
            default => throw new \LogicException($step),
        };
    }

    protected function engineKey(): string
    {
        return \serialize([$this->items, $this->tokens, $this->increased]);
    }

    private function store(string $verb, string $key, string $value, string $token): string
    {
        $found = $this->items[$key] ?? null;
        if ($verb === 'add' && $found !== null) {
            return 'NOT_STORED';
        }
        if ($verb === 'cas' && ($found === null || $found[1] !== $token)) {
            return $found === null ? 'NOT_FOUND' : 'EXISTS';
        }
        $this->items[$key] = [$value, $this->token($key)];
        \ksort($this->items);
        $this->news++;

        return 'STORED';
    }

    private function token(string $key): string
    {
        $this->tokens[$key] = ($this->tokens[$key] ?? 0) + 1;
        \ksort($this->tokens);

        return (string) $this->tokens[$key];
    }

    private function increase(string $key, int $by): string
    {
        if ($this->explored && ++$this->increased > $this->rounds) {
            throw new Enough();
        }
        if (!isset($this->items[$key])) {
            return 'NOT_FOUND';
        }
        $value = (string) ((int) $this->items[$key][0] + $by);
        $this->items[$key] = [$value, $this->token($key)];
        $this->news++;

        return $value;
    }

    private function delete(string $key): string
    {
        $found = isset($this->items[$key]);
        unset($this->items[$key]);
        $this->news++;

        return $found ? 'DELETED' : 'NOT_FOUND';
    }

    /** Evicts what has this in its name. */
    private function lose(string $part): void
    {
        foreach (\array_keys($this->items) as $key) {
            if (\str_contains($key, $part)) {
                unset($this->items[$key]);
            }
        }
        $this->news++;
    }
}
