<?php

declare(strict_types=1);

namespace Larder\Tests\Codec;

use Larder\Codec\Classes;
use Larder\Codec\Codec;
use Larder\Codec\Compression;
use Larder\Codec\NotStorable;
use Larder\Codec\Undecodable;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/Fixtures.php';

/** Which classes are in serialized bytes, whether they are allowed, and what a codec does that judges them. */
final class ClassesTest extends TestCase
{
    /** @return iterable<string, array{mixed, list<string>}> */
    public static function values(): iterable
    {
        $quoted = 's:1:"x";O:8:"stdClass":0:{}";}';
        yield 'none' => [['a' => 1, $quoted => [$quoted, '"', '""', 'O:3:"Foo', "C:3:\"Foo\":1:{"]], []];
        yield 'one' => [new Point(1, 2.0, Suit::Hearts), [Point::class, Suit::class]];
        yield 'nested, among strings that look like it' => [[$quoted, new Handle(['deep' => [new Hidden($quoted, [1])]], Suit::Spades)], [Handle::class, Hidden::class, Suit::class]];
        yield 'inside one that serializes itself' => [new \ArrayObject([new Custom('"')]), [\ArrayObject::class, Custom::class]];
        yield 'inside an object storage' => [Fixtures::snapshots()['object storage'], [\SplObjectStorage::class, \stdClass::class]];
        yield 'an enum again and again' => [[Suit::Hearts, Suit::Spades, Suit::Hearts], [Suit::class]];
        yield 'a float and a reference' => [[\NAN, -\INF, 1e300, new \stdClass()], [\stdClass::class]];
    }

    /** @param list<string> $names */
    #[DataProvider('values')]
    public function testAllNamesAreFoundAndNoOthers(mixed $value, array $names): void
    {
        self::assertSame($names, Classes::in(\serialize($value)));
    }

    public function testWhatAnOldSerializableHasWrittenIsPassedOver(): void
    {
        self::assertSame(['Old', 'Point'], Classes::in('a:2:{i:0;C:3:"Old":9:{"O:1:"X"}}i:1;O:5:"Point":0:{}}'));
    }

    /** @return iterable<string, array{string}> */
    public static function damaged(): iterable
    {
        foreach (['"', 's:3:"ab"', 's:3:"abcd"', 's:99:"abc";', 's:-3:"abc";', 'O:3:Foo"', 'x:3:"Foo"', 'S:3:"Foo";', 'C:3:"Foo":9:{}', 'C:3:"Foo"', 's:99999999999999999999:"a";', 's::"a"'] as $bytes) {
            yield $bytes => [$bytes];
        }
    }

    #[DataProvider('damaged')]
    public function testDamagedBytesAreRefused(string $bytes): void
    {
        $this->expectException(Undecodable::class);
        Classes::in($bytes);
    }

    public function testAClassThatIsNotAllowedIsRefusedWhenItIsStoredAndMissedWhenItIsRead(): void
    {
        $all = Codec::create('php', null);
        $some = Codec::create(null, null, classes: new Classes([\strtoupper(Handle::class), Hidden::class, 'stdClass'], false));
        foreach ([new Handle(new Hidden('x', [])), [new \stdClass(), [new Handle(1)]], (object) ['a' => 1], ['plain']] as $value) {
            self::assertEquals($value, $some->decode($some->encode($value)));
        }
        foreach ([new Custom('x'), [new Handle([new Custom('x')])], Suit::Hearts, new \DateTimeImmutable(), new \ArrayObject([new Custom('x')])] as $value) {
            try {
                $some->encode($value);
                self::fail('It was stored.');
            } catch (NotStorable $refused) {
                self::assertStringContainsString('which the option "classes" does not allow', $refused->getMessage());
            }
            try {
                $some->decode($all->encode($value));
                self::fail('It was read.');
            } catch (Undecodable $missed) {
                self::assertStringContainsString('the option "classes" does not allow the class', $missed->getMessage());
            }
        }
    }

    public function testNoObjectOfAClassThatIsNotAllowedIsMadeWhoeverSerializedIt(): void
    {
        foreach ([new Classes(false, false), new Classes([Handle::class], true)] as $classes) {
            $codec = Codec::create(null, null, classes: $classes);
            foreach (['php', 'igbinary', 'msgpack'] as $serializer) {
                if ($serializer !== 'php' && !\extension_loaded($serializer)) {
                    continue;
                }
                $other = Codec::create($serializer, null);
                foreach ([new Trap(), [new Handle(new Trap())], (object) ['trap' => new Trap()]] as $value) {
                    self::assertMissed($codec, $other->encode($value));
                }
                // A lie: the first byte says that no object is in it.
                $serialize = ['php' => \serialize(...), 'igbinary' => 'igbinary_serialize', 'msgpack' => 'msgpack_pack'][$serializer];
                foreach (\range(6, 0xFF) as $mark) {
                    $body = ($mark > 0x7F ? '12345678' : '') . $serialize([new Trap()]);
                    try {
                        $codec->decode(\chr($mark) . \pack('N', \crc32($body) ^ ($mark * 0x9E3779B1 & 0xFFFFFFFF)) . $body);
                    } catch (Undecodable) {
                    }
                }
            }
            self::assertSame(0, Trap::$woken);
        }
    }

    public function testFalseAllowsNoObjectNotEvenAStandardOne(): void
    {
        $codec = Codec::create(null, null, classes: new Classes(false, false));
        self::assertSame(['a' => [1, 'b']], $codec->decode($codec->encode(['a' => [1, 'b']])));
        self::assertMissed($codec, Codec::create(null, null)->encode(new \stdClass()));
        $this->expectException(NotStorable::class);
        $codec->encode([new \stdClass()]);
    }

    /** @return iterable<string, array{Codec}> */
    public static function codecs(): iterable
    {
        foreach (['php', 'igbinary', 'msgpack'] as $serializer) {
            foreach ($serializer === 'php' || \extension_loaded($serializer) ? Compression::NAMES : [] as $compressor => $number) {
                if (Compression::missing($number) === null) {
                    yield "$serializer $compressor" => [Codec::create($serializer, $compressor, 64, new Classes(true, true))];
                }
            }
        }
    }

    #[DataProvider('codecs')]
    public function testWithFingerprintsEverythingComesOutAsItWentInAndWhateverTheyAre(Codec $codec): void
    {
        $without = Codec::create(null, null);
        foreach (Fixtures::plain() as $name => $value) {
            self::assertSame(\serialize($value), \serialize($codec->decode($codec->encode($value))), $name);
            self::assertSame(\serialize($value), \serialize($codec->decode($without->encode($value))), $name);
        }
        foreach (Fixtures::snapshots() as $name => $value) {
            $bytes = $codec->encode($value);
            self::assertTrue(Codec::isSnapshot($bytes), $name);
            self::assertSame(\serialize($value), \serialize($codec->decode($bytes)), $name);
            // Who does not ask for fingerprints passes over them.
            self::assertSame(\serialize($value), \serialize($without->decode($bytes)), $name);
        }
        $x = 1;
        $references = $codec->decode($codec->encode(['a' => &$x, 'b' => &$x]));
        self::assertIsArray($references);
        $references['a'] = 2;
        self::assertSame(2, $references['b']);
    }

    public function testValuesWithoutObjectsCostNothing(): void
    {
        $without = Codec::create(null, null);
        $with = Codec::create(null, null, classes: new Classes(true, true));
        foreach (Fixtures::plain() as $name => $value) {
            self::assertSame($without->encode($value), $with->encode($value), $name);
        }
        self::assertSame(\strlen(Codec::create('php', null)->encode(new \stdClass())), \strlen($with->encode(new \stdClass())));
    }

    public function testAnObjectThatWasStoredWithoutAFingerprintIsMissed(): void
    {
        $with = Codec::create(null, null, classes: new Classes(true, true));
        foreach (['php', 'igbinary'] as $serializer) {
            if ($serializer === 'php' || \extension_loaded($serializer)) {
                $without = Codec::create($serializer, null);
                self::assertMissed($with, $without->encode(new Hidden('x', [])));
                self::assertMissed($with, $without->encode([Suit::Hearts]));
                self::assertEquals((object) ['a' => 1], $with->decode($without->encode((object) ['a' => 1])));
            }
        }
    }

    public function testAFingerprintThatIsAnothersIsMissed(): void
    {
        $codec = Codec::create(null, null, classes: new Classes(true, true));
        $bytes = $codec->encode(new Hidden('x', []));
        self::assertEquals(new Hidden('x', []), $codec->decode($bytes));
        for ($i = 5; $i < 5 + Classes::LENGTH; $i++) {
            $body = \substr($bytes, 5);
            $body[$i - 5] = $body[$i - 5] === 'a' ? 'b' : 'a';
            $mark = \ord($bytes[0]);
            self::assertMissed($codec, $bytes[0] . \pack('N', \crc32($body) ^ ($mark * 0x9E3779B1 & 0xFFFFFFFF)) . $body);
        }
    }

    public function testWhatAClassHasSerializedWrongIsRefusedWhenItIsStored(): void
    {
        $codec = Codec::create(null, null, classes: new Classes(true, true));
        $gone = \unserialize('O:9:"GoneClass":0:{}');
        $this->expectException(NotStorable::class);
        $codec->encode(new Wrapping($gone));
    }

    private static function assertMissed(Codec $codec, string $bytes): void
    {
        try {
            $codec->decode($bytes);
        } catch (Undecodable) {
            self::assertSame(0, Trap::$woken);

            return;
        }
        self::fail('It was read.');
    }
}

final class Trap
{
    public static int $woken = 0;

    public function __wakeup(): void
    {
        self::$woken++;
    }
}

final class Wrapping
{
    public function __construct(private mixed $inner) {}

    /** @return array<mixed> */
    public function __serialize(): array
    {
        return ['made' => $this->inner];
    }

    /** @param array<mixed> $data */
    public function __unserialize(array $data): void
    {
        $this->inner = $data['made'];
    }
}
