<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Store\Change;

/**
 * What lies on a server under a record's key.
 *
 *     type 1 | kind 1 | length of writer 1 | length of key 4 | position 8 | writer | key | body
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

    private function __construct(
        public readonly string $type,
        public readonly string $kind,
        public readonly string $writer,
        public readonly int $position,
        public readonly string $key,
        public readonly string $body,
        public readonly string $token,
    ) {}

    public static function encode(string $type, string $kind, string $writer, int $position, string $key, string $body): string
    {
        return $type . ($kind === '' ? ' ' : $kind[0]) . \chr(\strlen($writer))
            . \pack('NJ', \strlen($key), $position) . $writer . $key . $body;
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
                return new self(
                    $value[0],
                    $value[1],
                    \substr($value, 15, $writer),
                    $n['position'],
                    $key,
                    \substr($value, 15 + $writer + $n['key']),
                    $token,
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
     * When the server may remove an item by itself.
     *
     * @param int $expiry milliseconds since 1970, 0 never
     *
     * @return int as memcached takes it: 0 never, up to 30 days the seconds from now, else since 1970 (memcached:
     *             doc/protocol.txt, "Expiration times"); two seconds late, since the two clocks differ, and the
     *             body knows better
     */
    public static function exptime(int $expiry): int
    {
        if ($expiry === 0 || $expiry >= 2_147_483_000_000) {
            return 0;
        }
        $seconds = (int) \ceil($expiry / 1000 - \microtime(true)) + 2;

        return $seconds > 2_592_000 ? \intdiv($expiry, 1000) + 3 : \max(1, $seconds);
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
