<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Store\Change;

/**
 * The item on a server that holds a key's record, or tells that there is none.
 *
 *     type 1 | kind 1 | length of writer 1 | length of key 4 | position 8 | writer | key | expiry 8 | body
 *
 * Only a type in capitals has the expiry: twice its milliseconds by the server's clock, plus one for records that must not
 * end too early for any client (locks, counters, leases).
 *
 * Writers replace a key's item only by CAS; the first one puts an EMPTY item there by "add". So a writer that was stopped
 * in between can never store what it judged long ago, whatever happened to the key meanwhile: CAS tokens are unique for
 * the life of the server (memcached: items.c, get_cas_id).
 */
final class Item
{
    /** A record whose body is in the item; or whose body is in parts, which the item names. */
    public const WHOLE = 'r';
    public const PARTS = 'p';

    /** The record was removed: the item tells for a while at which position and by which writer. */
    public const REMOVED = 't';

    /** An empty item: a writer is about to write, and nothing else is known. */
    public const NONE = 'q';

    /** Seconds for which the item of a removed record stays. (The journal lists the removal as far as it reaches back.) */
    public const REMEMBERED = 600;

    /** Milliseconds; an expiry beyond them counts as none. */
    private const FAR = 1 << 60;

    /** Memcached takes up to this many seconds as counted from now, and more as a time since 1970 (memcached: doc/protocol.txt, "Expiration times"). */
    private const RELATIVE = 2_592_000;

    private function __construct(
        public readonly string $type,
        public readonly string $kind,
        public readonly string $writer,
        public readonly int $position,
        public readonly string $key,
        public readonly string $body,
        public readonly string $token,
        public readonly int $expiry = 0,
        /** True: the record has not expired as long as its server keeps it. */
        public readonly bool $stands = false,
    ) {}

    public static function encode(
        string $type,
        string $kind,
        string $writer,
        int $position,
        string $key,
        string $body,
        int $expiry = 0,
        bool $stands = false,
    ): string {
        $expiry = $expiry > self::FAR ? 0 : $expiry << 1 | (int) $stands;

        return ($expiry < 2 ? $type : \strtoupper($type)) . ($kind === '' ? ' ' : $kind[0]) . \chr(\strlen($writer))
            . \pack('NJ', \strlen($key), $position) . $writer . $key . ($expiry < 2 ? '' : \pack('J', $expiry)) . $body;
    }

    /**
     * @param ?array{string, string} $found value and token
     *
     * @return ?self null: there is no item. An item that Larder cannot have written counts as empty.
     */
    public static function decode(?array $found, string $key): ?self
    {
        if ($found === null) {
            return null;
        }
        [$value, $token] = $found;
        if (\strlen($value) >= 15) {
            $writer = \ord($value[2]);
            /** @var array{key: int, position: int} $n */
            $n = \unpack('Nkey/Jposition', $value, 3);
            // The key is compared because the server may know it only by its hash.
            if (\substr_compare($value, $key, 15 + $writer, $n['key']) === 0 && $n['key'] === \strlen($key)) {
                $type = \strtolower($value[0]);
                $at = 15 + $writer + $n['key'];
                $expiry = 0;
                if ($type !== $value[0] && \strlen($value) >= $at + 8) {
                    /** @var array{1: int} $end */
                    $end = \unpack('J', $value, $at);
                    $expiry = $end[1];
                    $at += 8;
                }

                return new self(
                    $type,
                    $value[1],
                    \substr($value, 15, $writer),
                    $n['position'],
                    $key,
                    \substr($value, $at),
                    $token,
                    $expiry >> 1,
                    ($expiry & 1) === 1,
                );
            }
        }

        return new self(self::NONE, ' ', '', 0, $key, '', $token);
    }

    /** The key of an item that Dump has found. */
    public static function keyOf(string $value): string
    {
        if (\strlen($value) < 15) {
            return '';
        }
        /** @var array{1: int} $n */
        $n = \unpack('N', $value, 3);

        return \substr($value, 15 + \ord($value[2]), $n[1]);
    }

    /**
     * The time at which the server shall remove an item by itself: never before its expiry, up to two seconds after.
     *
     * Memcached counts whole seconds, and the current one is the first: an item stored for 1 second would stay for a part of
     * one.
     *
     * @param int $expiry milliseconds by the server's clock; 0: never
     * @param int $now    milliseconds by the same clock
     *
     * @return int as memcached takes it: 0 never, seconds from now, or since 1970
     */
    public static function exptime(int $expiry, int $now): int
    {
        if ($expiry === 0 || $expiry >= ServerClock::HEAD * 1000) {
            return 0;
        }
        $left = \max(0, $expiry - $now);
        $seconds = \intdiv($left + 999, 1000) + 1;

        // A time since 1970 is by the server's clock, which may be a second ahead of what this process knows.
        return $seconds > self::RELATIVE ? \intdiv($expiry + 999, 1000) + 2 : $seconds;
    }

    /** Whether the item tells when the key last changed. */
    public function known(): bool
    {
        return $this->type !== self::NONE;
    }

    /** Whether the record is held (Change::HELD). Such a body is never so large that it lies in parts. */
    public function held(): bool
    {
        return $this->type === self::WHOLE && ($this->body[0] ?? '') === Change::HELD;
    }

    /** Whether the item holds a record that has not expired. */
    public function live(): bool
    {
        return $this->type === self::WHOLE || $this->type === self::PARTS;
    }
}
