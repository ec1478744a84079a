<?php

declare(strict_types=1);

namespace Larder\WordPress\Admin;

use Larder\System\Printable;

/** Numbers and names as the reader's language writes them; not escaped. */
final class Text
{
    public static function number(int|float $number, int $decimals = 0): string
    {
        return \number_format_i18n($number, $decimals);
    }

    public static function percentage(int|float $part, int|float $rest): string
    {
        return $part + $rest > 0 ? \sprintf(
            /* translators: %s: number */
            \__('%s %%', 'larder'),
            // Only all of them are 100 %.
            self::number(\floor($part / ($part + $rest) * 1000) / 10, 1),
        ) : '–';
    }

    public static function bytes(int $bytes): string
    {
        return (string) \size_format($bytes, $bytes < 1024 ? 0 : 1);
    }

    /** @param float $seconds of a piece of work */
    public static function duration(float $seconds): string
    {
        return match (true) {
            $seconds < 1.0 => \sprintf(
                /* translators: %s: number */
                \__('%s ms', 'larder'),
                self::number($seconds * 1e3, $seconds < 0.0001 ? 3 : ($seconds < 0.01 ? 2 : 0)),
            ),
            $seconds < 120.0 => \sprintf(
                /* translators: %s: number */
                \__('%s s', 'larder'),
                self::number($seconds, 1),
            ),
            $seconds < 7200.0 => \sprintf(
                /* translators: %s: number */
                \__('%s min', 'larder'),
                self::number($seconds / 60),
            ),
            default => \sprintf(
                /* translators: %s: number */
                \__('%s h', 'larder'),
                self::number($seconds / 3600, 1),
            ),
        };
    }

    /** @param ?float $seconds from now, or since; null: for ever */
    public static function span(?float $seconds): string
    {
        return $seconds === null ? \__('no expiry', 'larder') : \human_time_diff(0, (int) \max(1, $seconds));
    }

    /** @param string $format the option that has it */
    public static function time(string $format, int $time): string
    {
        $format = \get_option($format);

        return (string) \wp_date(\is_string($format) && $format !== '' ? $format : 'Y-m-d H:i', $time);
    }

    /** A tier, by what the library calls it. */
    public static function tier(string $name): string
    {
        return match ($name) {
            'near' => \__('Shared memory', 'larder'),
            'disk' => \__('Disk', 'larder'),
            'far' => \__('Far store', 'larder'),
            default => $name,
        };
    }

    /** A key or a group of unknown origin on one line: no hidden characters, and no bytes that are not UTF-8. */
    public static function line(string $text, int $longest = 120): string
    {
        $text = Printable::text($text);

        return \mb_strlen($text) > $longest ? \mb_substr($text, 0, $longest - 1) . '…' : $text;
    }
}
