<?php

declare(strict_types=1);

namespace Larder\Codec;

use Larder\System\Secret;

/**
 * Puts a keyed signature before the data, so that an attacker who can write to a shared server can neither forge a value
 * nor move one to another key.
 *
 *     b | mac 16 | data     keyed BLAKE2b (RFC 7693), if PHP has sodium: a quarter of the other's time
 *     s | mac 16 | data     HMAC-SHA256 truncated to 128 bits (RFC 2104 section 5: no less than half the hash's length)
 *
 * Some servers may have sodium and others not. A server without it misses values that the others have signed; all servers
 * read values that it signs.
 *
 * The signature covers the key with its length before it, so that no other split of the same bytes into key and data has
 * the same signature.
 */
final class Signer
{
    private const BYTES = 16;

    /** Bytes before the data. */
    public const LENGTH = 1 + self::BYTES;

    private const BLAKE = 'b';
    private const SHA = 's';

    // PHP shows what such objects hold in no dump, export or cast.
    /** @var \SensitiveParameterValue of the key for HMAC */
    private readonly \SensitiveParameterValue $secret;

    /** @var \SensitiveParameterValue of the key for BLAKE2b, which takes 16 to 64 bytes: it differs from HMAC's */
    private readonly \SensitiveParameterValue $key;

    /** Opens what this one has not signed; null: there is no other signer. */
    private readonly ?self $former;

    /**
     * @param string|non-empty-list<string> $secret of a list the first one signs, and each opens: what was signed before a change of
     *                                              the secret is read, and so is what another server signs that has changed it already
     * @param bool                          $fast   sign by BLAKE2b, if PHP has it
     */
    public function __construct(#[\SensitiveParameter] string|array $secret, private readonly bool $fast = true)
    {
        $formers = \is_array($secret) ? \array_slice($secret, 1) : [];
        $this->former = $formers === [] ? null : new self($formers, $fast);
        $secret = \is_array($secret) ? $secret[0] : $secret;
        if ($secret === '') {
            throw new \InvalidArgumentException('The secret is empty: give at least 32 random characters, or no secret at all.');
        }
        $this->secret = new \SensitiveParameterValue($secret);
        $this->key = new \SensitiveParameterValue(\hash_hmac('sha256', 'larder, BLAKE2b', $secret, true));
    }

    /** The signature followed by the data. */
    public function sign(string $key, string $data): string
    {
        $signed = \pack('J', \strlen($key)) . $key . $data;

        return $this->fast && \extension_loaded('sodium')
            ? self::BLAKE . \sodium_crypto_generichash($signed, Secret::text($this->key), self::BYTES) . $data
            : self::SHA . $this->sha($signed) . $data;
    }

    /** The data; null: this signer has not signed it for this key. */
    public function open(string $key, string $signed): ?string
    {
        $by = $signed[0] ?? '';
        if (\strlen($signed) <= self::BYTES || ($by !== self::SHA && ($by !== self::BLAKE || !\extension_loaded('sodium')))) {
            return null;
        }
        $data = \substr($signed, 1 + self::BYTES);
        $all = \pack('J', \strlen($key)) . $key . $data;
        $mac = $by === self::BLAKE ? \sodium_crypto_generichash($all, Secret::text($this->key), self::BYTES) : $this->sha($all);

        return \hash_equals($mac, \substr($signed, 1, self::BYTES)) ? $data : $this->former?->open($key, $signed);
    }

    private function sha(string $signed): string
    {
        return \substr(\hash_hmac('sha256', $signed, Secret::text($this->secret), true), 0, self::BYTES);
    }
}
