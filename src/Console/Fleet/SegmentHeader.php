<?php

declare(strict_types=1);

namespace Larder\Console\Fleet;

use Larder\System\MachineBoot;
use Larder\System\Quiet;

/**
 * What the first page of a segment's file says: see ext/segment/layout.h. It is read, never mapped, which no process notices.
 *
 * @phpstan-import-type Stat from Files
 */
final readonly class SegmentHeader
{
    public const LENGTH = 4096;

    public const MAGIC = 'LRLDSEG1';

    /** Its owner may read it, through which processes share it; what writes to it has it open from before. */
    private const MODE = 0o400;

    /** The layout of which the counts are known; what comes before the check is alike in all. */
    private const LAYOUT = 7;

    private const BUILD = 16;
    private const BYTES = 208;
    private const BOOT = 240;
    private const CHECK = 376;

    /** Each in a line of the processor's cache, counted from the header's end: what is before depends on the processor. */
    private const HITS = 192;
    private const MISSES = 128;

    private function __construct(
        /** Of the file, when it is full. */
        public int $bytes,
        public string $boot,
        /** Of the PHP and the extension whose values these are: another one makes a segment of its own. */
        public string $build,
        public ?int $hits,
        public ?int $misses,
        public string $activity,
    ) {}

    /** @param Stat $stat */
    public static function hasMode(array $stat): bool
    {
        return Files::isPlain($stat) && ($stat['mode'] & 0o7777) === self::MODE;
    }

    /** Null: it is no segment, or a damaged one. */
    public static function parse(string $page): ?self
    {
        if (\strlen($page) !== self::LENGTH || !\str_starts_with($page, self::MAGIC)) {
            return null;
        }
        [$layout, $length] = self::numbers('V2', $page, 8);
        [$bytes] = self::numbers('P', $page, self::BYTES);
        if ($layout === self::LAYOUT && \strrev(\substr($page, self::CHECK, 8)) !== \hash('fnv1a64', \substr($page, 0, self::CHECK), true)) {
            return null;
        }
        $isKnown = $layout === self::LAYOUT && $length > self::CHECK + self::HITS && $length <= self::LENGTH;
        [$hits, $misses, $ended] = $isKnown ? [...self::numbers('P', $page, $length - self::HITS), ...self::numbers('P2', $page, $length - self::MISSES)] : [null, null, null];

        return new self(Files::bounded($bytes), \strrev(\substr($page, self::BOOT, 8)), \rtrim(\substr($page, self::BUILD, self::BYTES - self::BUILD), "\0"), $hits === null ? null : Files::bounded($hits), $misses === null ? null : Files::bounded($misses), $isKnown ? "$hits $misses $ended" : \md5($page));
    }

    /** This start of the machine, as a header names it; '': unknown. */
    public static function boot(): string
    {
        $id = (string) Quiet::call(static fn(): string|false => \file_get_contents(MachineBoot::FILE, length: 63));

        return $id === '' ? '' : \hash('fnv1a64', $id, true);
    }

    /** @return list<int> */
    private static function numbers(string $format, string $page, int $at): array
    {
        /** @var array<int> $numbers */
        $numbers = \unpack($format, $page, $at) ?: [];

        return \array_values($numbers);
    }
}
