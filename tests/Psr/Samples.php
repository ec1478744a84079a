<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

/** Keys and values that both texts speak of. */
final class Samples
{
    /** @return iterable<string, array{string}> */
    public static function legalKeys(): iterable
    {
        yield 'all characters that must be supported, 64 of them' => ['abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.'];
        yield '64 digits' => ['1234567890123456789012345678901234567890123456789012345678901234'];
        yield 'one character' => ['a'];
        yield 'a dot' => ['.'];
        yield 'two dots' => ['..'];
        yield 'zero' => ['0'];
        yield 'an integer' => ['12'];
        yield 'a negative integer' => ['-12'];
        yield 'the largest integer' => [(string) \PHP_INT_MAX];
        yield 'beyond the integers' => ['9223372036854775808'];
        yield 'leading zero' => ['012'];
        yield 'mixed' => ['AbC19_.'];
        yield '300 characters' => [\str_repeat('a', 300)];
        yield '10,000 characters' => [\str_repeat('a', 10_000)];
        yield 'UTF-8' => ["schl\u{fc}ssel.\u{20ac}.\u{1f511}"];
        yield 'a NUL byte' => ["a\0b"];
        yield 'spaces and a line break' => [" a b\r\nc\t"];
        yield 'no UTF-8' => ["\xff\xfe\x80"];
        yield 'marks' => ['!"#$%&\'*+,-;<=>?[]^`|~'];
    }

    /** @return iterable<string, mixed> */
    public static function illegalKeys(): iterable
    {
        yield 'empty' => '';
        foreach (\str_split('{}()/\\@:') as $character) {
            yield "$character alone" => $character;
            yield "$character inside" => "rand{$character}str";
        }
        yield '{ at the start' => '{str';
        yield '{ at the end' => 'rand{';
        yield 'true' => true;
        yield 'false' => false;
        yield 'null' => null;
        yield 'an integer' => 2;
        yield 'a float' => 2.5;
        yield 'an object' => new \stdClass();
        yield 'a stringable object' => new \Exception('key');
        yield 'an array' => ['array'];
        yield 'longer than 64 kB' => \str_repeat('k', 65537);
    }

    /** @return iterable<string, array{mixed}> */
    public static function values(): iterable
    {
        $bytes = '';
        for ($byte = 0; $byte < 256; $byte++) {
            $bytes .= \chr($byte);
        }
        yield 'empty string' => [''];
        yield 'string' => ['AbC19_.'];
        yield 'digits' => ['5'];
        yield 'all bytes' => [$bytes];
        yield 'like something serialized' => ['O:8:"stdClass":0:{}'];
        yield 'like false serialized' => ['b:0;'];
        yield 'zero' => [0];
        yield 'integer' => [4711];
        yield 'largest integer' => [\PHP_INT_MAX];
        yield 'smallest integer' => [\PHP_INT_MIN];
        yield 'float' => [47.11];
        yield 'whole float' => [1.0];
        yield 'minus zero' => [-0.0];
        yield 'precise float' => [0.1 + 0.2];
        yield 'largest float' => [\PHP_FLOAT_MAX];
        yield 'smallest float' => [\PHP_FLOAT_MIN];
        yield 'infinity' => [\INF];
        yield 'not a number' => [\NAN];
        yield 'true' => [true];
        yield 'false' => [false];
        yield 'null' => [null];
        yield 'empty array' => [[]];
        yield 'list' => [[1, '1', 1.0, true, null]];
        yield 'sparse' => [[2 => 'a', 1 => 'b', 'x' => 'c', '0x1' => 'd']];
        yield 'numeric string keys' => [['12' => 'a', '012' => 'b', '-5' => 'c', '1.5' => 'd', '' => 'e']];
        yield 'nested' => [['a' => ['b' => ['c' => ['d' => [[], [[]], null]]]]]];
        yield 'like metadata of other libraries' => [[1234567890 => [1]]];
        yield 'object' => [(object) ['a' => 'foo', 'b' => [1, 2]]];
        yield 'empty object' => [new \stdClass()];
        yield 'date' => [new \DateTimeImmutable('2020-02-29 12:00:00.123456', new \DateTimeZone('Europe/Vienna'))];
        yield 'enum' => [Suit::Spades];
        yield 'objects in an array' => [['suit' => Suit::Hearts, 'at' => new \ArrayObject([1])]];
        $shared = new \stdClass();
        yield 'an object twice' => [[$shared, $shared]];
        $ring = new \stdClass();
        $ring->self = $ring;
        yield 'an object that holds itself' => [$ring];
    }

    /** @return \Generator<string, array{\Closure(): mixed}> */
    public static function unserializable(): \Generator
    {
        yield 'closure' => [static fn(): \Closure => static fn(): int => 1];
        yield 'anonymous class' => [static fn(): object => new class {}];
        yield 'generator' => [static fn(): \Generator => self::unserializable()];
        yield 'resource' => [static fn(): mixed => \fopen('php://memory', 'r')];
        yield 'an object that throws' => [static fn(): object => new Reluctant()];
    }
}
