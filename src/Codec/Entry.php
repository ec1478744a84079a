<?php

declare(strict_types=1);

namespace Larder\Codec;

/**
 * An encoded value, with everything needed to tell whether it is still valid.
 *
 * The first byte of a record's body tells its kind:
 *
 *     v | created 8 | payload                                            a value without conditions
 *     w | created 8 | expiry 8 | soft 8 | sure 8 | n 2 | n x (length 2, tag) | payload
 *     W the same with length 4, if any tag has more than 65,535 bytes (its group's name is a part of it)
 *     d deleted      x dropped (by the table of conflicts)      m marker (a flush or a tag's invalidation)
 *     c marker made anew because the store may have lost it
 *     i intents, see Intent      l lease, see System\ProcessId
 *
 * All times are milliseconds by the truth tier's clock (Truth::now()), big-endian; 0 means none.
 */
final class Entry
{
    public const DELETED = 'd';
    public const DROPPED = 'x';
    public const MARKER = 'm';
    /** A marker made anew because the store may have lost it: not a flush, but what it covers counts as flushed. */
    public const MADE = 'c';
    public const INTENT = 'i';

    /** Milliseconds that a value of bounded life lives, and that it may still be served while one reader renews it. */
    public const BOUNDED_LIFE = 2000;

    /** Bytes before the payload of a value without conditions. */
    public const PLAIN = 9;

    /** Bytes before the tags of a value with conditions. */
    private const HEAD = 35;

    /** Soft expiry, end of bounded life and number of tags, of a value that has none of them. */
    private const UNCONDITIONAL = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

    /** Milliseconds that the clocks of two servers may differ before an entry "from the future" counts as expired. */
    public const SKEW = 60000;

    /**
     * Result of Codec::encode(). No code changes this property or those below, which are plain ones for the reason that
     * Store\Record gives.
     */
    public string $payload = '';

    public int $created = 0;

    public int $expiry = 0;

    public int $soft = 0;

    /**
     * The time at which a bounded life ends; 0: the value has none.
     */
    public int $sure = 0;

    /**
     * @var list<string> full marker keys
     */
    public array $tags = [];

    /** The decoded value, if the entry comes from the segment, whose entries have no payload. */
    public mixed $value = null;
    public bool $isHeld = false;

    /**
     * An array as the application passed it, so that the segment need not decode the payload. Only during the call that stores
     * it: later the application may change it through references.
     *
     * @var ?array<mixed>
     */
    public ?array $given = null;

    /** @param list<string> $tags */
    public function __construct(string $payload, int $created, int $expiry = 0, int $soft = 0, int $sure = 0, array $tags = [])
    {
        $this->payload = $payload;
        $this->created = $created;
        $this->expiry = $expiry;
        $this->soft = $soft;
        $this->sure = $sure;
        $this->tags = $tags;
    }

    /**
     * @param int          $now  by the truth tier's clock
     * @param int          $ttl  seconds; 0: no expiry
     * @param int          $soft seconds; 0: no soft expiry
     * @param list<string> $tags full marker keys
     */
    public static function make(string $payload, int $now, int $ttl, int $soft, array $tags): self
    {
        $entry = new self($payload, $now);
        if ($ttl !== 0) {
            $entry->expiry = self::after($now, $ttl);
        }
        if ($soft !== 0) {
            $entry->soft = self::after($now, $soft);
        }
        $entry->tags = $tags;

        return $entry;
    }

    /** @param list<string> $tags full marker keys */
    public static function held(mixed $value, int $created = 0, int $expiry = 0, int $soft = 0, int $sure = 0, array $tags = []): self
    {
        $entry = new self('', $created, $expiry, $soft, $sure, $tags);
        $entry->value = $value;
        $entry->isHeld = true;

        return $entry;
    }

    /** The time in milliseconds so many seconds after now, 1 at least; 0, no expiry, if it does not fit into 64 bits. */
    private static function after(int $now, int $seconds): int
    {
        return $seconds > 9000000000000 ? 0 : \max(1, $now + \max($seconds, -9000000000000) * 1000);
    }

    public function body(): string
    {
        if ($this->soft === 0 && $this->sure === 0 && $this->tags === []) {
            return $this->expiry === 0
                ? 'v' . \pack('J', $this->created) . $this->payload
                : 'w' . \pack('JJ', $this->created, $this->expiry) . self::UNCONDITIONAL . $this->payload;
        }
        $tags = '';
        $isWide = false;
        foreach ($this->tags as $tag) {
            $isWide = $isWide || \strlen($tag) > 0xFFFF;
        }
        foreach ($this->tags as $tag) {
            $tags .= \pack($isWide ? 'N' : 'n', \strlen($tag)) . $tag;
        }

        return ($isWide ? 'W' : 'w') . \pack('JJJJn', $this->created, $this->expiry, $this->soft, $this->sure, \count($this->tags))
            . $tags . $this->payload;
    }

    /** Whether a body is a value without conditions: only a change of its key or a flush ends it. */
    public static function isPlain(string $body): bool
    {
        return isset($body[self::PLAIN]) && $body[0] === 'v';
    }

    /**
     * Where the payload begins in the body of a value that has an expiry and no other condition.
     *
     * @param int $left   set to the milliseconds until it expires
     * @param int $offset where the body begins
     *
     * @return int 0: it has expired, or is no such body
     */
    public static function timed(string $body, int $now, int &$left, int $offset = 0): int
    {
        if (!isset($body[$offset + self::HEAD]) || $body[$offset] !== 'w' || \substr_compare($body, self::UNCONDITIONAL, $offset + 17, 18) !== 0) {
            return 0;
        }
        /** @var array{1: int, 2: int} $times */
        $times = \unpack('J2', $body, $offset + 1);
        $left = $times[2] - $now;

        return $left <= 0 || $now < $times[1] - self::SKEW ? 0 : $offset + self::HEAD;
    }

    /** Null: the bytes are not a value, or are damaged. */
    public static function fromBody(string $body): ?self
    {
        $kind = $body[0] ?? '';
        if ($kind === 'v' && isset($body[self::PLAIN])) {
            /** @var array{1: int} $head */
            $head = \unpack('J', $body, 1);

            return new self(\substr($body, self::PLAIN), $head[1]);
        }
        if (($kind !== 'w' && $kind !== 'W') || \strlen($body) < 36) {
            return null;
        }
        /** @var array{created: int, expiry: int, soft: int, sure: int} $head */
        $head = \unpack('Jcreated/Jexpiry/Jsoft/Jsure', $body, 1);
        $offset = 0;
        $tags = self::tagsOf($body, $offset);
        if ($tags === null) {
            return null;
        }
        $payload = \substr($body, $offset);

        return $payload === ''
            ? null
            : new self($payload, $head['created'], $head['expiry'], $head['soft'], $head['sure'], $tags);
    }

    /**
     * The tags in a body, without the rest.
     *
     * @param int $offset where the body begins; set to where its payload does
     *
     * @return ?list<string> full marker keys; null: the body is damaged
     */
    public static function tagsOf(string $body, int &$offset): ?array
    {
        $at = $offset + self::HEAD;
        $kind = $body[$offset] ?? '';
        if (($kind !== 'w' && $kind !== 'W') || \strlen($body) < $at) {
            return [];
        }
        $size = $kind === 'w' ? 2 : 4;
        $tags = [];
        for ($count = (\ord($body[$at - 2]) << 8) | \ord($body[$at - 1]); $count > 0; $count--) {
            if (\strlen($body) < $at + $size) {
                return null;
            }
            $length = 0;
            for ($end = $at + $size; $at < $end; $at++) {
                $length = ($length << 8) | \ord($body[$at]);
            }
            $tags[] = \substr($body, $at, $length);
            $at += $length;
        }
        $offset = $at;

        return $tags;
    }

    /** Whether the entry has expired, or was made in a future that a clock set back has not reached yet. */
    public function expired(int $now): bool
    {
        return $this->expiry !== 0 && ($now >= $this->expiry || $now < $this->created - self::SKEW);
    }

    /** Whether a bounded life has ended; a clock that was set back ends it too. */
    public function outlived(int $now): bool
    {
        return $this->sure !== 0 && ($now >= $this->sure || $now < $this->created - 1000);
    }

    /** Whether even the time has ended in which a value of bounded life is still served while one reader renews it. */
    public function over(int $now): bool
    {
        return $this->sure !== 0 && ($now >= $this->sure + self::BOUNDED_LIFE || $now < $this->created - 1000);
    }

    public function stale(int $now): bool
    {
        return $this->soft !== 0 && $now >= $this->soft;
    }

    public function bounded(int $now): self
    {
        return new self($this->payload, $now, $this->expiry, $this->soft, $now + self::BOUNDED_LIFE, $this->tags);
    }

    public function with(string $payload): self
    {
        return new self($payload, $this->created, $this->expiry, $this->soft, $this->sure, $this->tags);
    }

    /** @param int $ttl seconds from now; 0: no expiry */
    public function lasting(int $now, int $ttl): self
    {
        return new self($this->payload, $this->created, $ttl === 0 ? 0 : self::after($now, $ttl), $this->soft, $this->sure, $this->tags);
    }

    /** The earliest of its expiry, soft expiry and end of bounded life; 0: it has none of them. */
    public function until(): int
    {
        $until = $this->expiry;
        foreach ([$this->soft, $this->sure] as $time) {
            if ($time !== 0 && ($until === 0 || $time < $until)) {
                $until = $time;
            }
        }

        return $until;
    }
}
