<?php

declare(strict_types=1);

namespace Larder\WordPress\Intent;

/**
 * Reads SQL as MySQL and MariaDB do, token by token, and as far as it is asked: comments are passed over, what is
 * executed in spite of being in one is not.
 *
 * By hand: regular expressions have limits, posts have not.
 *
 * @see https://dev.mysql.com/doc/refman/8.4/en/comments.html
 */
final class Lexer
{
    public const WORD = 'w';
    /** In backticks. */
    public const NAME = 'n';
    public const STRING = 's';
    /** Digits only. */
    public const NUMBER = 'd';
    public const OTHER = 'o';
    public const END = '';

    /** One of the above. */
    public string $kind = self::END;

    /** Strings and names without their quotes and escapes, words as they are written. */
    public string $text = '';

    /** Whether what was read stood in a comment that only some versions of the server execute. */
    public bool $conditional = false;

    private int $offset = 0;
    private bool $executed = false;

    public function __construct(private readonly string $sql) {}

    /**
     * False at the end.
     *
     * @phpstan-impure
     */
    public function next(): bool
    {
        $sql = $this->sql;
        while (true) {
            $this->offset += \strspn($sql, " \t\n\r\f\v\0;", $this->offset);
            $char = $sql[$this->offset] ?? '';
            $next = $sql[$this->offset + 1] ?? '';
            if ($char === '/' && $next === '*') {
                $this->comment();
            } elseif ($char === '#' || ($char === '-' && $next === '-' && \ord($sql[$this->offset + 2] ?? ' ') <= 32)) {
                $this->offset += \strcspn($sql, "\n", $this->offset);
            } elseif ($this->executed && $char === '*' && $next === '/') {
                $this->executed = false;
                $this->offset += 2;
            } else {
                break;
            }
        }
        if ($char === '') {
            [$this->kind, $this->text] = [self::END, ''];

            return false;
        }
        if ($char === '\'' || $char === '"') {
            $this->kind = self::STRING;
            $this->text = $this->quoted($char);
        } elseif ($char === '`') {
            $this->kind = self::NAME;
            $this->text = $this->name();
        } else {
            // Also what is not ASCII, and variables.
            \preg_match('/\G(?:[\w$@\x80-\xff]++|[<>=!:&|]++|.)/s', $sql, $match, 0, $this->offset);
            $this->text = $match[0] ?? $char;
            $this->offset += \strlen($this->text);
            $this->kind = match (true) {
                \ctype_digit($this->text) => self::NUMBER,
                \preg_match('/^[\w$@\x80-\xff]/', $this->text) === 1 => self::WORD,
                default => self::OTHER,
            };
        }

        return true;
    }

    /** What has not been read yet. */
    public function rest(): string
    {
        return \substr($this->sql, $this->offset);
    }

    /**
     * Whether this is one of these words, given in capitals.
     *
     * @phpstan-impure
     */
    public function is(string ...$words): bool
    {
        return $this->kind === self::WORD && \in_array(\strtoupper($this->text), $words, true);
    }

    /**
     * Reads on if this is one of these words.
     *
     * @phpstan-impure
     */
    public function skip(string ...$words): bool
    {
        $is = $this->is(...$words);
        if ($is) {
            $this->next();
        }

        return $is;
    }

    /**
     * Reads on up to one of these words, this one included; in parentheses they do not count.
     *
     * @phpstan-impure
     */
    public function find(string ...$words): bool
    {
        $depth = 0;
        do {
            $depth += $this->depth();
            if ($depth === 0 && $this->is(...$words)) {
                return true;
            }
        } while ($this->next());

        return false;
    }

    /** Whether it is this sign, and not a string with nothing else in it. */
    public function at(string $sign): bool
    {
        return $this->kind === self::OTHER && $this->text === $sign;
    }

    /** By how much this goes into parentheses, or out of them. */
    public function depth(): int
    {
        return $this->at('(') ? 1 : ($this->at(')') ? -1 : 0);
    }

    private function comment(): void
    {
        // MariaDB has its own, which MySQL passes over.
        if (\preg_match('~\G/\*(M?)!(\d{5,6})?~', $this->sql, $match, 0, $this->offset) === 1) {
            $this->executed = true;
            $this->conditional = $this->conditional || $match[0] !== '/*!';
            $this->offset += \strlen($match[0]);

            return;
        }
        $end = \strpos($this->sql, '*/', $this->offset + 2);
        $this->offset = $end === false ? \strlen($this->sql) : $end + 2;
    }

    private function quoted(string $quote): string
    {
        $begin = ++$this->offset;
        while (true) {
            $this->offset += \strcspn($this->sql, $quote . '\\', $this->offset);
            $char = $this->sql[$this->offset] ?? '';
            if ($char === '\\' || ($char === $quote && ($this->sql[$this->offset + 1] ?? '') === $quote)) {
                $this->offset += 2;
                continue;
            }
            $text = \substr($this->sql, $begin, $this->offset - $begin);
            $this->offset++;

            // https://dev.mysql.com/doc/refman/8.4/en/string-literals.html table 11.1
            return \strtr($text, [$quote . $quote => $quote, '\\\\' => '\\', '\\\'' => '\'', '\\"' => '"', '\\n' => "\n", '\\r' => "\r", '\\t' => "\t", '\\0' => "\0", '\\Z' => "\x1a"]);
        }
    }

    private function name(): string
    {
        \preg_match('/\G`((?:[^`]++|``)*+)`?/', $this->sql, $match, 0, $this->offset);
        $this->offset += \strlen($match[0] ?? '`');

        return \str_replace('``', '`', $match[1] ?? '');
    }
}
