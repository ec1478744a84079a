<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;

/**
 * A real browser (browser/*.mjs) goes through a site by a test's steps.
 *
 * @template S of InstalledSite
 *
 * @extends OwnSiteTestCase<S>
 */
abstract class BrowserTestCase extends OwnSiteTestCase
{
    private const BROWSER = __DIR__ . '/browser';

    protected TemporaryDirectory $directory;
    protected ?Process $browser = null;

    protected function setUp(): void
    {
        foreach (['node', \getenv('CHROMIUM') ?: 'chromium'] as $program) {
            if (\shell_exec('command -v ' . \escapeshellarg($program)) === null) {
                self::markTestSkipped("No $program: install Debian's packages chromium, nodejs and npm.");
            }
        }
        if (!\is_dir(self::BROWSER . '/node_modules')) {
            self::markTestSkipped('No playwright-core: make test-wordpress fetches it.');
        }
        $this->directory = new TemporaryDirectory();
    }

    protected function tearDown(): void
    {
        $this->browser?->kill();
        $this->browser = null;
        parent::tearDown();
        unset($this->directory);
    }

    protected function browse(string $script, string ...$arguments): void
    {
        $this->browser = new Process(['node', self::BROWSER . "/$script", ...\array_values($arguments)], ['TMPDIR' => $this->directory->path]);
    }

    /** What the script answers to a step. */
    protected function step(string ...$words): mixed
    {
        $this->browser?->write(\json_encode($words, \JSON_THROW_ON_ERROR) . "\n");
        $line = $this->browser?->line(120.0);
        self::assertIsString($line, "$words[0]: " . $this->browser?->errors());

        return \json_decode($line, true, flags: \JSON_THROW_ON_ERROR);
    }
}
