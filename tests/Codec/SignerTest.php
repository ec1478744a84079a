<?php

declare(strict_types=1);

namespace Larder\Tests\Codec;

use Larder\Cache;
use Larder\Codec\Signer;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

#[CoversClass(Signer::class)]
final class SignerTest extends TestCase
{
    /** @return iterable<string, array{bool}> */
    public static function ways(): iterable
    {
        yield 'HMAC-SHA256' => [false];
        yield 'the fastest there is' => [true];
    }

    #[DataProvider('ways')]
    public function testOpensWhatItSigned(bool $fast): void
    {
        $signer = new Signer('a secret', $fast);
        foreach (['', 'x', "\0\xFF", \str_repeat('long', 10000)] as $data) {
            $signed = $signer->sign('key', $data);
            self::assertSame(17 + \strlen($data), \strlen($signed));
            self::assertSame($data, $signer->open('key', $signed));
            self::assertSame($data, (new Signer('a secret', !$fast))->open('key', $signed), 'the other way is read as well');
        }
    }

    public function testIsTruncatedHmacSha256OverTheKeysLengthTheKeyAndTheData(): void
    {
        $mac = \hash_hmac('sha256', "\0\0\0\0\0\0\0\3keydata", 'a secret', true);
        self::assertSame('s' . \substr($mac, 0, 16) . 'data', (new Signer('a secret', false))->sign('key', 'data'));
    }

    public function testIsKeyedBlake2bWhereSodiumIs(): void
    {
        if (!\extension_loaded('sodium')) {
            self::markTestSkipped('This PHP has no sodium.');
        }
        $key = \hash_hmac('sha256', 'larder, BLAKE2b', 'a secret', true);
        $mac = \sodium_crypto_generichash("\0\0\0\0\0\0\0\3keydata", $key, 16);
        self::assertSame('b' . $mac . 'data', (new Signer('a secret'))->sign('key', 'data'));
    }

    #[DataProvider('ways')]
    public function testRefusesEverythingElse(bool $fast): void
    {
        $signer = new Signer('a secret', $fast);
        $signed = $signer->sign('key', 'data');
        self::assertNull($signer->open('other', $signed));
        self::assertNull((new Signer('another', $fast))->open('key', $signed));
        self::assertNull($signer->open('key', ''));
        self::assertNull($signer->open('key', \substr($signed, 0, 16)));
        self::assertNull($signer->open('key', $signed . 'x'));
        self::assertNull($signer->open('keyd', \substr($signed, 0, 17) . 'ata'), 'no byte moves from the data to the key');
        self::assertNull($signer->open('key', \strtr($signed[0], 'bs', 'sb') . \substr($signed, 1)), 'nor is one way taken for the other');
        for ($bit = 0; $bit < 8 * \strlen($signed); ++$bit) {
            $damaged = $signed;
            $damaged[$bit >> 3] = \chr(\ord($damaged[$bit >> 3]) ^ 1 << ($bit & 7));
            self::assertNull($signer->open('key', $damaged));
        }
    }

    public function testNeedsASecret(): void
    {
        $this->expectException(\InvalidArgumentException::class);
        $this->expectExceptionMessage('at least 32 random characters');
        new Signer('');
    }

    // Seen to fail: whoever dumped a cache had it in his log.
    public function testItsSecretIsNotShownWhereItIsDumped(): void
    {
        $dump = \print_r(Cache::open(['dsn' => 'memory://', 'secret' => 'correct horse battery staple']), true);
        self::assertStringNotContainsString('correct horse', $dump);
        self::assertStringNotContainsString(\hash_hmac('sha256', 'larder, BLAKE2b', 'correct horse battery staple', true), $dump);
        self::assertStringContainsString('Signer', $dump);
    }
}
