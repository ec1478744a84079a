<?php

declare(strict_types=1);

namespace Larder\Page\Http;

/** Reads and writes dates of HTTP (RFC 9110, section 5.6.7), in all three forms, and nothing that is only like them. */
final class HttpDate
{
    private const MONTHS = ['jan' => 1, 'feb' => 2, 'mar' => 3, 'apr' => 4, 'may' => 5, 'jun' => 6, 'jul' => 7, 'aug' => 8, 'sep' => 9, 'oct' => 10, 'nov' => 11, 'dec' => 12];

    private const MONTH = '(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)';

    private const TIME = '(\d\d):(\d\d):(\d\d)';

    /** Seconds since 1970; null: it is no such date. */
    public static function parse(string $date, ?int $now = null): ?int
    {
        $date = \trim($date);
        if (\preg_match('/^(?:mon|tue|wed|thu|fri|sat|sun), (\d\d) ' . self::MONTH . ' (\d{4}) ' . self::TIME . ' GMT$/iD', $date, $part) === 1) {
            return self::time((int) $part[3], $part[2], (int) $part[1], $part[4], $part[5], $part[6]);
        }
        if (\preg_match('/^(?:mon|tues|wednes|thurs|fri|satur|sun)day, (\d\d)-' . self::MONTH . '-(\d\d) ' . self::TIME . ' GMT$/iD', $date, $part) === 1) {
            // Two digits that seem to lie more than 50 years ahead mean the past.
            $thisYear = (int) \gmdate('Y', $now ?? \time());
            $year = \intdiv($thisYear, 100) * 100 + (int) $part[3];

            return self::time($year > $thisYear + 50 ? $year - 100 : $year, $part[2], (int) $part[1], $part[4], $part[5], $part[6]);
        }
        if (\preg_match('/^(?:mon|tue|wed|thu|fri|sat|sun) ' . self::MONTH . ' ([ \d]\d) ' . self::TIME . ' (\d{4})$/iD', $date, $part) === 1) {
            return self::time((int) $part[6], $part[1], (int) $part[2], $part[3], $part[4], $part[5]);
        }

        return null;
    }

    public static function format(int $time): string
    {
        return \gmdate('D, d M Y H:i:s', $time) . ' GMT';
    }

    private static function time(int $year, string $month, int $day, string $hour, string $minute, string $second): ?int
    {
        $number = self::MONTHS[\strtolower($month)];
        if (!\checkdate($number, $day, $year) || $hour > '23' || $minute > '59' || $second > '60') {
            return null;
        }

        return \gmmktime((int) $hour, (int) $minute, (int) $second, $number, $day, $year) ?: 0;
    }
}
