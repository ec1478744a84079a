<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\TestCase;

/** What is committed though it is made: the translators' texts. */
final class AdminTextsTest extends TestCase
{
    private const PLUGIN = __DIR__ . '/../../wordpress';

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
