<?php

declare(strict_types=1);

namespace Larder\Lab;

use Composer\Autoload\ClassLoader;
use Larder\Cache;

/** Where the library lies that is measured: in the same checkout as the laboratory, or where Composer has put it. */
final class Installation
{
    /** The library's directory, with src/ and bin/larder. */
    public static function library(): string
    {
        return \dirname((string) (new \ReflectionClass(Cache::class))->getFileName(), 2);
    }

    /** The directory in which Composer has put packages, with autoload.php. */
    public static function packages(): string
    {
        return \dirname((string) (new \ReflectionClass(ClassLoader::class))->getFileName(), 2);
    }

    /** Whether the laboratory lies in a checkout, with all that only its developers have. */
    public static function isCheckout(): bool
    {
        return \is_file(\dirname(__DIR__) . '/vendor/autoload.php');
    }
}
