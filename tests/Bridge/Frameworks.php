<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge;

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
        // Before the project's own: what this PHP gets, and not what was installed for another one.
        require_once $file;
    }
}
