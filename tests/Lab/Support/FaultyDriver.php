<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Support;

use Larder\Lab\Subject\Driver;

/** An engine as bad as its parameter "fault" says: "forgets", "alters", "keeps the first", "throws", "exits". */
final class FaultyDriver implements Driver
{
    /** @var array<string, mixed> */
    private array $values = [];

    private readonly string $fault;

    public function __construct(array $parameters)
    {
        $this->fault = (string) $parameters['fault'];
    }

    public function connect(): void {}

    public function disconnect(): void {}

    public function begin(): void {}

    public function write(array $values): void
    {
        if ($this->fault === 'exits') {
            exit(3);
        }
        foreach ($values as $key => $value) {
            if ($this->fault === 'keeps the first') {
                $this->values[$key] ??= $value;
            } elseif ($this->fault !== 'forgets') {
                $this->values[$key] = $value;
            }
        }
    }

    public function read(array $keys): mixed
    {
        $value = null;
        foreach ($keys as $key) {
            $value = $this->values[$key] ?? null;
        }
        if ($this->fault === 'throws') {
            throw new \RuntimeException('The engine is gone');
        }

        return $this->fault === 'alters' && \is_string($value) ? $value . ' ' : $value;
    }
}
