<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

/** How much slower, or larger, a cell may become before it counts: a part of what it was. */
final readonly class Limit
{
    private const MOST = 100.0;

    /** @param float $part 0.1 for 10 %; 0 to 100 */
    public function __construct(public float $part)
    {
        if (!($part >= 0.0 && $part <= self::MOST)) {
            throw NotComparable::limit((string) $part);
        }
    }

    /** @param string $text "5%", "5" and "0.05" are the same: a bare number below 1 is a part, from 1 on it is percent */
    public static function of(string $text): self
    {
        if (\preg_match('/^\s*(\d{1,6}(?:\.\d{1,6})?)\s*(%?)\s*$/D', $text, $match) !== 1) {
            throw NotComparable::limit($text);
        }
        $number = (float) $match[1];
        $part = $match[2] === '%' || $number >= 1.0 ? $number / 100 : $number;

        return $part <= self::MOST ? new self($part) : throw NotComparable::limit($text);
    }

    /** What a cell may be, as a multiple of what it was. */
    public function factor(): float
    {
        return 1 + $this->part;
    }

    /** As people read it: "10 %". */
    public function text(): string
    {
        return \rtrim(\rtrim(\number_format($this->part * 100, 4, '.', ''), '0'), '.') . ' %';
    }
}
