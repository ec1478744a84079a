<?php

declare(strict_types=1);

namespace Larder\Tests\Docs;

use Larder\Config\InvalidConfiguration;
use Larder\Page\Settings;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\TestCase;

/** The table of options in docs/page-cache.md says what Settings does. */
#[CoversNothing]
final class PageOptionsTest extends TestCase
{
    /** Defaults that the table tells in words, and what Settings takes for them. */
    private const IN_WORDS = [
        'ignoredCookies' => Settings::IGNORED_COOKIES,
        'static' => null,
        'staticLife' => null,
    ];

    public function testItHasEachOptionAndNoOther(): void
    {
        self::assertSame(self::known(), \array_keys(self::documented()));
    }

    public function testItTellsTheDefaults(): void
    {
        foreach (self::documented() as $name => $text) {
            if (!\array_key_exists($name, self::IN_WORDS)) {
                self::assertMatchesRegularExpression("/^`(?:null|true|false|\\d+|'\\w*'|\\[\\])`$/D", $text, $name);
            }
            $default = \array_key_exists($name, self::IN_WORDS) ? self::IN_WORDS[$name] : eval('return ' . \trim($text, '`') . ';');
            // Some options mean nothing without this one.
            $others = $name === 'static' ? [] : ['static' => '/static'];
            self::assertEquals(self::without(Settings::from($others)), self::without(Settings::from([$name => $default] + $others)), $name);
        }
    }

    /** @return array<string, string> the default by name, as the table has it */
    private static function documented(): array
    {
        $page = (string) \file_get_contents(\dirname(__DIR__, 2) . '/docs/page-cache.md');
        $section = \explode("\n## ", \explode("\n## Options\n", $page, 2)[1] ?? '', 2)[0];
        \preg_match_all('/^\| `(\w+)` \| (.*?) \| .+ \|$/m', $section, $rows);
        $documented = \array_combine($rows[1], $rows[2]);
        \ksort($documented);

        return $documented;
    }

    /** @return list<string> */
    private static function known(): array
    {
        try {
            Settings::from(['no such option' => 1]);
        } catch (InvalidConfiguration $wrong) {
            \preg_match_all('/\w+/', \explode(':', $wrong->getMessage(), 2)[1] ?? '', $names);
            $known = $names[0];
            \sort($known);

            return $known;
        }
        self::fail('An unknown option is taken.');
    }

    /** @return array<string, mixed> without what was given */
    private static function without(Settings $settings): array
    {
        return \array_diff_key(\get_object_vars($settings), ['given' => 0]);
    }
}
