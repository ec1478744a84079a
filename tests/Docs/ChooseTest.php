<?php

declare(strict_types=1);

namespace Larder\Tests\Docs;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\TestCase;

/**
 * docs/choose.md: every section answers the same, with figures that another page has. Who runs its lines: ExamplesTest those of
 * PHP, the tests of the bridges those of Laravel and Symfony, which their own pages have, and tests/WordPress/ChooseTest.php.
 */
#[CoversNothing]
final class ChooseTest extends TestCase
{
    private const DOCS = __DIR__ . '/../../docs/';

    private const SECTIONS = ['One server', 'Several servers', 'A managed Redis', 'WordPress', 'Laravel', 'Symfony', 'Plain PHP'];
    private const LAST = 'What is kept when';

    private const QUESTIONS = [
        'What must be there?', 'What does it cost a request?', 'What does it promise?', 'What does it not promise?', 'How do I clear it?',
        'How do I see that it works?', 'What if Redis dies?', 'What is lost at a reboot?',
    ];

    /** Seen to fail: a question left out, a section with nothing to type. */
    public function testEachSectionHasLinesAndAnswersEachQuestion(): void
    {
        $sections = self::sections();
        self::assertSame([...self::SECTIONS, self::LAST], \array_keys($sections));
        unset($sections[self::LAST]);
        foreach ($sections as $name => $text) {
            self::assertSame(1, \preg_match('/^```[a-z ]*\n(.*?)^```$/ms', $text, $block), $name);
            self::assertLessThanOrEqual(6, \substr_count($block[1], "\n"), $name);
            \preg_match_all('/^\| (\S.*?\?) \| \S/m', $text, $questions);
            self::assertSame(self::QUESTIONS, $questions[1], $name);
        }
        \preg_match_all('/^\| \[[^]]+\]\(#([a-z-]+)\)/m', (string) \file_get_contents(self::DOCS . 'choose.md'), $links);
        self::assertSame(\array_map(static fn(string $name): string => \strtr(\strtolower($name), ' ', '-'), self::SECTIONS), $links[1]);
    }

    /** Seen to fail: a directory that the web's user cannot make, and a command that is not installed. */
    public function testWhatMustBeThereFirstIsSaidFirst(): void
    {
        $page = (string) \file_get_contents(self::DOCS . 'choose.md');
        self::assertLessThan(\strpos($page, "\n## "), \strpos($page, 'composer require symfony/console'));
        self::assertSame(1, \substr_count($page, 'symfony/console'), 'once');
        $named = 0;
        foreach (self::sections() as $name => $text) {
            \preg_match('/^```[a-z ]*\n(.*?)^```$/ms', $text, $block);
            if (\preg_match('~(?:sqlite|file)://(/[\w/]+?)(?:/larder)?[\'?]~', $block[1] ?? '', $found) === 1) {
                $named++;
                self::assertMatchesRegularExpression('~^\s*First, as root: `install -d -o www-data -g www-data -m 0700 ' . $found[1] . '`~', $text, $name);
            }
        }
        self::assertSame(1, $named);
    }

    /** Seen to fail: another figure. */
    public function testEachFigureStandsInTheBenchmarks(): void
    {
        $benchmarks = (string) \file_get_contents(self::DOCS . 'benchmarks.md');
        \preg_match_all('/\b\d+,\d{3}\b/', (string) \file_get_contents(self::DOCS . 'choose.md'), $figures);
        self::assertGreaterThan(8, \count($figures[0]));
        foreach ($figures[0] as $figure) {
            self::assertMatchesRegularExpression("/(?<![\\d,])$figure(?![\\d,]\\d)/", $benchmarks);
        }
        self::assertStringContainsString('asked the database 15 times without it and never with it', self::sections()['WordPress']);
        self::assertStringContainsString('Without a drop-in the page takes 15 SQL queries in the plain theme and 29 in the usual one, with Larder none.', $benchmarks);
    }

    /** Seen to fail: a line that differs. */
    public function testTheLinesOfTheFrameworksAreThoseOfTheirPages(): void
    {
        foreach (['Laravel', 'Symfony'] as $name) {
            $lines = static fn(string $text): string => \preg_match('/^```\n(.*?)^```$/ms', $text, $block) === 1 ? $block[1] : '';
            self::assertStringContainsString('composer require', $lines(self::sections()[$name]));
            self::assertSame($lines((string) \file_get_contents(self::DOCS . \strtolower($name) . '.md')), $lines(self::sections()[$name]));
        }
    }

    /** @return array<string, string> text by heading */
    private static function sections(): array
    {
        $parts = \preg_split('/^## (.*)$/m', (string) \file_get_contents(self::DOCS . 'choose.md'), flags: \PREG_SPLIT_DELIM_CAPTURE) ?: [];

        return \array_column(\array_chunk(\array_slice($parts, 1), 2), 1, 0);
    }
}
