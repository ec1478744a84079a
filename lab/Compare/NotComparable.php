<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

/** Two reports cannot be compared as it was asked: a bad option, a bad file, nothing in common. The message says what to do. */
final class NotComparable extends \RuntimeException
{
    public static function limit(string $text): self
    {
        return new self(\sprintf('Cannot read the limit "%s". Give a percentage from 0 to 10000, as in --limit=5%%, or a part of 1, as in --limit=0.05.', Name::shown($text)));
    }

    public static function file(string $file, string $why): self
    {
        return new self(\sprintf('%s is not a report that can be compared: %s. Make one with: bin/larder bench --json=FILE', Name::shown($file, 200), Name::shown(\rtrim($why, '. '), 300)));
    }

    /** @param string $id of a cell with a round that took no time at all */
    public static function noTime(string $file, string $id): self
    {
        return self::file($file, Name::shown($id) . ' took 0 us, which cannot be a measurement');
    }

    public static function output(string $option, string $file, string $why): self
    {
        return new self(\sprintf('--%s=%s cannot be written: %s. Nothing was compared; give another file.', $option, Name::shown($file, 200), $why));
    }

    public static function unwritten(string $option, string $file, string $why): self
    {
        return new self(\sprintf('--%s=%s was not written: %s. Give a file on a disk with space.', $option, Name::shown($file, 200), Name::shown($why, 300)));
    }

    public static function nothingInCommon(): self
    {
        return new self('No cell is in both reports, so there is nothing to compare. Measure the same scenarios and subjects twice, as in: bin/larder bench engines --json=FILE');
    }

    public static function tooFewRounds(int $needed): self
    {
        return new self(\sprintf('No cell has %d rounds or more in both reports, and fewer cannot tell a change from noise. Measure both again: bin/larder bench --rounds=10 --json=FILE', $needed));
    }

    /** @param int $needed that many timed cells in both */
    public static function tooFewToBeRelative(int $cells, int $needed): self
    {
        return new self(\sprintf('--relative judges each cell against the change of all cells, which needs %d timed cells in both reports; there are %d. Leave out --relative.', $needed, $cells));
    }
}
