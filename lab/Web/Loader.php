<?php

declare(strict_types=1);

namespace Larder\Lab\Web;

use Composer\Autoload\ClassLoader;
use Larder\Lab\Installation;

/** What `composer install --no-dev --optimize-autoloader` makes: Composer's loader with a map of all classes. */
final class Loader
{
    private const FRAMEWORKS = '/build/frameworks';

    /** The prefix of their classes, by directories below those in which Composer has put packages. */
    private const PACKAGES = [
        'predis/predis/src' => 'Predis\\',
        'psr/cache/src' => 'Psr\Cache\\',
        'psr/container/src' => 'Psr\Container\\',
        'psr/http-message/src' => 'Psr\Http\Message\\',
        'psr/log/src' => 'Psr\Log\\',
        'psr/simple-cache/src' => 'Psr\SimpleCache\\',
        'symfony/cache' => 'Symfony\Component\Cache\\',
        'symfony/var-exporter' => 'Symfony\Component\VarExporter\\',
        'symfony/cache-contracts' => 'Symfony\Contracts\Cache\\',
        'symfony/service-contracts' => 'Symfony\Contracts\Service\\',
        'nesbot/carbon/src/Carbon' => 'Carbon\\',
        'nesbot/carbon/lazy/Carbon' => 'Carbon\\',
        'psr/clock/src' => 'Psr\Clock\\',
        'symfony/clock' => 'Symfony\Component\Clock\\',
        'laravel/framework/src/Illuminate/Collections' => 'Illuminate\Support\\',
        'laravel/framework/src/Illuminate/Conditionable' => 'Illuminate\Support\\',
        'laravel/framework/src/Illuminate/Macroable' => 'Illuminate\Support\\',
        'laravel/framework/src/Illuminate/Reflection' => 'Illuminate\Support\\',
        'laravel/framework/src/Illuminate' => 'Illuminate\\',
    ];

    /** A program that loads no class itself. */
    public static function program(string $larder): string
    {
        $map = self::classes('Larder\\', $larder);
        foreach (self::PACKAGES as $package => $prefix) {
            $directory = self::package($package);
            $map += $directory === null ? [] : self::classes($prefix, $directory);
        }

        return '<?php require ' . \var_export((new \ReflectionClass(ClassLoader::class))->getFileName(), true)
            . '; $loader = new Composer\Autoload\ClassLoader(); $loader->addClassMap(' . \var_export($map, true) . '); $loader->register();';
    }

    /** An array, as PHP reads it: the map of Larder's classes and of those that a directory's loader finds by their prefix. */
    public static function map(string $larder, string $vendor): string
    {
        $map = self::classes('Larder\\', $larder);
        /** @var array<string, list<string>> $prefixes */
        $prefixes = require "$vendor/composer/autoload_psr4.php";
        foreach ($prefixes as $prefix => $directories) {
            foreach (\array_filter($directories, \is_dir(...)) as $directory) {
                $map += self::classes($prefix, $directory);
            }
        }

        return \var_export($map, true);
    }

    /** Where Composer has put it, for Larder or for `make frameworks`; null: nowhere. */
    public static function package(string $path): ?string
    {
        foreach ([Installation::packages() . "/$path", \dirname(__DIR__, 2) . self::FRAMEWORKS . "/$path"] as $directory) {
            if (\is_dir($directory)) {
                return $directory;
            }
        }

        return null;
    }

    /** @return array<string, string> file by class */
    private static function classes(string $prefix, string $directory): array
    {
        $map = [];
        /** @var iterable<string> $files */
        $files = new \RegexIterator(new \RecursiveIteratorIterator(new \RecursiveDirectoryIterator($directory, \FilesystemIterator::CURRENT_AS_PATHNAME | \FilesystemIterator::SKIP_DOTS)), '/\.php$/');
        foreach ($files as $file) {
            $map[$prefix . \strtr(\substr($file, \strlen("$directory/"), -\strlen('.php')), '/', '\\')] = $file;
        }

        return $map;
    }
}
