<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

use Larder\Lab\Report\Plain;

/** Names out of a file that somebody else may have written, made fit to be shown. */
final class Name
{
    /** One line without control or direction characters, which could rewrite what stands around it on a terminal. */
    public static function shown(string $name, int $width = 100): string
    {
        return \mb_strimwidth(Plain::line($name), 0, $width, '…', 'UTF-8');
    }

    /** A cell's id on lines no wider than this, broken where its parts meet where that is possible. */
    public static function folded(string $name, int $width): string
    {
        $name = self::shown($name, 4 * $width);
        $lines = [];
        while (\mb_strwidth($name, 'UTF-8') > $width) {
            $line = \mb_strimwidth($name, 0, $width, '', 'UTF-8');
            $end = \strrpos($line, '/');
            // A line of a few characters would only be ugly.
            $line = $end === false || $end < \intdiv($width, 3) ? $line : \substr($line, 0, $end + 1);
            $lines[] = $line;
            $name = \substr($name, \strlen($line));
        }
        $lines[] = $name;

        return \implode("\n", $lines);
    }
}
