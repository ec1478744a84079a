<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge;

use Composer\Autoload\ClassLoader;
use PHPUnit\Framework\TestCase;

/** Symfony's and Laravel's own classes, where `make frameworks` has put them. */
final class Frameworks
{
    private const LOADER = __DIR__ . '/../../build/frameworks/autoload.php';

    /** Skips the test where they are not there. */
    public static function demand(): void
    {
        \is_file(self::LOADER) || TestCase::markTestSkipped('No frameworks: make frameworks fetches them.');
    }

    /** Loads them into this process: what the project's own libraries have too comes from those. */
    public static function load(): void
    {
        self::loader()->register(false);
    }

    /** Loads them into this process: what both have comes from here, in the newest release that this PHP can run. */
    public static function prefer(): void
    {
        self::loader()->register(true);
    }

    private static function loader(): ClassLoader
    {
        self::demand();
        require_once __DIR__ . '/deepclone.php';
        // Not once: it gives the same one each time.
        $loader = require self::LOADER;
        \assert($loader instanceof ClassLoader);
        $loader->unregister();

        return $loader;
    }
}
