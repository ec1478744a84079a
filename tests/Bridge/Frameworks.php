<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge;

use Composer\Autoload\ClassLoader;
use PHPUnit\Framework\TestCase;

/** Symfony's and Laravel's own classes, where `make frameworks` has put them. */
final class Frameworks
{
    /** Skips the test where they are not there. */
    public static function load(): void
    {
        $file = \dirname(__DIR__, 2) . '/build/frameworks/autoload.php';
        if (!\is_file($file)) {
            TestCase::markTestSkipped('No frameworks: make frameworks fetches them.');
        }
        require_once __DIR__ . '/polyfill.php';
        $loader = require_once $file;
        if ($loader instanceof ClassLoader) {
            // After the project's own: only what that has not comes from there.
            $loader->unregister();
            $loader->register(false);
        }
    }
}
