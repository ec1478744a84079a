<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

use Larder\Segment;

/** A segment of this subject's own. */
abstract class InSegment extends Driver
{
    protected ?Segment $segment = null;
    private readonly string $path;

    /** @param array<string, string|int> $parameters shared: a directory in shared memory, which need not be there */
    final public function __construct(array $parameters)
    {
        $this->path = SharedFile::path($parameters);
    }

    final public static function clear(array $parameters): void
    {
        SharedFile::clear(SharedFile::path($parameters));
    }

    public function connect(): void
    {
        $this->segment = SharedFile::open($this->path);
    }

    final public function disconnect(): void
    {
        $this->segment = null;
    }

    /** @return array<mixed> what the segment says of itself */
    final public function stats(): array
    {
        return ($this->segment ?? throw EngineFailure::notConnected())->stats();
    }
}
