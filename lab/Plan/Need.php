<?php

declare(strict_types=1);

namespace Larder\Lab\Plan;

use Larder\Lab\Installation;

/** Something a subject cannot be measured without, and what to type where it is missing. */
final readonly class Need
{
    private function __construct(
        public string $what,
        public bool $met,
        public string $advice,
    ) {}

    /** @param string $name as extension_loaded() takes it */
    public static function extension(string $name, string $advice = ''): self
    {
        return new self(
            "the PHP extension $name",
            \extension_loaded($name),
            $advice !== '' ? $advice : self::package($name),
        );
    }

    public static function sqlite(): self
    {
        return self::extension('pdo_sqlite', self::package('sqlite3'));
    }

    public static function predis(): self
    {
        return self::library(\Predis\Client::class, 'predis/predis');
    }

    public static function redisServer(): self
    {
        return self::program(['redis-server'], 'redis-server');
    }

    /** What to type for a package of this PHP's. */
    public static function package(string $name): string
    {
        return \sprintf('apt-get install php%d.%d-%s', \PHP_MAJOR_VERSION, \PHP_MINOR_VERSION, $name);
    }

    /** @param list<string> $names of programs that do the same; one of them is enough */
    public static function program(array $names, string $package): self
    {
        return new self(\implode(' or ', $names), self::find($names) !== null, "apt-get install $package");
    }

    /** @param string $class one that the library has */
    public static function library(string $class, string $package): self
    {
        return new self($package, \class_exists($class), "composer require --dev $package");
    }

    /** What the package larder/lab does not have. */
    public static function checkout(): self
    {
        return new self('a checkout of Larder', Installation::isCheckout(), 'bin/larder bench in a checkout of Larder, after make setup');
    }

    /** Anything else. */
    public static function that(bool $met, string $what, string $advice): self
    {
        return new self($what, $met, $advice);
    }

    /**
     * Where a program is, looked for as the shell does and where Debian keeps servers.
     *
     * @param list<string> $names
     */
    public static function find(array $names): ?string
    {
        foreach ($names as $name) {
            foreach (\explode(\PATH_SEPARATOR, \getenv('PATH') . \PATH_SEPARATOR . '/usr/local/bin:/usr/bin:/usr/sbin:/sbin') as $directory) {
                if ($directory !== '' && \is_file("$directory/$name") && \is_executable("$directory/$name")) {
                    return "$directory/$name";
                }
            }
        }

        return null;
    }
}
