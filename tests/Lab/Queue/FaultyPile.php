<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Queue;

use Larder\Lab\Queue\Pile;
use Larder\Lab\Queue\SqlitePile;

/** Loses one message in a hundred, or hands one out twice: the address is "loses directory" or "repeats directory". */
final class FaultyPile implements Pile
{
    private readonly SqlitePile $pile;
    private readonly bool $loses;
    private int $pushed = 0;
    private ?string $again = null;

    public function __construct(string $address)
    {
        [$fault, $directory] = \explode(' ', $address, 2) + [1 => ''];
        $this->loses = $fault === 'loses';
        $this->pile = new SqlitePile($directory);
    }

    public function push(string $body): void
    {
        (++$this->pushed % 100 === 7 && $this->loses) || $this->pile->push($body);
    }

    public function pushMany(array $bodies): void
    {
        $this->pile->pushMany($bodies);
    }

    public function take(float $wait): ?string
    {
        if ($this->again !== null && !$this->loses) {
            [$body, $this->again] = [$this->again, null];

            return $body;
        }
        $body = $this->pile->take($wait);
        $this->again = $body === '50' ? $body : null;

        return $body;
    }

    public function takeMany(int $most): array
    {
        return $this->pile->takeMany($most);
    }

    public function clear(): void
    {
        $this->pile->clear();
    }
}
