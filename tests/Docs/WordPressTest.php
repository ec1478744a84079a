<?php

declare(strict_types=1);

namespace Larder\Tests\Docs;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\TestCase;

/** docs/wordpress.md names what there is in the plugin, and all of it. */
#[CoversNothing]
final class WordPressTest extends TestCase
{
    private const PLUGIN = __DIR__ . '/../../wordpress/src/';

    public function testTheConstants(): void
    {
        $read = ['LARDER_DISABLED'];
        foreach ([...\glob(self::PLUGIN . '*.php') ?: [], ...\glob(self::PLUGIN . 'Page/*.php') ?: []] as $file) {
            $code = (string) \file_get_contents($file);
            \preg_match_all("/self::setting\\('([A-Z]+)'\\)/", $code, $found);
            \preg_match_all("/constant\\('LARDER_([A-Z]+)'\\)/", $code, $constants);
            \array_push($read, ...\array_map(static fn(string $name): string => 'LARDER_' . $name, [...$found[1], ...$constants[1]]));
        }
        self::assertSame(self::sorted($read), self::sorted(self::found('/^\| `(LARDER_[A-Z]+)` \|/m')));
        self::assertSame(self::sorted($read), self::sorted(self::found('/\b(LARDER_[A-Z]+)\b/')));
    }

    public function testTheCommands(): void
    {
        \preg_match('/COMMANDS = \[(.*?)\];/s', (string) \file_get_contents(self::PLUGIN . 'Cli/Command.php'), $list);
        \preg_match_all("/'([a-z]+)' =>/", $list[1] ?? '', $commands);
        self::assertSame(self::sorted($commands[1]), self::sorted(self::found('/^\| `wp larder ([a-z]+)/m')));
        foreach (self::found('/`(--[a-z-]+)[`=]/') as $option) {
            self::assertNotSame([], \preg_grep('/\[' . $option . '\b/', \array_map(\file_get_contents(...), \glob(self::PLUGIN . 'Cli/*.php') ?: [])) ?: ($option === '--allow-root' ? [1] : []), $option);
        }
    }

    public function testTheFindings(): void
    {
        $health = \stripslashes((string) \file_get_contents(self::PLUGIN . 'Health.php'));
        $named = self::found('/^\| ((?:A|Another|It|Larder|The)\b[^|]+) \|/m');
        self::assertGreaterThan(8, \count($named));
        foreach ($named as $label) {
            self::assertStringContainsString("'$label'", $health);
        }
        \preg_match_all("/'(?:critical|recommended)',\\s+__\\('([^\\n]+?)', 'larder'\\)/", \str_replace('\\__', '__', $health), $findings);
        self::assertGreaterThan(5, \count($findings[1]));
        self::assertSame([], \array_diff($findings[1], $named), 'All that can be wrong is in the table.');
    }

    public function testTheRuleForNginx(): void
    {
        self::assertSame(self::found('/^(location .*)$/m'), self::found("/'(location [^']*)'/", self::PLUGIN . 'Health.php'));
    }

    /** @return list<string> what a pattern finds */
    private static function found(string $pattern, string $file = __DIR__ . '/../../docs/wordpress.md'): array
    {
        \preg_match_all($pattern, (string) \file_get_contents($file), $found);

        return $found[1];
    }

    /**
     * @param list<string> $names
     *
     * @return list<string>
     */
    private static function sorted(array $names): array
    {
        $names = \array_values(\array_unique($names));
        \sort($names);

        return $names;
    }
}
