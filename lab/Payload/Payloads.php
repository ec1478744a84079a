<?php

declare(strict_types=1);

namespace Larder\Lab\Payload;

/**
 * The three values of the published comparisons: a short string, 20 kB of real text, an array of 50 rows of 50 strings.
 *
 * This folder holds what is written and read. The same bytes on every machine and in every run: nothing is drawn from
 * PHP's random numbers, and no float is rounded.
 */
final class Payloads
{
    private const ROWS = 50;
    private const COLUMNS = 50;

    /** @return list<string> */
    public static function names(): array
    {
        return ['short', '20kB', '50x50'];
    }

    /** @throws \InvalidArgumentException for a name that is not one of names() */
    public static function get(string $name): mixed
    {
        return match ($name) {
            'short' => 'value 00000042',
            '20kB' => Recording::text(),
            '50x50' => self::table(),
            default => throw new \InvalidArgumentException(\sprintf('There is no payload "%s"; there are %s.', $name, \implode(', ', self::names()))),
        };
    }

    /**
     * No two strings are the same, so that no serializer gains by writing one twice.
     *
     * @return list<list<string>>
     */
    private static function table(): array
    {
        $rows = [];
        for ($row = 0; $row < self::ROWS; ++$row) {
            $cells = [];
            for ($column = 0; $column < self::COLUMNS; ++$column) {
                $cells[] = \sprintf('cell %d/%d', $row, $column);
            }
            $rows[] = $cells;
        }

        return $rows;
    }
}
