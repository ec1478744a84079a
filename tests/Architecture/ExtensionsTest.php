<?php

declare(strict_types=1);

namespace Larder\Tests\Architecture;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\TestCase;

/** Larder needs PHP and nothing else: some distributions leave these extensions out of it. */
#[CoversNothing]
final class ExtensionsTest extends TestCase
{
    public function testNoFunctionOfAnOptionalExtensionIsCalled(): void
    {
        $calls = [];
        $files = 0;
        foreach (new \RecursiveIteratorIterator(new \RecursiveDirectoryIterator(\dirname(__DIR__, 2) . '/src', \FilesystemIterator::SKIP_DOTS)) as $file) {
            \assert($file instanceof \SplFileInfo);
            $files++;
            // The command line's libraries bring what they need.
            if (!\str_contains($file->getPathname(), '/src/Console/') && \preg_match_all('/\b(?:ctype|mb|iconv|bc|gmp)_\w+\(/', (string) \file_get_contents($file->getPathname()), $found) > 0) {
                $calls[$file->getPathname()] = $found[0];
            }
        }

        self::assertGreaterThan(100, $files);
        self::assertSame([], $calls);
    }
}
