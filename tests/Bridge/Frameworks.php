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
        self::prefer() || TestCase::markTestSkipped('No frameworks: make frameworks fetches them.');
    }

    /**
     * Takes them before the project's own, which were installed for another PHP perhaps.
     *
     * @return bool whether they are there
     */
    public static function prefer(): bool
    {
        $file = \dirname(__DIR__, 2) . '/build/frameworks/autoload.php';
        if (!\is_file($file)) {
            return false;
        }
        require_once __DIR__ . '/polyfill.php';
        require_once $file;

        return true;
    }
}
