<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Store\Change;

/**
 * What lies on a server under a record's key.
 *
 *     type 1 | kind 1 | length of writer 1 | length of key 4 | position 8 | writer | key | expiry 8 | body
 *
 * A type in capitals has the expiry, in milliseconds by the server's clock, times two; odd for what must not end too early
 * for anybody: locks, counters, leases. All others have none.
 *
 * A key's item is only ever replaced by CAS, and first put there as an EMPTY one by "add": a writer that was stopped
 * in between can then never store what it judged long ago, whatever happened to the key meanwhile, for CAS tokens are
 * unique for the life of the server (memcached: items.c, get_cas_id).
 */
final class Item
{
    /** A record whose body is here; or in parts, and here is where they are. */
    public const WHOLE = 'r';
    public const PARTS = 'p';

    /** A record that was removed: says for a while when and by whom. */
    public const REMOVED = 't';

    /** Nothing is known but that somebody is about to write. */
    public const NONE = 'q';

    /** Seconds that a removal is remembered under its key (and in the log as long as that reaches). */
    public const REMEMBERED = 600;

    /** Milliseconds beyond which an expiry is none. */
    private const FAR = 1 << 60;

    /** Seconds from now that memcached can take; more it takes for a time since 1970 (memcached: doc/protocol.txt, "Expiration times"). */
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
        /** Until its server forgets it, it is not over. */
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
     * @return ?self null where there is nothing. What we cannot have written is as good as empty.
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
            // The key is compared because its hash is what the server knows it by.
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

    /** The key of an item found by going through the server. */
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
     * When the server is to remove an item by itself: never before its time, up to two seconds after.
     *
     * It counts in whole seconds, and the one that has begun is the first: what is to stay for 1 second would stay for
     * some part of one.
     *
     * @param int $expiry milliseconds by the server's clock, 0 never
     * @param int $now    the same
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

        // Since 1970 it counts as the server does, which may be a second ahead of what is known here.
        return $seconds > self::RELATIVE ? \intdiv($expiry + 999, 1000) + 2 : $seconds;
    }

    /** Whether it says when the key last changed. */
    public function known(): bool
    {
        return $this->type !== self::NONE;
    }

    /** Whether a record is held (Change::HELD); no such body is so large that it is in parts. */
    public function held(): bool
    {
        return $this->type === self::WHOLE && ($this->body[0] ?? '') === Change::HELD;
    }

    /** Whether there is a record. */
    public function live(): bool
    {
        return $this->type === self::WHOLE || $this->type === self::PARTS;
    }
}
