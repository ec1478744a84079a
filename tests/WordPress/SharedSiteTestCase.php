<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\TestCase;

/**
 * The tests of a class share a site: the first of them makes it, behind the last one it is stopped. Each finds wp-config.php as
 * it was made, and leaves nothing in the logs.
 *
 * @template S of InstalledSite
 */
abstract class SharedSiteTestCase extends TestCase
{
    /** False where what a test does is complained of. */
    protected const QUIET = true;

    private static ?InstalledSite $shared = null;

    /** What is in the logs of PHP and of the web server, and is meant to be. */
    protected static string $known = '';

    /** @var S */
    protected InstalledSite $site;

    public static function tearDownAfterClass(): void
    {
        self::$shared?->site->stop();
        self::$shared = null;
        self::$known = '';
    }

    protected function setUp(): void
    {
        $this->site = self::$shared ??= static::make();
        $this->site->site->define([]);
    }

    protected function tearDown(): void
    {
        static::QUIET && self::assertSame(self::$known, $this->site->site->errors());
    }

    /** @return S */
    protected static function make(): InstalledSite
    {
        return new InstalledSite();
    }
}
