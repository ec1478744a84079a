<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Payload;

use Larder\Lab\Payload\Payloads;
use PHPUnit\Framework\TestCase;

final class PayloadsTest extends TestCase
{
    public function testTheShortStringHasFourteenBytes(): void
    {
        $value = Payloads::get('short');

        self::assertIsString($value);
        self::assertSame(14, \strlen($value));
    }

    public function testTheTextHasTwentyThousandBytesOfAscii(): void
    {
        $text = self::text();

        self::assertSame(20_000, \strlen($text));
        self::assertMatchesRegularExpression('/\A[ -~\n]+\z/', $text);
        self::assertSame($text, Payloads::get('20kB'));
    }

    public function testTheTableHasFiftyRowsOfFiftyDifferentStrings(): void
    {
        $table = Payloads::get('50x50');

        self::assertIsArray($table);
        self::assertTrue(\array_is_list($table));
        self::assertCount(50, $table);
        $strings = [];
        foreach ($table as $row) {
            self::assertIsArray($row);
            self::assertTrue(\array_is_list($row));
            self::assertCount(50, $row);
            foreach ($row as $cell) {
                self::assertIsString($cell);
                $strings[$cell] = true;
            }
        }
        self::assertCount(2_500, $strings);
    }

    public function testAnUnknownNameIsAnsweredWithThoseThereAre(): void
    {
        $this->expectException(\InvalidArgumentException::class);
        $this->expectExceptionMessage('short, 20kB, 50x50');

        Payloads::get('40kB');
    }

    private static function text(): string
    {
        $text = Payloads::get('20kB');
        self::assertIsString($text);

        return $text;
    }
}
