<?php

declare(strict_types=1);

namespace Larder\Tests\Codec;

use Larder\Codec\Codec;
use Larder\Codec\Compression;
use Larder\Codec\Inspection;
use Larder\Codec\NotStorable;
use Larder\Codec\Undecodable;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/Fixtures.php';

#[CoversClass(Codec::class)]
#[CoversClass(Compression::class)]
#[CoversClass(Inspection::class)]
#[CoversClass(NotStorable::class)]
#[CoversClass(Undecodable::class)]
final class CodecTest extends TestCase
{
    protected function setUp(): void
    {
        // Whatever PHP says while we code is a failure, also what an @ would hide from PHPUnit.
        \set_error_handler(static function (int $level, string $message): never {
            throw new \ErrorException($message, $level);
        });
    }

    protected function tearDown(): void
    {
        \restore_error_handler();
    }

    /** @return iterable<string, array{Codec}> */
    public static function codecs(): iterable
    {
        foreach (['php', 'igbinary', 'msgpack'] as $serializer) {
            if ($serializer !== 'php' && !\extension_loaded($serializer)) {
                continue;
            }
            foreach (Compression::NAMES as $compressor => $number) {
                if (Compression::missing($number) === null) {
                    yield "{$serializer} {$compressor}" => [Codec::create($serializer, $compressor, 64)];
                }
            }
        }
    }

    #[DataProvider('codecs')]
    public function testPlainValuesComeOutAsTheyWentInWhoeverDecodes(Codec $codec): void
    {
        $others = \iterator_to_array(self::codecs());
        foreach (Fixtures::plain() as $name => $value) {
            $data = $codec->encode($value);
            self::assertFalse(Codec::isSnapshot($data), $name);
            foreach ($others as [$other]) {
                self::assertSame(\serialize($value), \serialize($other->decode($data)), $name);
            }
            self::assertSame(\serialize($value), \serialize($codec->decode('before' . $data, 6)), $name);
        }
    }

    #[DataProvider('codecs')]
    public function testObjectsAreSnapshotsAndComeOutAsFreshCopies(Codec $codec): void
    {
        $others = \iterator_to_array(self::codecs());
        foreach (Fixtures::snapshots() as $name => $value) {
            $data = $codec->encode($value);
            self::assertTrue(Codec::isSnapshot($data), $name);
            self::assertTrue(Codec::isSnapshot('before' . $data, 6), $name);
            foreach ($others as [$other]) {
                $copy = $other->decode($data);
                self::assertSame(\serialize($value), \serialize($copy), $name);
            }
            if (\is_object($value) && !$value instanceof \UnitEnum) {
                self::assertNotSame($value, $codec->decode($data), $name);
                self::assertNotSame($codec->decode($data), $codec->decode($data), $name);
            }
        }
    }

    #[DataProvider('codecs')]
    public function testObjectsKeepTheirIdentityInside(Codec $codec): void
    {
        $object = new \stdClass();
        $copy = $codec->decode($codec->encode([$object, [$object]]));
        self::assertIsArray($copy);
        self::assertSame([$copy[0]], $copy[1]);
        self::assertSame([Suit::Hearts], $codec->decode($codec->encode([Suit::Hearts])));
    }

    #[DataProvider('codecs')]
    public function testReferencesInsideMakeASnapshotAndStayReferences(Codec $codec): void
    {
        $x = 1;
        $data = $codec->encode(['a' => &$x, 'deep' => ['b' => &$x]]);
        self::assertTrue(Codec::isSnapshot($data));
        $copy = $codec->decode($data);
        self::assertIsArray($copy);
        $copy['a'] = 2;
        self::assertSame(['a' => 2, 'deep' => ['b' => 2]], $copy);
        self::assertSame(['a' => 1, 'deep' => ['b' => 1]], $codec->decode($data));
        self::assertSame(1, $x);
    }

    #[DataProvider('codecs')]
    public function testReferencesToEveryTypeAreSeen(Codec $codec): void
    {
        foreach (Fixtures::plain() as $name => $value) {
            $list = ['first' => &$value, 'second' => &$value];
            self::assertTrue(Codec::isSnapshot($codec->encode($list)), $name);
            unset($list, $value);
        }
    }

    #[DataProvider('codecs')]
    public function testACopySharedByTwoReadersHasNoReferences(Codec $codec): void
    {
        $list = [1, 2, [3, 4]];
        foreach ($list as &$last) {
        }
        $last[1] = 5;
        $copy = $codec->decode($data = $codec->encode($list));
        self::assertFalse(Codec::isSnapshot($data), 'a reference to something outside needs no snapshot');
        self::assertSame([1, 2, [3, 5]], $copy);
        self::assertFalse(Inspection::holdsReference($copy));
        $one = $copy;
        $two = $copy;
        $one[2][1] = 6;
        $element = &$two[2];
        $element[0] = 7;
        self::assertSame([1, 2, [3, 5]], $copy);
    }

    #[DataProvider('codecs')]
    public function testCircularArraysEnd(Codec $codec): void
    {
        $a = ['x' => 1];
        $a['self'] = &$a;
        $a['other'] = [&$a, &$a];
        $copy = $codec->decode($codec->encode($a));
        self::assertIsArray($copy);
        self::assertIsArray($copy['self']);
        self::assertIsArray($copy['self']['self']);
        self::assertSame(1, $copy['self']['self']['x']);

        $node = ['leaf'];
        for ($i = 0; $i < 40; ++$i) {
            $next = [&$node, &$node];
            unset($node);
            $node = $next;
            unset($next);
        }
        self::assertTrue(Codec::isSnapshot($codec->encode($node)), '2^40 paths, 41 arrays');
    }

    /** @return iterable<string, array{mixed, string}> */
    public static function notStorable(): iterable
    {
        $open = \fopen('php://memory', 'r');
        $closed = \fopen('php://memory', 'r');
        \assert(\is_resource($closed));
        \fclose($closed);
        $circular = [1];
        $circular['self'] = &$circular;
        $circular['file'] = $open;
        $deep = [];
        for ($i = 0; $i < 5000; ++$i) {
            $deep = [$deep];
        }
        $closure = static fn(): int => 1;
        yield 'closure' => [$closure, 'it is a Closure'];
        yield 'closure inside' => [['a' => [1, ['b' => $closure]]], "['a'][1]['b'] is a Closure"];
        yield 'closure in an object' => [['u' => new Handle(['f' => $closure])], "['u']->inner['f'] is a Closure"];
        yield 'closure in a private property' => [new Handle(null, $closure), "->parts['first'] is a Closure"];
        yield 'resource' => [$open, 'resource (stream)'];
        yield 'resource inside' => [['x' => ['y' => $open]], "['x']['y'] is a resource (stream)"];
        yield 'closed resource inside' => [[1, $closed], '[1] is a resource (closed)'];
        yield 'resource after an object' => [[new \stdClass(), [$open]], '[1][0] is a resource (stream)'];
        yield 'resource in an object' => [[(object) ['f' => $open]], '[0]->f is a resource (stream)'];
        yield 'resource in a circular array' => [$circular, "['file'] is a resource (stream)"];
        yield 'anonymous class' => [[new class {}], "[0] does not let itself be serialized"];
        yield 'generator' => [['g' => (static fn() => yield 1)()], "['g'] is a Generator"];
        yield 'PDO' => [['db' => new \PDO('sqlite::memory:')], "['db'] does not let itself be serialized (Serialization of 'PDO' is not allowed)"];
        yield 'refusing' => [['ok' => new \stdClass(), 'no' => [new Refusing()]], "['no'][0] does not let itself be serialized (never)"];
        yield 'too deep' => [$deep, 'nested deeper than 4000 levels'];
    }

    #[DataProvider('notStorable')]
    public function testWhatCannotBeStoredIsRefusedWithItsPlace(mixed $value, string $message): void
    {
        foreach (self::codecs() as [$codec]) {
            try {
                $codec->encode($value);
                self::fail('not refused');
            } catch (NotStorable $e) {
                self::assertStringContainsString($message, $e->getMessage());
                self::assertStringContainsString('Store what it was made from', $e->getMessage());
            }
        }
    }

    public function testTheMarkByteIsAsDocumented(): void
    {
        $codec = Codec::create('php', 'none');
        self::assertSame("\0abc", $codec->encode('abc'));
        self::assertSame("\x01-42", $codec->encode(-42));
        self::assertSame("\x02", $codec->encode(null));
        self::assertSame("\x03", $codec->encode(false));
        self::assertSame("\x04", $codec->encode(true));
        self::assertSame("\x05\x3F\xF0\0\0\0\0\0\0", $codec->encode(1.0));
        self::assertSame("\x06", $codec->encode([1])[0]);
        self::assertSame("\x46", $codec->encode(new \stdClass())[0]);
        self::assertSame("\x36", Codec::create('php', 'gzip')->encode(\array_fill(0, 1000, 'same'))[0]);
        self::assertSame("\x30", Codec::create('php', 'gzip')->encode(\str_repeat('same', 1024))[0]);
        if (\extension_loaded('igbinary')) {
            self::assertSame("\x07", Codec::create(null, null)->encode([1])[0]);
            self::assertSame("\x47", Codec::create('igbinary', null)->encode(new \stdClass())[0]);
        }
        if (\extension_loaded('msgpack')) {
            $msgpack = Codec::create('msgpack', null);
            self::assertSame("\x08", $msgpack->encode([1, 'a' => 1.5])[0]);
            self::assertSame("\x46", $msgpack->encode([new \stdClass()])[0], 'objects are php\'s');
        }
    }

    public function testCompressesFromTheThresholdOnAndOnlyWhatGetsSmaller(): void
    {
        $codec = Codec::create('php', 'gzip', 1000);
        self::assertSame(1000, \strlen($codec->encode(\str_repeat('a', 999))));
        self::assertLessThan(100, \strlen($codec->encode(\str_repeat('a', 1000))));
        $random = \random_bytes(2000);
        self::assertSame("\0" . $random, $codec->encode($random));
        self::assertSame([$random], $codec->decode($data = $codec->encode([$random])));
        self::assertSame("\x06", $data[0]);
    }

    public function testFloatsAreKeptWhateverPhpIniSays(): void
    {
        $before = \ini_set('serialize_precision', '5');
        try {
            foreach (self::codecs() as [$codec]) {
                self::assertSame([1 / 3, -0.0], $codec->decode($codec->encode([1 / 3, -0.0])));
                self::assertEquals((object) ['a' => 2 / 3], $codec->decode($codec->encode((object) ['a' => 2 / 3])));
            }
            self::assertSame('5', \ini_get('serialize_precision'));
        } finally {
            \ini_set('serialize_precision', (string) $before);
        }
    }

    /** @return iterable<string, array{?string, ?string, int, string}> */
    public static function badOptions(): iterable
    {
        yield 'serializer' => ['json', null, 1, 'use php, igbinary or msgpack'];
        yield 'compressor' => [null, 'bzip2', 1, 'use none, zstd, lz4 or gzip'];
        yield 'threshold' => [null, null, -1, 'use 0 or more'];
        foreach (['igbinary', 'msgpack'] as $name) {
            if (!\extension_loaded($name)) {
                yield $name => [$name, null, 1, "needs ext-{$name}"];
            }
        }
        foreach (['zstd', 'lz4'] as $name) {
            if (!\extension_loaded($name)) {
                yield $name => [null, $name, 1, "needs ext-{$name}"];
            }
        }
    }

    #[DataProvider('badOptions')]
    public function testRefusesUnknownOptionsWithAdvice(?string $serializer, ?string $compressor, int $threshold, string $advice): void
    {
        $this->expectException(\InvalidArgumentException::class);
        $this->expectExceptionMessage($advice);
        Codec::create($serializer, $compressor, $threshold);
    }

    /** Puts a right checksum on bytes, as somebody hostile could. */
    private static function seal(int $mark, string $body): string
    {
        return \chr($mark) . \pack('N', \crc32($body) ^ ($mark * 0x9E3779B1 & 0xFFFFFFFF)) . $body;
    }

    /** @return iterable<string, array{string}> */
    public static function undecodable(): iterable
    {
        yield 'nothing' => [''];
        yield 'empty int' => ["\x01"];
        yield 'no int' => ["\x0112a"];
        yield 'int with zeros' => ["\x01007"];
        yield 'too great an int' => ["\x0199999999999999999999"];
        yield 'null and more' => ["\x02x"];
        yield 'short float' => ["\x05abc"];
        yield 'long float' => ["\x05abcdefghi"];
        yield 'no checksum' => ["\x06"];
        yield 'wrong checksum' => ["\x06\0\0\0\0a:0:{}"];
        yield 'highest bit' => [self::seal(0x86, 'a:0:{}')];
        yield 'unknown type' => [self::seal(0x0F, 'a:0:{}')];
        yield 'string as snapshot' => [self::seal(0x40, 'abc')];
        yield 'msgpack as snapshot' => [self::seal(0x48, "\x93\1\2\3")];
        yield 'serialized nonsense' => [self::seal(0x06, 'nonsense')];
        yield 'serialized scalar' => [self::seal(0x06, 'i:5;')];
        yield 'cut array' => [self::seal(0x06, 'a:2:{i:0;i:1;')];
        yield 'igbinary nonsense' => [self::seal(0x07, 'nonsense')];
        yield 'msgpack nonsense' => [self::seal(0x08, "\xC1")];
        yield 'gzip nonsense' => [self::seal(0x30, "\0\0\0\5nonsense")];
        yield 'gzip without a length' => [self::seal(0x30, "\0\0")];
        yield 'gzip longer than it says' => [self::seal(0x30, \pack('N', 10) . \gzdeflate(\str_repeat('a', 11)))];
        yield 'gzip shorter than it says' => [self::seal(0x30, \pack('N', 12) . \gzdeflate(\str_repeat('a', 11)))];
        yield 'gzip above 512 MB' => [self::seal(0x30, \pack('N', 0x20000001) . \gzdeflate('a'))];
        yield 'zstd nonsense' => [self::seal(0x10, \pack('N', 4) . 'nonsense')];
        yield 'lz4 nonsense' => [self::seal(0x20, \pack('N', 4) . 'nonsense')];
        yield 'class that is not there' => [self::seal(0x46, 'O:17:"Larder\\Not\\There2":0:{}')];
        yield 'class inside that is not there' => [self::seal(0x46, 'a:1:{i:0;O:17:"Larder\\Not\\There2":0:{}}')];
        yield 'class that throws' => [self::seal(0x46, \serialize([new Waking()]))];
        yield 'unserializable class' => [self::seal(0x46, 'O:3:"PDO":0:{}')];
        yield 'closure' => [self::seal(0x46, 'O:7:"Closure":0:{}')];
        if (\extension_loaded('igbinary')) {
            yield 'igbinary class that throws' => [self::seal(0x47, (string) \igbinary_serialize([new Waking()]))];
            yield 'igbinary class that is not there' => [self::seal(0x47, \str_replace('Codec\\Waking', 'Codec\\Wokeng', (string) \igbinary_serialize([new Waking()])))];
        }
    }

    #[DataProvider('undecodable')]
    public function testDamagedBytesAreUndecodable(string $data): void
    {
        $callback = \ini_get('unserialize_callback_func');
        try {
            Codec::create(null, null)->decode($data);
            self::fail('decoded');
        } catch (Undecodable $e) {
            self::assertStringStartsWith('A cached value could not be decoded: ', $e->getMessage());
        }
        self::assertSame($callback, \ini_get('unserialize_callback_func'));
        $this->expectException(\ErrorException::class);
        \trigger_error('the handler is the one from before');
    }

    public function testOffsetsOutsideTheBytesAreUndecodable(): void
    {
        self::assertFalse(Codec::isSnapshot(''));
        self::assertFalse(Codec::isSnapshot('abc', 3));
        $this->expectException(Undecodable::class);
        Codec::create(null, null)->decode('abc', 3);
    }

    public function testWarningsOfWakingClassesStayInside(): void
    {
        foreach (self::codecs() as [$codec]) {
            self::assertEquals(new Warning(), $codec->decode($codec->encode(new Warning())));
        }
    }

    public function testNoObjectComesOutOfBytesThatAreNotMarkedAsASnapshot(): void
    {
        $value = Codec::create(null, null)->decode(self::seal(0x06, \serialize([new Warning()])));
        self::assertIsArray($value);
        self::assertInstanceOf(\__PHP_Incomplete_Class::class, $value[0]);
        self::assertSame('O:8:"stdClass":0:{}', Codec::create(null, null)->decode("\0" . 'O:8:"stdClass":0:{}'));
    }

    public function testABombDoesNotEatTheMemory(): void
    {
        $bomb = (string) \gzdeflate(\str_repeat("\0", 64 << 20), 9);
        \memory_reset_peak_usage();
        $before = \memory_get_peak_usage();
        try {
            Codec::create(null, null)->decode(self::seal(0x30, \pack('N', 1000) . $bomb));
            self::fail('decoded');
        } catch (Undecodable) {
            self::assertLessThan(8 << 20, \memory_get_peak_usage() - $before);
        }
    }

    #[DataProvider('codecs')]
    public function testAnyDamageGivesAValueOrUndecodable(Codec $codec): void
    {
        \mt_srand(20240229);
        $values = [
            'text', 12, 1.5, \str_repeat('long text ', 30), \array_fill(0, 100, 'same'),
            ['a' => 1, 'b' => [1, 2, ['x' => 1.5]], 'c' => \str_repeat('abc', 30)],
            [new Point(1, 2.0, Suit::Hearts), new \ArrayObject([1]), new \DateTimeImmutable('2024-01-01')],
        ];
        $undecodable = 0;
        for ($i = 0; $i < 5000; ++$i) {
            if ($i % 5 === 4) {
                $data = \chr(\mt_rand(0, 255));
                for ($j = \mt_rand(0, 40); $j > 0; --$j) {
                    $data .= \chr(\mt_rand(0, 255));
                }
            } else {
                $data = $codec->encode($values[$i % 7]);
                $at = \mt_rand(0, \strlen($data) - 1);
                if ($i % 5 === 0) {
                    $data = \substr($data, 0, $at);
                } else {
                    $data[$at] = \chr(\ord($data[$at]) ^ 1 << \mt_rand(0, 7));
                }
            }
            try {
                $codec->decode($data);
            } catch (Undecodable) {
                ++$undecodable;
            }
        }
        self::assertGreaterThan(2000, $undecodable);
    }

    /** What hostile bytes with a right checksum can do to php's own unserialize(). */
    public function testAnyDamageBeforeTheChecksumGivesAValueOrUndecodable(): void
    {
        \mt_srand(20240301);
        $codec = Codec::create('php', null);
        $bodies = [
            0x06 => \serialize(['a' => 1, 'b' => [1.5, true, 'c' => 'text']]),
            0x46 => \serialize([new Point(1, 2.0, Suit::Hearts), new \ArrayObject([1]), new \DateTimeImmutable('2024-01-01')]),
            0x36 => \pack('N', 200) . \gzdeflate(\str_pad(\serialize(\range(1, 20)), 200)),
        ];
        $undecodable = 0;
        for ($i = 0; $i < 5000; ++$i) {
            $mark = [0x06, 0x46, 0x36][$i % 3];
            $body = $bodies[$mark];
            for ($j = 0; $j <= $i % 2; ++$j) {
                $at = \mt_rand(0, \strlen($body) - 1);
                $body[$at] = \chr(\ord($body[$at]) ^ 1 << \mt_rand(0, 7));
            }
            try {
                $codec->decode(self::seal($mark, $body));
            } catch (Undecodable) {
                ++$undecodable;
            }
        }
        self::assertGreaterThan(1000, $undecodable);
    }
}
