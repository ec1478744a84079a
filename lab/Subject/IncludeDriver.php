<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/**
 * OPcache as OpcacheDriver writes it, read as fast as PHP can: the paths are there before the clock starts, so that what
 * is timed is the include and nothing else.
 *
 * Where no file is there an include warns; a cache that expects that asks the file system first, which is another work.
 */
final class IncludeDriver extends Driver
{
    private readonly string $directory;
    private readonly OpcacheDriver $files;
    private ?string $included = null;

    /** @param array<string, string|int> $parameters directory */
    public function __construct(array $parameters)
    {
        $this->directory = (new Parameters($parameters))->directory() . '/';
        $this->files = new OpcacheDriver($parameters);
    }

    public function connect(): void
    {
        $this->files->connect();
    }

    public function disconnect(): void
    {
        if ($this->included !== null) {
            OpcacheDriver::mustHold($this->included);
        }
    }

    public function names(array $keys): array
    {
        return \array_map(fn(string $key): string => "$this->directory$key.php", $keys);
    }

    public function write(array $values): void
    {
        $this->included = null;
        $this->files->write($values);
    }

    public function read(array $keys): mixed
    {
        $value = null;
        foreach ($keys as $path) {
            $value = include $path;
        }
        $this->included = $path;

        return $value;
    }
}
