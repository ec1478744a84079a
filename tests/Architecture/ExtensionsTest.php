<?php

declare(strict_types=1);

namespace Larder\Tests\Architecture;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
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

    /** Where PHP has no extension at all, what needs one says which. */
    public function testAMissingExtensionIsNamed(): void
    {
        $place = new TemporaryDirectory();
        $code = '$place = ' . \var_export($place->file('none'), true) . '; require ' . \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true) . <<<'PHP'
            ;
            foreach ([Larder\Queue\Queue::class, Larder\Counter::class] as $class) {
                foreach (["sqlite://$place", "sqlite://$place?timeout=1"] as $dsn) {
                    try {
                        $class::open($dsn, 'name');
                        echo 'It was opened.';
                    } catch (Larder\Config\InvalidConfiguration $advice) {
                        echo $advice->getMessage(), "\n";
                    }
                }
            }
            PHP;
        $process = new Process([\PHP_BINARY, '-n', '-d', 'display_errors=stderr', '-r', $code]);

        self::assertSame(0, $process->wait(), $process->errors());
        self::assertSame(4, \substr_count($process->output(), 'sqlite:// needs the PHP extension pdo_sqlite'), $process->output());
        self::assertDirectoryDoesNotExist($place->file('none'));
    }
}
