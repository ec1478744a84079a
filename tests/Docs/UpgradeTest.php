<?php

declare(strict_types=1);

namespace Larder\Tests\Docs;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\TestCase;

/** What docs/upgrade.md says of the namespaces. */
#[CoversNothing]
final class UpgradeTest extends TestCase
{
    private const ROOT = __DIR__ . '/../..';

    /** Seen to fail: a namespace taken out of the table, and one that is not there. */
    public function testEachFolderIsForSomebody(): void
    {
        \preg_match('/^\| namespace \|.*?\n\n/ms', (string) \file_get_contents(self::ROOT . '/docs/upgrade.md'), $table);
        $named = [];
        foreach (\explode("\n", $table[0] ?? '') as $row) {
            \preg_match_all('/`Larder\\\\(\w+)`/', \explode('|', $row)[1] ?? '', $names);
            $named = [...$named, ...$names[1]];
        }
        $folders = \array_map(\basename(...), \glob(self::ROOT . '/src/*', \GLOB_ONLYDIR) ?: []);
        \sort($named);
        self::assertSame($folders, $named);
    }

    /** Seen to fail: another name. */
    public function testTheExceptionsOfInternalNamespacesAreThere(): void
    {
        \preg_match('/^\| `Larder\\\\Codec`.*$/m', (string) \file_get_contents(self::ROOT . '/docs/upgrade.md'), $row);
        \preg_match_all('/`([A-Z]\w+)`/', $row[0] ?? '', $names);
        self::assertCount(5, $names[1]);
        foreach ($names[1] as $name) {
            $classes = \array_filter(['Codec', 'Config', 'Request', 'System'], static fn(string $folder): bool => \is_subclass_of("Larder\\$folder\\$name", \Throwable::class));
            self::assertCount(1, $classes, $name);
        }
    }
}
