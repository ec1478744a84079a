<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Http;

use Larder\Page\Http\StructuredField;
use Larder\Page\Http\Token;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** RFC 9651, by the sections that the names give. */
final class StructuredFieldTest extends TestCase
{
    #[DataProvider('items')]
    public function testAnItem(string $text, mixed $expected): void
    {
        self::assertEquals($expected, StructuredField::item($text)[0] ?? null, $text);
        if (!$expected instanceof Token) {
            self::assertSame($expected, StructuredField::item($text)[0] ?? null, $text);
        }
    }

    /** @return iterable<string, array{string, mixed}> null: the field is malformed */
    public static function items(): iterable
    {
        $cases = [
            '3.3.1 integers' => ['1' => 1, '-0' => 0, '-42' => -42, '007' => 7, '999999999999999' => 999999999999999, '-999999999999999' => -999999999999999,
                '1000000000000000' => null, '+1' => null, '- 1' => null, '--1' => null, '1a' => null, '-' => null],
            '3.3.2 decimals' => ['1.5' => 1.5, '-1.500' => -1.5, '123456789012.123' => 123456789012.123, '1.' => null, '.5' => null, '1.2345' => null,
                '1234567890123.1' => null, '1.5.2' => null],
            '3.3.3 strings' => ['""' => '', '"a b"' => 'a b', '"a\\"b\\\\c"' => 'a"b\\c', '"a' => null, '"a\\n"' => null, "\"\t\"" => null, "\"\u{e9}\"" => null, '"a"b' => null, "'a'" => null],
            '3.3.4 tokens' => ['a' => new Token('a'), '*' => new Token('*'), 'text/html:x' => new Token('text/html:x'), 'A!#$%&\'*+-.^_`|~9' => new Token('A!#$%&\'*+-.^_`|~9'), '(a' => null, '1a' => null, 'a"' => null],
            '3.3.5 byte sequences' => ['::' => '', ':aGk=:' => 'hi', ':aGk:' => 'hi', ':a!:' => null, ':aGk=' => null, ':a:' => null],
            '3.3.6 booleans' => ['?1' => true, '?0' => false, '?2' => null, '?' => null, '?10' => null, '? 1' => null],
            '3.3.7 dates' => ['@1659578233' => 1659578233, '@-1' => -1, '@1.5' => null, '@' => null],
            '3.3.8 display strings' => ['%"f%c3%bc"' => 'fü', '%""' => '', '%"f%C3%BC"' => null, '%"%ff"' => null, '%"%c3"' => null, '%"f' => null, '%"%0"' => null],
            '4.2 the field' => ['' => null, '  a  ' => new Token('a'), "\ta" => null, "a\t" => null, 'a b' => null, 'a,b' => null],
        ];
        foreach ($cases as $name => $texts) {
            foreach ($texts as $text => $expected) {
                yield "$name: $text" => [(string) $text, $expected];
            }
        }
    }

    public function testParameters(): void
    {
        self::assertEquals([new Token('a'), ['b' => 2, 'c' => true, 'd' => 'x']], StructuredField::item('a;b=1;c; d="x";b=2'));
        self::assertSame([1, ['*k-1._' => false]], StructuredField::item('1;*k-1._=?0'));
        foreach (['a;', 'a;=1', 'a;B=1', 'a;b=', 'a ;b', 'a;b =1', 'a;b=(1)'] as $malformed) {
            self::assertNull(StructuredField::item($malformed), $malformed);
        }
    }

    public function testALine(): void
    {
        self::assertSame([], StructuredField::list(''));
        self::assertSame([[1, []], [2, ['a' => true]]], StructuredField::list(" 1 ,\t2;a "));
        self::assertSame([[[[1, []], [2, ['x' => 3]]], ['y' => true]], [[], []]], StructuredField::list('( 1  2;x=3 );y, ()'));
        foreach (['1,', '1,,2', ',1', '1 2', '(1', '(1,2)', '(1 2', '1;,2', "(1\t2)", '((1))'] as $malformed) {
            self::assertNull(StructuredField::list($malformed), $malformed);
        }
    }

    public function testADictionary(): void
    {
        self::assertSame([], StructuredField::dictionary(''));
        self::assertSame(['a' => [1, []], 'b' => [true, ['q' => 1.5]], 'c' => [false, []]], StructuredField::dictionary('a=1, b;q=1.5, c=?0'));
        self::assertSame(['a' => [3, []], 'b' => [2, []]], StructuredField::dictionary('a=1, b=2, a=3'), '4.2.2: the last one counts');
        self::assertSame(['a' => [[[1, []]], ['x' => true]]], StructuredField::dictionary('a=(1);x'));
        foreach (['A=1', 'a=', 'a =1', 'a= 1', 'a=1,', '=1', '1', 'a=1;b=2;', 'a==1'] as $malformed) {
            self::assertNull(StructuredField::dictionary($malformed), $malformed);
        }
    }
}
