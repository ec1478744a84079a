<?php

declare(strict_types=1);

namespace Larder\Lab\Payload;

/**
 * The three values of the published comparisons: a short string, 20 kB of text, an array of 50 rows of 50 strings.
 *
 * This folder holds what is written and read. The same bytes on every machine and in every run: nothing is drawn from
 * PHP's random numbers, and no float is rounded.
 */
final class Payloads
{
    private const LENGTH = 20_000;
    private const ROWS = 50;
    private const COLUMNS = 50;

    /**
     * Drawn by Zipf's law: the n-th about 1/n as often as the first, as in a natural language (Zipf, Human Behavior
     * and the Principle of Least Effort, 1949). So compressors find in it about what they find in real text.
     */
    private const WORDS = 'the of and to a in is it that was for on as with be by at this had not are but from or have an they which you were'
        . ' her all she there would their we him been has when who will more no if out so said what up its about into than them can only'
        . ' other new some could time these two may then do first any my now such like our over man me even most made after also did many'
        . ' before must through back years where much your way well down should because each just those people how too little state good'
        . ' very make world still own see men work long get here between both life being under never day same another know while last might'
        . ' us great old year off come since against go came right used take three house himself few during without again place around'
        . ' however home small found thought went say part once general high upon school every does got united left number course war until'
        . ' always away something fact though water less public put thing almost hand enough far took head yet government system better set'
        . ' told nothing night end why called eyes find going look asked later knew point next program city business give group toward young'
        . ' days let room president side social given present several order national possible rather second face per among form important'
        . ' often things looked early white case john large big need four within felt along children saw best church ever least power'
        . ' development light thing seemed family interest want members mind country area others done turned although open god service';

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
            '20kB' => self::text(),
            '50x50' => self::table(),
            default => throw new \InvalidArgumentException(\sprintf('There is no payload "%s"; there are %s.', $name, \implode(', ', self::names()))),
        };
    }

    /** 20,000 bytes, ASCII. */
    private static function text(): string
    {
        $words = \explode(' ', self::WORDS);
        $bounds = [];
        $total = 0;
        foreach (\array_keys($words) as $rank) {
            $bounds[] = $total += \intdiv(1_000_000, $rank + 1);
        }
        $text = '';
        // The linear congruential generator of the C standard's example (ISO C, 7.22.2), whose low bits are poor.
        $state = 1;
        $sentence = 0;
        while (\strlen($text) < self::LENGTH) {
            $state = ($state * 1_103_515_245 + 12_345) & 0x7FFFFFFF;
            $drawn = \intdiv($state * $total, 0x80000000);
            $word = $words[self::rank($bounds, $drawn)];
            $text .= $sentence === 0 ? \ucfirst($word) : $word;
            ++$sentence;
            $state = ($state * 1_103_515_245 + 12_345) & 0x7FFFFFFF;
            $pause = $state >> 16 & 31;
            if ($sentence > 5 && $pause < 4) {
                $text .= $pause === 0 ? ".\n" : '. ';
                $sentence = 0;
            } else {
                $text .= $pause === 31 ? ', ' : ' ';
            }
        }

        return \substr($text, 0, self::LENGTH);
    }

    /** @param list<int> $bounds the first of them that is above the number */
    private static function rank(array $bounds, int $number): int
    {
        $low = 0;
        $high = \count($bounds) - 1;
        while ($low < $high) {
            $middle = \intdiv($low + $high, 2);
            if ($bounds[$middle] > $number) {
                $high = $middle;
            } else {
                $low = $middle + 1;
            }
        }

        return $low;
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
