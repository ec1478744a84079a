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

    /** @param array<string, string> $cookies */
    protected function page(string $path, array $cookies): string
    {
        $response = $this->site->site->get($path, $cookies);
        self::assertSame(200, $response->status, $response->body);

        return $response->body;
    }

    /** The word that a form's button needs. */
    protected static function nonce(string $button, string $page): string
    {
        self::assertSame(1, \preg_match("~$button><input type=\"hidden\" name=\"_wpnonce\" value=\"([0-9a-f]+)\">~", $page, $match), $page);

        return $match[1];
    }

    /** @return S */
    protected static function make(): InstalledSite
    {
        return new InstalledSite();
    }
}
