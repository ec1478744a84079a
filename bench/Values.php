<?php

declare(strict_types=1);

namespace Larder\Bench;

/** What is stored and read. */
final class Values
{
    /** 14 bytes. */
    public static function short(int $number = 0): string
    {
        return \sprintf('value %08d', $number);
    }

    /** 20,000 bytes as compressible as text. */
    public static function long(int $number = 0): string
    {
        $text = '';
        for ($i = $number; \strlen($text) < 20_000; ++$i) {
            $text .= \hash('crc32b', (string) $i) . ' and some words that come again, ';
        }

        return \substr($text, 0, 20_000);
    }

    /**
     * 50 rows of 50 strings.
     *
     * @return list<list<string>>
     */
    public static function table(int $number = 0): array
    {
        $rows = [];
        for ($row = 0; $row < 50; ++$row) {
            $cells = [];
            for ($column = 0; $column < 50; ++$column) {
                $cells[] = \sprintf('cell %d %d/%d', $number, $row, $column);
            }
            $rows[] = $cells;
        }

        return $rows;
    }
}
