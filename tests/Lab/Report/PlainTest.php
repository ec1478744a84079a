<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Report\Plain;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

final class PlainTest extends TestCase
{
    /** @return iterable<string, array{string, string}> */
    public static function texts(): iterable
    {
        yield 'nothing' => ['', ''];
        yield 'words' => ['redis:socket — "50x50" <b> | é 日本 👍', 'redis:socket — "50x50" <b> | é 日本 👍'];
        yield 'lines' => ["a\r\nb\tc \n d\n", 'a b c d'];
        yield 'an escape sequence' => ["a\x1b[31mb\x07\x00\x7f", 'a�[31mb���'];
        yield 'C1 controls' => ["a\u{9b}31mb", 'a�31mb'];
        yield 'next line, line and paragraph separator' => ["a\u{85}b\u{2028}c\u{2029}d", 'a b c d'];
        yield 'text turned round' => ["a\u{202e}b\u{2066}c\u{200b}d\u{feff}", 'a�b�c�d�'];
        yield 'no UTF-8' => ["a\xffb\xc3", 'a?b?'];
    }

    #[DataProvider('texts')]
    public function testNothingIsLeftThatATerminalObeys(string $text, string $plain): void
    {
        self::assertSame($plain, Plain::line($text));
    }
}
