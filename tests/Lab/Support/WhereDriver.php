<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Support;

use Larder\Lab\Subject\Driver;
use Larder\Lab\Subject\Parameters;

/** Writes into the file "where" of its directory which cores its process may use. */
final class WhereDriver extends Driver
{
    /** @var array<string, mixed> */
    private array $values = [];

    private readonly string $file;

    public function __construct(array $parameters)
    {
        $this->file = (new Parameters($parameters))->directory() . '/where';
    }

    public static function cores(int|string $pid): string
    {
        return \preg_match('/^Cpus_allowed_list:\s*(\S+)$/m', (string) \file_get_contents("/proc/$pid/status"), $match) === 1 ? $match[1] : '?';
    }

    public function connect(): void
    {
        \file_put_contents($this->file, self::cores('self'));
    }

    public function write(array $values): void
    {
        $this->values = $values + $this->values;
    }

    public function read(array $keys): mixed
    {
        return $this->values[$keys[\count($keys) - 1]] ?? null;
    }
}
