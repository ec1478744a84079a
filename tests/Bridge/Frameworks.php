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

    /** Loads them into this process. */
    public static function load(): void
    {
        self::demand();
        $loader = require_once self::LOADER;
        if ($loader instanceof ClassLoader) {
            // After the project's own: only what that has not comes from there.
            $loader->unregister();
            $loader->register(false);
        }
    }
}
