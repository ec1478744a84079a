<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

use Larder\Lab\Plan\Need;
use Symfony\Component\Process\PhpExecutableFinder;
use Symfony\Component\Process\Process;

/**
 * Larder's own extension, for the processes that measure.
 *
 * They load it as their php.ini says, or, where that says nothing of it, from where `make ext` puts it. LARDER_MODULE
 * names another build, and LARDER_EXT=0 says to do without. Whether it is there is asked of a PHP like theirs, for one that was built for another version of
 * PHP is a file as good as any, and only PHP knows that it cannot load it.
 */
final class LarderExtension
{
    private const NAME = 'larder';

    /** @var array<string, array{loaded: bool, version: ?string}> by the module's path, what a PHP said */
    private static array $known = [];

    public static function need(): Need
    {
        return Need::that(self::version() !== null, 'the PHP extension larder', self::advice());
    }

    /** @return array<string, string> settings of a process that loads it; none where php.ini does */
    public static function ini(): array
    {
        $found = self::look();

        return $found['version'] === null || $found['loaded'] ? [] : ['extension' => self::module()];
    }

    /** Null: there is none that this PHP could load. */
    public static function version(): ?string
    {
        return self::look()['version'];
    }

    /** Why what LARDER_MODULE names cannot be measured, and what to type; null where it can, or it names nothing. */
    public static function mistake(): ?string
    {
        $named = \getenv('LARDER_MODULE') ?: '';
        if ($named === '' || \getenv('LARDER_EXT') === '0') {
            return null;
        }
        $without = 'Name a larder.so built for this PHP, or type: unset LARDER_MODULE';

        return match (true) {
            !\is_file($named) => "LARDER_MODULE names $named, and there is no such file. $without",
            self::look()['loaded'] => "LARDER_MODULE names $named, but a php.ini or ext/with loads the extension already. Run it without ext/with, or type: unset LARDER_MODULE",
            self::look()['version'] === null => \sprintf('LARDER_MODULE names %s, which PHP %s cannot load. %s', $named, \PHP_VERSION, $without),
            default => null,
        };
    }

    private static function advice(): string
    {
        if (\getenv('LARDER_EXT') === '0') {
            return 'make ext, and not LARDER_EXT=0';
        }

        return self::mistake() ?? (\is_file(self::module())
            ? \sprintf('make ext (%s is of another PHP than this, %s)', self::module(), \PHP_VERSION)
            : 'make ext (it builds ext/modules/larder.so, which the laboratory then loads by itself)');
    }

    /** Where it is, if `make ext` has built it, or LARDER_MODULE names another. */
    public static function module(): string
    {
        return \getenv('LARDER_MODULE') ?: \dirname(__DIR__, 2) . '/ext/modules/larder.so';
    }

    /** @return array{loaded: bool, version: ?string} whether php.ini loads it, and its version */
    private static function look(): array
    {
        $module = self::module();

        return self::$known[$module] ??= (static function () use ($module): array {
            $version = self::ask([]);
            if ($version !== null) {
                return ['loaded' => true, 'version' => $version];
            }

            return ['loaded' => false, 'version' => \getenv('LARDER_EXT') !== '0' && \is_file($module) ? self::ask(['-d', "extension=$module"]) : null];
        })();
    }

    /** @param list<string> $options */
    private static function ask(array $options): ?string
    {
        if (!\class_exists(Process::class)) {
            return null;
        }
        $process = new Process([(new PhpExecutableFinder())->find(false) ?: \PHP_BINARY, ...$options, '-d', 'display_errors=stderr', '-d', 'display_startup_errors=0', '-r', \sprintf('echo phpversion(%s);', \var_export(self::NAME, true))]);
        $process->run();
        $said = \trim($process->getOutput());

        return $process->isSuccessful() && $said !== '' ? $said : null;
    }
}
