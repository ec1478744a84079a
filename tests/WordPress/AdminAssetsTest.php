<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** What is committed though it is made: the page's script and style, and the translators' texts. */
final class AdminAssetsTest extends TestCase
{
    private const PLUGIN = __DIR__ . '/../../wordpress';

    /** @return iterable<string, array{string}> */
    public static function built(): iterable
    {
        yield 'the script' => ['admin.js'];
        yield 'the style' => ['admin.css'];
    }

    #[DataProvider('built')]
    public function testItWasBuiltFromTheSourcesThatAreHere(string $name): void
    {
        $names = \preg_grep('/\.(m?js|json|css)$/', \scandir(self::PLUGIN . '/assets/source') ?: []) ?: [];
        \sort($names, \SORT_STRING);
        $sources = \implode("\n", \array_map(static fn(string $name): string => "$name\n" . self::read("assets/source/$name"), $names));

        [$first, $rest] = \explode("\n", self::read("assets/$name"), 2);

        self::assertGreaterThan(6, \count($names));
        self::assertSame(1, \preg_match('~^/\* sources sha256 ([0-9a-f]{64}), what follows sha256 ([0-9a-f]{64});~', $first, $hashes));
        self::assertSame(\hash('sha256', $sources), $hashes[1], 'wordpress/assets/source/ was changed: npm ci --ignore-scripts && npm run build there, and commit what it made.');
        self::assertSame(\hash('sha256', $rest), $hashes[2], "wordpress/assets/$name was changed by hand: change source/ and build it.");
    }

    #[DataProvider('built')]
    public function testItSaysWhoseItIsAndAsksForNothing(string $name): void
    {
        $text = self::read("assets/$name");

        foreach (['uPlot 1.', 'The MIT License', 'Copyright (c) 2022 Leon Sorokin', 'shall be included in'] as $part) {
            self::assertStringContainsString($part, \substr($text, 0, 3000));
        }
        self::assertLessThan(80_000, \strlen($text));
        self::assertDoesNotMatchRegularExpression('~https?://|@import|url\(|\beval\(|new Function|\bfetch\(|XMLHttpRequest~', (string) \substr($text, 3000));
    }

    public function testTheTranslatorsHaveEveryText(): void
    {
        $texts = \preg_match_all('/^(?:msgid|msgid_plural) "(.*)"$/m', self::read('languages/larder.pot'), $match) > 0 ? \array_flip(\array_map(\stripcslashes(...), $match[1])) : [];
        $missing = [];
        $count = 0;
        foreach (new \RecursiveIteratorIterator(new \RecursiveDirectoryIterator(self::PLUGIN . '/src', \FilesystemIterator::SKIP_DOTS)) as $file) {
            // With the domain behind it, which WordPress's own texts have not.
            \preg_match_all("/\\b(?:__|esc_html__|esc_attr__|_n|_x)\\(\\s*'((?:[^'\\\\]|\\\\.)*)',[^;]*?'larder'/s", (string) \file_get_contents((string) $file), $match);
            foreach ($match[1] as $text) {
                $count++;
                $text = \strtr($text, ["\\'" => "'", '\\\\' => '\\']);
                isset($texts[$text]) || $missing[] = $text;
            }
        }

        self::assertGreaterThan(80, $count);
        self::assertSame([], $missing, 'A text was added or changed: wordpress/pot, and commit what it made.');
    }

    private static function read(string $name): string
    {
        return \str_replace("\r\n", "\n", (string) \file_get_contents(self::PLUGIN . '/' . $name));
    }
}
