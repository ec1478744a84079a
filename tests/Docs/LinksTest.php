<?php

declare(strict_types=1);

namespace Larder\Tests\Docs;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** Whatever a page of the docs links to or shows is there, headings included. */
#[CoversNothing]
final class LinksTest extends TestCase
{
    private const ROOT = __DIR__ . '/../..';

    /** Files that a build makes. */
    private const BUILT = ['ext/modules/larder.so'];

    /** @return iterable<string, array{string}> */
    public static function pages(): iterable
    {
        foreach ([self::ROOT . '/README.md', ...(\glob(self::ROOT . '/docs/*.md') ?: [])] as $page) {
            yield \basename($page) => [$page];
        }
    }

    #[DataProvider('pages')]
    public function testLinksLeadSomewhere(string $page): void
    {
        \preg_match_all('/\]\(([^)\s]+)\)/', self::withoutCode($page), $found);
        foreach ($found[1] as $link) {
            if (\preg_match('~^[a-z]+:~', $link) === 1) {
                self::assertStringStartsWith('https://', $link);
                continue;
            }
            [$file, $heading] = \explode('#', $link, 2) + [1 => ''];
            $target = $file === '' ? $page : \dirname($page) . "/$file";
            self::assertFileExists($target, "$link in $page");
            if ($heading !== '') {
                self::assertContains($heading, self::headings($target), "$link in $page");
            }
        }
        self::assertNotSame('', \trim((string) \file_get_contents($page)));
    }

    /** A page that shows where something is must not send its reader to a file that was renamed. */
    #[DataProvider('pages')]
    public function testNamedFilesExist(string $page): void
    {
        \preg_match_all('~`((?:src|tests|lab|ext|bench|wordpress)/[\w./-]+)`~', self::withoutCode($page), $found);
        foreach (\array_diff(\array_unique($found[1]), self::BUILT) as $file) {
            self::assertFileExists(self::ROOT . "/$file", "$file in $page");
        }
        self::assertNotSame('', \trim((string) \file_get_contents($page)));
    }

    private static function withoutCode(string $page): string
    {
        return (string) \preg_replace('/^ *```.*?^ *```$/ms', '', (string) \file_get_contents($page));
    }

    /** @return list<string> as GitHub makes them into anchors */
    private static function headings(string $page): array
    {
        \preg_match_all('/^#+ +(.+)$/m', self::withoutCode($page), $found);

        return \array_map(
            static fn(string $heading): string => \str_replace(' ', '-', (string) \preg_replace('/[^\w\- ]/u', '', \mb_strtolower($heading))),
            $found[1],
        );
    }
}
