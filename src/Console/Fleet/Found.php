<?php

declare(strict_types=1);

namespace Larder\Console\Fleet;

use Larder\Console\Support\Text;

/** One cache, queue or other thing of Larder's that was found on this server. */
final class Found
{
    public int $memory = 0;
    public int $disk = 0;

    /** Gets that are counted; null: they are not counted where another process can read it. */
    public ?int $hits = null;
    public ?int $misses = null;

    /** Seconds since 1970 of the last trace of a use; 0: unknown. */
    public int $usedAt = 0;

    /** Changes whenever the segment is used. */
    public string $activity = '';

    /** Whose values the segment holds: see SegmentHeader. */
    public string $build = '';

    /** @var array<string, string> code to text */
    public array $problems = [];

    /**
     * @param string $kind see docs/operator.md
     * @param string $name of a queue, or ''
     */
    public function __construct(
        public readonly int $uid,
        public readonly ?string $user,
        public readonly string $directory,
        public readonly string $path,
        public readonly string $kind,
        public readonly string $name = '',
    ) {}

    public function bytes(): int
    {
        return $this->memory + $this->disk;
    }

    public function ratio(): ?float
    {
        $gets = $this->hits + $this->misses;

        return $this->hits === null || $gets === 0 ? null : $this->hits / $gets;
    }

    /** @return array<string, mixed> */
    public function document(): array
    {
        $ratio = $this->ratio();

        return [
            'uid' => $this->uid,
            'user' => $this->user,
            'path' => Text::key($this->path),
            'kind' => $this->kind,
            'name' => $this->name === '' ? null : $this->name,
            'memory_bytes' => $this->memory,
            'disk_bytes' => $this->disk,
            'gets' => $this->hits === null ? null : $this->hits + (int) $this->misses,
            'hit_ratio' => $ratio === null ? null : \round($ratio, 4),
            'used_at' => $this->usedAt === 0 ? null : $this->usedAt,
            'problems' => \array_map(static fn(string $code, string $text): array => ['code' => $code, 'text' => $text], \array_keys($this->problems), \array_values($this->problems)),
        ];
    }
}
