<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/** One cached key of the experiment: where it lies, what it is computed from, and in what form its value is stored. */
final class Item
{
    public const SHORT = 0;
    public const LONG = 1;
    public const ARRAY = 2;
    public const OBJECT = 3;

    /** @var ?\Closure(): string what a long value holds besides, if each computation may give other bytes */
    public static ?\Closure $filling = null;

    /**
     * @param list<string> $groups the groups it lies in, outermost first
     * @param list<string> $tags
     * @param list<int>    $rows   rows of the database that its value is computed from; no other item has them
     * @param bool         $unique whether each computation gives other bytes
     * @param int          $ttl    seconds; 0: no end
     */
    public function __construct(
        public readonly int $id,
        public readonly array $groups,
        public readonly array $tags,
        public readonly array $rows,
        public readonly int $form,
        public readonly bool $unique,
        public readonly int $ttl,
    ) {}

    public function name(): string
    {
        return 'item-' . $this->id;
    }

    /**
     * What identifies a value in the diaries: `<item>;<row>=<version>,…;<nonce>`.
     *
     * @param array<int, int> $versions by row
     */
    public function text(array $versions): string
    {
        return $this->id . ';' . self::pairs($versions) . ';' . ($this->unique ? \bin2hex(\random_bytes(5)) : '');
    }

    /** @param array<int, int> $versions by row */
    public static function pairs(array $versions): string
    {
        \ksort($versions);
        $pairs = [];
        foreach ($versions as $row => $version) {
            $pairs[] = $row . '=' . $version;
        }

        return \implode(',', $pairs);
    }

    public function value(string $text): mixed
    {
        return match ($this->form) {
            self::LONG => $text . ' ' . ($this->unique && self::$filling !== null ? (self::$filling)() : '') . \str_repeat('larder', 500),
            self::ARRAY => ['text' => $text, 'more' => \range(1, 20)],
            self::OBJECT => (object) ['text' => $text],
            default => $text,
        };
    }

    /** The text of a value that was read; one that was never written where it cannot be understood. */
    public function textOf(mixed $value): string
    {
        $text = match (true) {
            \is_array($value) => $value['text'] ?? null,
            $value instanceof \stdClass => $value->text ?? null,
            \is_string($value) => \explode(' ', $value, 2)[0],
            default => null,
        };

        return \is_string($text) && $text !== '' ? $text : 'not-understood:' . \md5(\serialize($value));
    }

    /** @return array<int, int> version by row */
    public static function versions(string $text): array
    {
        $versions = [];
        foreach (\explode(',', \explode(';', $text)[1] ?? '') as $pair) {
            $parts = \explode('=', $pair);
            if (\count($parts) === 2) {
                $versions[(int) $parts[0]] = (int) $parts[1];
            }
        }

        return $versions;
    }
}
