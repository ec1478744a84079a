<?php

declare(strict_types=1);

namespace Larder\Tests\Codec;

use Larder\Codec\Codec;
use Larder\Codec\Compression;
use Larder\Codec\Undecodable;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\DataProviderExternal;
use PHPUnit\Framework\TestCase;

require_once __DIR__ . '/Fixtures.php';

/** Damaged and hostile bytes: a value or Undecodable, and never a word from PHP. */
#[CoversClass(Codec::class)]
#[CoversClass(Compression::class)]
#[CoversClass(Undecodable::class)]
final class UndecodableTest extends TestCase
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
            self::assertStringStartsWith('A stored value could not be decoded: ', $e->getMessage());
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
        foreach (CodecTest::codecs() as [$codec]) {
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

    #[DataProviderExternal(CodecTest::class, 'codecs')]
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
