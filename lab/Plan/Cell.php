<?php

declare(strict_types=1);

namespace Larder\Lab\Plan;

/** One place of the published tables: what was done, to what, with what, by how many at once. */
final readonly class Cell
{
    public const PROCESS = 'process';
    public const SOCKET = 'socket';
    public const TCP = 'tcp';
    public const NETWORK = 'network';

    public const MICROSECONDS = 'us';
    public const BYTES = 'bytes';
    /** Of whatever the operation names. */
    public const COUNT = 'count';
    /** Operations a second, of all processes together. */
    public const PER_SECOND = 'ops/s';

    /** The measuring process and the server of its subject share one core. */
    public const SAME = 'same';
    /** Each has a core of its own. */
    public const OTHER = 'other';
    /** There is no server, or several processes measure, and nothing holds them to a core. */
    public const ANYWHERE = '';

    /** As most of the peers' users have it: after so many keys a request ends and another begins. */
    public const REQUEST = 10;

    /**
     * @param string       $subject     what --subjects takes: parts joined by colons, the engine first ("redis:socket:igbinary")
     * @param string       $connection  one of the constants
     * @param string       $serializer  php, igbinary, msgpack, or none
     * @param string       $compressor  none, fastlz, gzdeflate, zstd, lz4
     * @param int<1, max>  $concurrency processes that do it at the same time
     * @param string       $unit        of its samples: microseconds an operation, bytes, a number, or operations a second
     * @param string       $placement   SAME, OTHER or ANYWHERE: where the server runs, seen from the measuring process
     * @param int<1, max>  $request     keys of a request
     */
    public function __construct(
        public string $scenario,
        public string $subject,
        public string $engine,
        public string $connection,
        public string $serializer,
        public string $compressor,
        public string $payload,
        public string $operation,
        public int $concurrency = 1,
        public string $unit = self::MICROSECONDS,
        public string $placement = self::ANYWHERE,
        public int $request = self::REQUEST,
    ) {}

    /** Whether the greater figure is the better one. */
    public function moreIsBetter(): bool
    {
        return $this->unit === self::PER_SECOND;
    }

    /** Whether it is no time, and another run finds the same. */
    public function isExact(): bool
    {
        return $this->unit === self::BYTES || $this->unit === self::COUNT;
    }

    /** Unique within a report, and the same in another report of the same cell. */
    public function id(): string
    {
        return \implode('/', [
            $this->idOf($this->subject),
            ...$this->placement === self::ANYWHERE ? [] : [$this->placement],
            ...$this->request === self::REQUEST ? [] : [$this->request],
        ]);
    }

    /** Of another subject's cell with the same work, in the usual requests and held to no core. */
    public function idOf(string $subject): string
    {
        return \implode('/', [$this->scenario, $subject, $this->payload, $this->operation, $this->concurrency]);
    }
}
