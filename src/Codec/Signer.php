<?php

declare(strict_types=1);

namespace Larder\Codec;

/**
 * A keyed signature before the data, so that whoever can write to a shared server cannot make values here, nor move
 * one to another key.
 *
 * HMAC-SHA256 truncated to 128 bits (RFC 2104 section 5: no less than half the hash's length). The key is hashed in
 * with its length before it, so that no other split of the same bytes into key and data has the same signature.
 */
final class Signer
{
    private const BYTES = 16;

    public function __construct(
        #[\SensitiveParameter]
        private readonly string $secret,
    ) {
        if ($secret === '') {
            throw new \InvalidArgumentException('The secret is empty: give at least 32 random characters, or no secret at all.');
        }
    }

    /** The signature followed by the data. */
    public function sign(string $key, string $data): string
    {
        return $this->mac($key, $data) . $data;
    }

    /** The data, or null if this signer did not sign it for this key. */
    public function open(string $key, string $signed): ?string
    {
        if (\strlen($signed) < self::BYTES) {
            return null;
        }
        $data = \substr($signed, self::BYTES);

        return \hash_equals($this->mac($key, $data), \substr($signed, 0, self::BYTES)) ? $data : null;
    }

    private function mac(string $key, string $data): string
    {
        return \substr(\hash_hmac('sha256', \pack('J', \strlen($key)) . $key . $data, $this->secret, true), 0, self::BYTES);
    }
}
