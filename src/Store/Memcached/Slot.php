<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

/**
 * What the log says about the positions that one writer took at once: `first` to `last`, one entry each.
 *
 * It lies under the key of its last position, put there by "add" before the writer looks at any record, and is
 * settled by CAS afterwards:
 *
 *     (missing) ──add──▶ PENDING ──▶ SETTLED          by its writer
 *         │                 └──▶ FENCED ──▶ SETTLED   by whoever finds that the writer has died (Healer)
 *         └──add──▶ UNKNOWN                           the same, where the writer died before it said what it would do
 *
 *     state 1 | first 8 | last 8 | milliseconds since 1970 8 | entries: kind 1, done 1, length of writer 1, of key 4, writer, key
 */
final class Slot
{
    public const PENDING = 'p';
    public const FENCED = 'f';
    public const SETTLED = 'd';
    public const UNKNOWN = 'u';

    /** Milliseconds after which the writer of a slot that is not settled counts as dead. */
    public const PATIENCE = 5000;

    /** How many positions back the log is known. */
    public const KEPT = 4096;

    /** Seconds after which a slot goes by itself: more than a day of silence is not a history worth keeping. */
    public const LIFE = 86400;

    /**
     * @param list<array{string, string, string, bool}> $entries kind, writer, key, and whether the change was or may
     *                                                           have been made
     */
    public function __construct(
        public readonly string $state,
        public readonly int $first,
        public readonly int $last,
        public readonly int $time,
        public readonly array $entries,
        public readonly string $token = '',
    ) {}

    public static function now(): int
    {
        return (int) (\microtime(true) * 1000);
    }

    /** @param list<array{string, string, string, bool}> $entries */
    public static function encode(string $state, int $first, int $last, int $time, array $entries): string
    {
        $text = $state . \pack('JJJ', $first, $last, $time);
        foreach ($entries as [$kind, $writer, $key, $done]) {
            $text .= ($kind === '' ? ' ' : $kind[0]) . ($done ? 'd' : 'v') . \chr(\strlen($writer)) . \pack('N', \strlen($key)) . $writer . $key;
        }

        return $text;
    }

    /** @param array{string, string} $found value and token */
    public static function decode(array $found): ?self
    {
        [$text, $token] = $found;
        $size = \strlen($text);
        if ($size < 25) {
            return null;
        }
        /** @var array{first: int, last: int, time: int} $n */
        $n = \unpack('Jfirst/Jlast/Jtime', $text, 1);
        $entries = [];
        for ($at = 25; $at + 7 <= $size;) {
            $writer = \ord($text[$at + 2]);
            /** @var array{1: int} $key */
            $key = \unpack('N', $text, $at + 3);
            $entries[] = [$text[$at], \substr($text, $at + 7, $writer), \substr($text, $at + 7 + $writer, $key[1]), $text[$at + 1] === 'd'];
            $at += 7 + $writer + $key[1];
        }

        return new self($text[0], $n['first'], $n['last'], $n['time'], $entries, $token);
    }

    /** Nobody will change anything any more at its positions. */
    public function final(): bool
    {
        return $this->state === self::SETTLED || $this->state === self::UNKNOWN;
    }

    /** A clock that is far ahead counts as well: it would keep the slot open for ever. */
    public function abandoned(): bool
    {
        return !$this->final() && \abs(self::now() - $this->time) > self::PATIENCE;
    }
}
