<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

/**
 * The journal's entries for the positions that one writer took at once: `first` to `last`, one entry each.
 *
 * A slot lies under the key of its last position. The writer adds it before it reads any record, and settles it by CAS
 * afterwards:
 *
 *     (missing) ──add──▶ PENDING ──▶ SETTLED          by its writer
 *         │                 └──▶ FENCED ──▶ SETTLED   by a process that finds the writer dead (Healer)
 *         └──add──▶ UNKNOWN                           the same, if the writer died before it added its slot
 *                      └──▶ SETTLED                   by its writer, if it was only slow: it has changed nothing
 *
 *     state 1 | first 8 | last 8 | milliseconds since 1970 8 | entries: kind 1, done 1, length of writer 1, of key 4, writer, key
 *
 * The time is by the writer's clock, and nothing relies on it: see Healer. The kind of an atomic change is in capitals.
 * So is the state of a slot that was added at a guessed position: see JournaledWrite.
 */
final class Slot
{
    public const PENDING = 'p';
    public const FENCED = 'f';
    public const SETTLED = 'd';
    public const UNKNOWN = 'u';

    /** PENDING at a position that may be another writer's. */
    public const GUESSED = 'P';

    /** Milliseconds after which the writer of an unsettled slot may be dead. */
    private const YOUNG = 100;

    /** Milliseconds for which an UNKNOWN slot's writer is waited for. */
    private const DOUBT = 1000;

    /** Positions that the journal reaches back. */
    public const KEPT = 4096;

    /** Seconds after which a slot expires: after a day without changes the history is not worth keeping. */
    public const LIFE = 86400;

    /**
     * @param list<array{string, string, string, bool, bool}> $entries kind, writer, key, whether the change was or may
     *                                                                 have been made, whether it is atomic
     */
    public function __construct(
        public readonly string $state,
        public readonly int $first,
        public readonly int $last,
        public readonly int $time,
        public readonly array $entries,
        public readonly string $token = '',
        /** True: the position may be another writer's, of whose change nothing is known. */
        public readonly bool $guessed = false,
    ) {}

    public static function now(): int
    {
        return (int) (\microtime(true) * 1000);
    }

    /** @param list<array{string, string, string, bool, bool}> $entries */
    public static function encode(string $state, int $first, int $last, int $time, array $entries): string
    {
        $text = $state . \pack('JJJ', $first, $last, $time);
        foreach ($entries as [$kind, $writer, $key, $done, $atomic]) {
            $text .= ($kind === '' ? ' ' : ($atomic ? \strtoupper($kind[0]) : $kind[0])) . ($done ? 'd' : 'v') . \chr(\strlen($writer)) . \pack('N', \strlen($key)) . $writer . $key;
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
            $kind = \strtolower($text[$at]);
            $entries[] = [
                $kind,
                \substr($text, $at + 7, $writer),
                \substr($text, $at + 7 + $writer, $key[1]),
                $text[$at + 1] === 'd',
                $kind !== $text[$at],
            ];
            $at += 7 + $writer + $key[1];
        }

        $state = \strtolower($text[0]);

        return new self($state, $n['first'], $n['last'], $n['time'], $entries, $token, $state !== $text[0]);
    }

    /** Whether no change will be made any more at its positions (an UNKNOWN slot's writer can only say that it made none). */
    public function final(): bool
    {
        return $this->state === self::SETTLED || $this->state === self::UNKNOWN;
    }

    /** Whether it was given up so short a time ago that its writer, if it is only slow, may yet say that it changed nothing. */
    public function doubtful(): bool
    {
        return $this->state === self::UNKNOWN && \abs(self::now() - $this->time) < self::DOUBT;
    }

    /** Whether its writer may be dead. Judged by the writer's clock, so it only saves the healer a check. */
    public function suspect(): bool
    {
        return !$this->final() && \abs(self::now() - $this->time) > self::YOUNG;
    }
}
