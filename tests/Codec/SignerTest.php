<?php

declare(strict_types=1);

namespace Larder\Tests\Codec;

use Larder\Codec\Signer;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

#[CoversClass(Signer::class)]
final class SignerTest extends TestCase
{
    public function testOpensWhatItSigned(): void
    {
        $signer = new Signer('a secret');
        foreach (['', 'x', "\0\xFF", \str_repeat('long', 10000)] as $data) {
            $signed = $signer->sign('key', $data);
            self::assertSame(16 + \strlen($data), \strlen($signed));
            self::assertSame($data, $signer->open('key', $signed));
        }
    }

    public function testIsTruncatedHmacSha256OverTheKeysLengthTheKeyAndTheData(): void
    {
        $mac = \hash_hmac('sha256', "\0\0\0\0\0\0\0\3keydata", 'a secret', true);
        self::assertSame(\substr($mac, 0, 16) . 'data', (new Signer('a secret'))->sign('key', 'data'));
    }

    public function testRefusesEverythingElse(): void
    {
        $signer = new Signer('a secret');
        $signed = $signer->sign('key', 'data');
        self::assertNull($signer->open('other', $signed));
        self::assertNull((new Signer('another'))->open('key', $signed));
        self::assertNull($signer->open('key', ''));
        self::assertNull($signer->open('key', \substr($signed, 0, 15)));
        self::assertNull($signer->open('key', $signed . 'x'));
        self::assertNull($signer->open('keyd', \substr($signed, 0, 16) . 'ata'), 'no byte moves from the data to the key');
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
}
