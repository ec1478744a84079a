<?php

declare(strict_types=1);

namespace Larder\Page\Http;

/**
 * Which parts of a query a response does not depend on (No-Vary-Search, draft-ietf-httpbis-no-vary-search).
 *
 * Names and values are compared decoded, as a form's (URL Standard, application/x-www-form-urlencoded). PHP knows more
 * spellings of a name: what it may take for a parameter that matters, matters too.
 */
final readonly class NoVarySearch
{
    /**
     * @param bool         $isUnordered the order of parameters with different names does not matter
     * @param list<string> $names       that do not matter; or, with $isAllBut, the only ones that matter
     */
    private function __construct(private bool $isUnordered, private bool $isAllBut, private array $names) {}

    /** @param list<string> $lines of the field; null: it is absent, malformed, or says nothing, so all of a query matters */
    public static function parse(array $lines): ?self
    {
        $members = $lines === [] ? null : StructuredField::dictionary(\implode(', ', $lines));
        if ($members === null) {
            return null;
        }
        $order = $members['key-order'][0] ?? false;
        $params = $members['params'][0] ?? false;
        $except = $members['except'][0] ?? null;
        $names = \is_array($params) ? self::strings($params) : [];
        $spared = $except === null ? [] : self::strings($except);
        if (!\is_bool($order) || $names === null || $spared === null || (!\is_array($params) && !\is_bool($params)) || ($except !== null && $params !== true)) {
            return null;
        }
        $rule = new self($order, $params === true, $params === true ? $spared : $names);

        return $rule->isUnordered || $rule->isAllBut || $rule->names !== [] ? $rule : null;
    }

    /** @param list<string> $names of parameters that do not matter */
    public static function field(array $names): string
    {
        return 'params=(' . \implode(' ', \array_map(static fn(string $name): string => '"' . \addcslashes($name, '"\\') . '"', $names)) . ')';
    }

    /** The rule as text, the same for rules that are the same. */
    public function text(): string
    {
        return \json_encode([$this->isUnordered, $this->isAllBut, $this->names], \JSON_THROW_ON_ERROR | \JSON_INVALID_UTF8_SUBSTITUTE);
    }

    public static function fromText(string $text): ?self
    {
        $parts = \json_decode($text, true);

        return \is_array($parts) && isset($parts[0], $parts[1], $parts[2]) && \is_bool($parts[0]) && \is_bool($parts[1]) && \is_array($parts[2])
            ? new self($parts[0], $parts[1], \array_values(\array_filter($parts[2], \is_string(...)))) : null;
    }

    /** The same text for all URLs that are the same by this rule, and different from any URL. */
    public function url(string $url): string
    {
        [$path, $query] = \explode('?', $url, 2) + [1 => ''];

        return "$path?" . $this->essence($query) . "\nsearch " . $this->text();
    }

    /** What of a query matters, the same for queries that ask for the same. */
    private function essence(string $query): string
    {
        $left = [];
        $spared = $this->isAllBut ? self::inPhp(\implode('&', \array_map(\rawurlencode(...), $this->names))) : [];
        foreach (\explode('&', $query) as $part) {
            if ($part === '') {
                continue;
            }
            [$name, $value] = \array_map(\urldecode(...), \explode('=', $part, 2) + [1 => '']);
            $inPhp = self::inPhp($part);
            if (\in_array($name, $this->names, true) === $this->isAllBut || \array_intersect($inPhp, $spared) !== []) {
                $left[] = [$name, $value, $inPhp];
            }
        }
        if ($this->isUnordered) {
            // Stable: parameters of the same name keep their order.
            \usort($left, static fn(array $one, array $other): int => $one[2] <=> $other[2]);
        }

        return \implode('&', \array_map(static fn(array $pair): string => \rawurlencode($pair[0]) . '=' . \rawurlencode($pair[1]), $left));
    }

    /** @return list<string> the names that PHP makes of a query's: "a.b", "a b" and "a[b" are a_b, and "a[b]" is a */
    private static function inPhp(string $query): array
    {
        \parse_str($query, $parameters);

        return \array_map(\strval(...), \array_keys($parameters));
    }

    /** @return ?list<string> */
    private static function strings(mixed $list): ?array
    {
        $strings = [];
        foreach (\is_array($list) ? $list : [null] as $item) {
            if (!\is_array($item) || !\is_string($item[0] ?? null)) {
                return null;
            }
            $strings[] = $item[0];
        }

        return $strings;
    }
}
