<?php

declare(strict_types=1);

namespace Larder\Console\Page;

use Larder\Config\InvalidConfiguration;
use Larder\Page\Pages;
use Larder\Page\Proxies;
use Larder\Page\Settings;
use Larder\Page\Tags;
use Symfony\Component\Console\Exception\InvalidArgumentException;

/**
 * The options of the page cache: those given on the command line, else those with which the web made the last page of the
 * same origin.
 */
final readonly class OwnersOptions
{
    /** @param ?array<array-key, mixed> $given */
    private function __construct(private Pages $pages, private ?array $given) {}

    /**
     * @param ?string $text a JSON object, or the name of a file: with one, or a PHP file that returns an array
     *
     * @throws InvalidArgumentException|InvalidConfiguration
     */
    public static function choose(?string $text, Pages $pages): self
    {
        $given = $text === null ? null : self::read($text);
        // A wrong one is found now and not at the first URL.
        Settings::from($given ?? []);

        return new self($pages, $given);
    }

    /** @return array<array-key, mixed> */
    public function given(): array
    {
        return $this->given ?? [];
    }

    /**
     * @param string $url of a page
     *
     * @return array<array-key, mixed>
     */
    public function for(string $url): array
    {
        return $this->given ?? $this->pages->notes()->options(Tags::origin($url));
    }

    /**
     * Those for a purge that concerns all origins: it tells all their proxies.
     *
     * @return array<array-key, mixed>
     */
    public function everywhere(): array
    {
        if ($this->given !== null) {
            return $this->given;
        }
        $proxies = [];
        foreach ($this->pages->notes()->origins() as $origin) {
            $proxies = [...$proxies, ...Proxies::from($this->pages->notes()->options($origin)['proxies'] ?? [])->addresses];
        }

        return ['proxies' => \array_values(\array_unique($proxies))];
    }

    /** Where they come from, for people. */
    public function origin(string $url): string
    {
        return match (true) {
            $this->given !== null => 'given by --options',
            $this->for($url) === [] => 'the defaults: the web has noted no others for ' . Tags::origin($url),
            default => 'those of the web: ' . \json_encode($this->for($url), \JSON_UNESCAPED_SLASHES | \JSON_UNESCAPED_UNICODE | \JSON_PARTIAL_OUTPUT_ON_ERROR),
        };
    }

    /** @return array<array-key, mixed> */
    private static function read(string $text): array
    {
        if (!\str_starts_with(\ltrim($text), '{')) {
            if (!\is_file($text) || !\is_readable($text)) {
                throw new InvalidArgumentException('"' . $text . '" is no file that can be read. Write --options=\'{"ttl": 60}\', or the name of a file with that, or of a PHP file that returns an array.');
            }
            if (\str_ends_with($text, '.php')) {
                return self::checked((static fn(): mixed => require \realpath($text))(), $text);
            }
            $text = (string) \file_get_contents($text);
        }

        return self::checked(\json_decode($text, true), $text);
    }

    /** @return array<array-key, mixed> */
    private static function checked(mixed $options, string $from): array
    {
        return \is_array($options) ? $options : throw new InvalidArgumentException('No options in "' . $from . '": write --options=\'{"ttl": 60}\', or the name of a file with that, or of a PHP file that returns an array.');
    }
}
