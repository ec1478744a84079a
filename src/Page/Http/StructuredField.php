<?php

declare(strict_types=1);

namespace Larder\Page\Http;

/**
 * Parses structured fields of HTTP (RFC 9651, section 4.2). A field with any error is null as a whole, without guessing.
 *
 * An item is [value, parameters]. Values: Integers and Dates (int), Decimals (float), Strings, Byte Sequences and Display
 * Strings (string), Booleans (bool), Tokens (Token). An inner list is [list of items, parameters].
 *
 * @phpstan-type Bare int|float|string|bool|Token
 * @phpstan-type Item array{Bare, array<string, Bare>}
 * @phpstan-type Member array{Bare|list<Item>, array<string, Bare>}
 */
final class StructuredField
{
    private int $at = 0;

    private function __construct(private readonly string $text) {}

    /**
     * @param string $value of the field; several lines of it are joined with commas before
     *
     * @return ?array<string, Member> by key
     */
    public static function dictionary(string $value): ?array
    {
        return self::parse($value, static function (self $field): array {
            $members = [];
            $field->each(static function () use ($field, &$members): void {
                $key = $field->key();
                // A key that comes again overwrites the one before (section 4.2.2).
                $members[$key] = $field->takes('=') ? $field->member() : [true, $field->parameters()];
            });

            return $members;
        });
    }

    /** @return ?list<Member> */
    public static function list(string $value): ?array
    {
        return self::parse($value, static function (self $field): array {
            $members = [];
            $field->each(static function () use ($field, &$members): void {
                $members[] = $field->member();
            });

            return $members;
        });
    }

    /** @return ?Item */
    public static function item(string $value): ?array
    {
        return self::parse($value, static fn(self $field): array => $field->single());
    }

    /**
     * @template T
     *
     * @param \Closure(self): T $work
     *
     * @return ?T
     */
    private static function parse(string $value, \Closure $work): mixed
    {
        $field = new self($value);
        try {
            $field->skip(' ');
            $result = $work($field);
            $field->skip(' ');

            return $field->at === \strlen($value) ? $result : null;
        } catch (Malformed) {
            return null;
        }
    }

    /** Members between commas (sections 4.2.1 and 4.2.2). */
    private function each(\Closure $member): void
    {
        while ($this->at < \strlen($this->text)) {
            $member();
            $this->skip(" \t");
            if ($this->at === \strlen($this->text)) {
                return;
            }
            $this->must(',');
            $this->skip(" \t");
            $this->at < \strlen($this->text) || throw new Malformed();
        }
    }

    /** @return Member */
    private function member(): array
    {
        if (!$this->takes('(')) {
            return $this->single();
        }
        $items = [];
        while (true) {
            $this->skip(' ');
            if ($this->takes(')')) {
                return [$items, $this->parameters()];
            }
            $items[] = $this->single();
            $next = $this->next();
            $next === ' ' || $next === ')' || throw new Malformed();
        }
    }

    /** @return Item */
    private function single(): array
    {
        return [$this->bare(), $this->parameters()];
    }

    /** @return array<string, Bare> */
    private function parameters(): array
    {
        $parameters = [];
        while ($this->takes(';')) {
            $this->skip(' ');
            $key = $this->key();
            $parameters[$key] = $this->takes('=') ? $this->bare() : true;
        }

        return $parameters;
    }

    private function key(): string
    {
        return $this->match('/[a-z*][a-z0-9_.*-]*/A')[0];
    }

    /** @return Bare */
    private function bare(): int|float|string|bool|Token
    {
        switch ($this->next()) {
            case '"':
                return \stripslashes($this->match('/"((?:[\x20\x21\x23-\x5B\x5D-\x7E]|\\\\["\\\\])*)"/A')[1]);
            case '?':
                return $this->match('/\?([01])/A')[1] === '1';
            case ':':
                $bytes = \base64_decode($this->match('/:([A-Za-z0-9+\/]*={0,2}):/A')[1], true);

                return $bytes === false ? throw new Malformed() : $bytes;
            case '@':
                $this->at++;
                $time = $this->number();

                return \is_int($time) ? $time : throw new Malformed();
            case '%':
                return $this->display();
            default:
                $next = $this->next();
                if ($next === '-' || \preg_match('/^\d+$/D', $next) === 1) {
                    return $this->number();
                }

                return new Token($this->match('/[A-Za-z*][!#$%&\'*+.^_`|~:\/0-9A-Za-z-]*/A')[0]);
        }
    }

    private function number(): int|float
    {
        $found = $this->match('/-?(\d{1,15})(?:\.(\d{1,3})(?!\d))?(?![\d.])/A');
        if (!isset($found[2])) {
            return (int) $found[0];
        }

        return \strlen($found[1]) > 12 ? throw new Malformed() : (float) $found[0];
    }

    private function display(): string
    {
        $text = $this->match('/%"((?:[\x20\x21\x23\x24\x26-\x7E]|%[0-9a-f]{2})*)"/A')[1];
        $text = (string) \preg_replace_callback('/%([0-9a-f]{2})/', static fn(array $byte): string => \chr((int) \hexdec($byte[1])), $text);

        return \preg_match('//u', $text) === 1 ? $text : throw new Malformed();
    }

    private function next(): string
    {
        return $this->text[$this->at] ?? '';
    }

    private function takes(string $character): bool
    {
        if ($this->next() !== $character) {
            return false;
        }
        $this->at++;

        return true;
    }

    private function must(string $character): void
    {
        $this->takes($character) || throw new Malformed();
    }

    private function skip(string $characters): void
    {
        $this->at += \strspn($this->text, $characters, $this->at);
    }

    /** @return non-empty-list<string> */
    private function match(string $pattern): array
    {
        if (\preg_match($pattern, $this->text, $found, 0, $this->at) !== 1) {
            throw new Malformed();
        }
        $this->at += \strlen($found[0]);

        return $found === [] ? [''] : \array_values($found);
    }
}
