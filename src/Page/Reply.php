<?php

declare(strict_types=1);

namespace Larder\Page;

/** A response, from the application or to the visitor: status, lines of the header, body. */
final readonly class Reply
{
    /** Between two hops only (RFC 9110, section 7.6.1), or made anew for each reply. Status is CGI's (RFC 3875, section 6.3.3). */
    private const NOT_KEPT = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'proxy-authenticate', 'proxy-authentication-info', 'content-length', 'age', 'etag', 'cache-status', 'status'];

    /** A request field that the site itself may set before the page cache, by what it takes the visitor's device for. */
    public const DEVICE = 'X-Larder-Device';

    /** A life that is for this cache alone (RFC 9213). */
    private const OURS = 'larder-cache-control';

    /**
     * @param list<string> $lines  "Name: value"
     * @param list<string> $beside what PHP itself sends with this response: it counts, and is not stored
     */
    public function __construct(public int $status, public array $lines, public string $body = '', public array $beside = []) {}

    /** @return array<string, list<string>> the values by name in small letters */
    public function fields(): array
    {
        $fields = [];
        foreach ([...$this->lines, ...$this->beside] as $line) {
            [$name, $value] = \explode(':', $line, 2) + [1 => ''];
            $fields[\strtolower(\trim($name))][] = \trim($value, " \t");
        }

        return $fields;
    }

    /**
     * @param list<string> $lines
     * @param list<string> $names in small letters
     *
     * @return list<string> the lines of all other names
     */
    public static function without(array $lines, array $names): array
    {
        return \array_values(\array_filter($lines, static fn(string $line): bool => !\in_array(self::name($line), $names, true)));
    }

    /** @return list<string> the lines that a stored response keeps (RFC 9111, section 3.1) */
    public function kept(): array
    {
        $listed = Policy::members($this->fields()['connection'] ?? []);
        // Caches behind this one vary the stored response too.
        $vary = \array_filter($this->beside, static fn(string $line): bool => self::name($line) === 'vary');

        return self::without([...$this->lines, ...$vary], [...self::NOT_KEPT, ...$listed]);
    }

    /**
     * The header as everybody behind this cache gets it: they cannot read a field of ours, nor vary by one.
     *
     * @param list<string> $lines
     *
     * @return list<string>
     */
    public static function outward(array $lines): array
    {
        return \array_map(
            static fn(string $line): string => self::name($line) === 'vary' ? (string) \preg_replace('/(?<![\w-])' . self::DEVICE . '(?![\w-])/i', 'User-Agent', $line) : $line,
            self::without($lines, [self::OURS]),
        );
    }

    public static function name(string $line): string
    {
        return \strtolower(\substr($line, 0, (int) \strpos($line, ':')));
    }
}
