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
        self::assertMatchesRegularExpression('/\A[A-Za-z,. \n]+\z/', $text);
    }

    /** Within a fifth of what the same compressor makes of this project's own documentation. */
    public function testTheTextIsAsCompressibleAsText(): void
    {
        $real = [];
        foreach (['php', 'operator', 'how-it-works'] as $page) {
            $real[] = self::ratio(\substr((string) \file_get_contents(\dirname(__DIR__, 3) . "/docs/$page.md"), 0, 20_000));
        }
        $mean = \array_sum($real) / \count($real);

        self::assertEqualsWithDelta($mean, self::ratio(self::text()), $mean / 5);
    }

    /** Written down, so that figures of two versions of the lab are of the same bytes. */
    public function testTheBytesNeverChange(): void
    {
        self::assertSame(
            ['short' => '7fe5209c', '20kB' => '6380ff7d', '50x50' => '90894a23'],
            \array_map(static fn(mixed $value): string => \hash('crc32b', \serialize($value)), self::all()),
        );
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

    /** @return array<string, mixed> */
    private static function all(): array
    {
        $all = [];
        foreach (Payloads::names() as $name) {
            $all[$name] = Payloads::get($name);
        }

        return $all;
    }

    private static function text(): string
    {
        $text = Payloads::get('20kB');
        self::assertIsString($text);

        return $text;
    }

    private static function ratio(string $text): float
    {
        return \strlen((string) \gzdeflate($text, 6)) / \strlen($text);
    }
}
