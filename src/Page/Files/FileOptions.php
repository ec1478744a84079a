<?php

declare(strict_types=1);

namespace Larder\Page\Files;

use Larder\Config\InvalidConfiguration;

/** The options of the files that a web server serves, checked. */
final readonly class FileOptions
{
    /** What path() takes, in words. */
    public const PATH = 'the whole path of a directory, of letters, digits and any of "_ . + @ -"';

    /**
     * @param string       $directory whose files the web server serves
     * @param ?int         $life      seconds that a file is served without PHP; null: 60 with a far truth tier, else the page's life
     * @param list<string> $headers   what else the web server sends with each page: "Name: value", or "Name": it may leave that out
     * @param int          $budget    bytes of all files
     */
    private function __construct(
        public string $directory,
        public ?int $life,
        public array $headers,
        public int $budget,
    ) {}

    /**
     * @param array<array-key, mixed> $options of the page cache
     * @param int                     $budget  bytes
     *
     * @return ?self null: no files are wanted
     *
     * @throws InvalidConfiguration
     */
    public static function from(array $options, int $budget): ?self
    {
        $life = $options['staticLife'] ?? null;
        if ($life !== null && (!\is_int($life) || $life < 1)) {
            throw InvalidConfiguration::number('staticLife', $life, 1, \PHP_INT_MAX, '600');
        }
        $headers = $options['staticHeaders'] ?? [];
        $lines = \is_array($headers) ? \array_values(\array_filter($headers, static fn(mixed $line): bool => \is_string($line) && \preg_match('/^[\w-]+(?:: [\x21-\x7E][\x20-\x7E]*)?$/D', $line) === 1)) : [];
        if (!\is_array($headers) || \count($lines) !== \count($headers)) {
            throw InvalidConfiguration::wrongType('staticHeaders', 'a list of "Name: value", and of names alone that the web server may leave out', $headers);
        }
        $directory = $options['static'] ?? null;
        if ($directory === null) {
            return null;
        }
        $path = \is_string($directory) ? self::path($directory) : null;

        return $path === null ? throw InvalidConfiguration::wrongType('static', self::PATH, $directory) : new self($path, $life, $lines, $budget);
    }

    /** A directory's path as it may stand in a configuration; null: it may not. */
    public static function path(string $path): ?string
    {
        return \preg_match('~^(?:/[\w.+@-]+)+/?$~D', $path) === 1 && \preg_match('~/\.\.?(?:/|$)~', $path) !== 1 ? \rtrim($path, '/') : null;
    }

    /** @return list<string> "Name: value" that the web server sends with each page */
    public function sent(): array
    {
        return \array_values(\array_filter($this->headers, static fn(string $header): bool => \str_contains($header, ':')));
    }
}
