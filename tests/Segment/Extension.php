<?php

declare(strict_types=1);

namespace Larder\Tests\Segment;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Assert;

/**
 * The extension as tests load it: built with every invariant checked after every operation, once for the checkout.
 *
 * This folder holds what takes several processes: files, forks, deaths, containers, php-fpm. What one process can see
 * is tested by the phpt files of ext/tests.
 */
final class Extension
{
    private static ?string $module = null;

    /**
     * The module's path: LARDER_MODULE in the environment, to test one that was built otherwise; else it is built here.
     * Skips the test where it cannot be.
     */
    public static function path(): string
    {
        $given = \getenv('LARDER_MODULE');

        return self::$module ??= $given !== false && $given !== '' ? $given : self::build('check');
    }

    /**
     * What a child's environment must have: no settings that load the module of another build beside this; those of
     * the usual extensions where tests/bootstrap.php has put some of them aside.
     *
     * @return array<string, ?string>
     */
    public static function environment(): array
    {
        $usual = \preg_grep('~/usual$~', \explode(':', (string) \getenv('PHP_INI_SCAN_DIR'))) ?: [];

        return ['PHP_INI_SCAN_DIR' => \array_values($usual)[0] ?? null];
    }

    /** A child that runs code, which is in $argv from 1 on what is given here; it ends with the code. */
    public static function snippet(string $code, string ...$arguments): Process
    {
        return Process::snippet($code, \array_values($arguments), ['extension' => self::path()], self::environment());
    }

    /** Where segments of a test lie; gone with this object. */
    public static function directory(): TemporaryDirectory
    {
        return new TemporaryDirectory('larder-test', \is_dir('/dev/shm') ? '/dev/shm' : null);
    }

    /**
     * A second build that differs only by what it says of itself: as another PHP's would, its values are not ours.
     *
     * @return string the module's path
     */
    public static function other(): string
    {
        $root = \dirname(__DIR__, 2);
        self::path();
        $source = $root . '/build/ext-other-source';
        \exec(\sprintf('mkdir -p %2$s && rm -rf %2$s/ext && cp -rp %1$s %2$s/ext', \escapeshellarg($root . '/ext'), \escapeshellarg($source)), $said, $status);
        $header = $source . '/ext/php_larder.h';
        $text = (string) \file_get_contents($header);
        $changed = \preg_replace('/(PHP_LARDER_VERSION ")([^"]+)"/', '$1$2-other"', $text, 1, $times);
        if ($status !== 0 || $times !== 1) {
            throw new \RuntimeException('The other build cannot be prepared: ' . \implode("\n", $said));
        }
        $time = (int) \filemtime($header);
        \file_put_contents($header, $changed);
        // As old as it was: only what has changed is made anew.
        \touch($header, $time);

        return self::build('check', $source . '/ext/compile', $root . '/build/ext-other');
    }

    private static function build(string $kind, ?string $script = null, ?string $work = null): string
    {
        $root = \dirname(__DIR__, 2);
        $script ??= $root . '/ext/compile';
        $work ??= $root . '/build/ext-' . $kind;
        $phpize = 'phpize' . \PHP_MAJOR_VERSION . '.' . \PHP_MINOR_VERSION;
        if (self::find($phpize) === null && self::find('phpize') === null) {
            Assert::markTestSkipped('The extension cannot be built without ' . $phpize . ': install it with bin/setup (on Debian, apt-get install php-dev).');
        }
        if (!\is_dir($work)) {
            \mkdir($work, 0o755, true);
        }
        // Two runs of the tests at once build one after the other.
        $lock = \fopen($work . '/.lock', 'c');
        if ($lock === false || !\flock($lock, \LOCK_EX)) {
            throw new \RuntimeException('Cannot lock ' . $work);
        }
        \exec(\implode(' ', \array_map(\escapeshellarg(...), [$script, $kind, $work])) . ' 2>&1', $said, $status);
        \flock($lock, \LOCK_UN);
        $module = $work . '/modules/larder.so';
        if ($status !== 0 || !\is_file($module)) {
            throw new \RuntimeException('The extension does not build: ' . \implode("\n", $said));
        }

        return $module;
    }

    private static function find(string $program): ?string
    {
        foreach (\explode(':', (string) \getenv('PATH')) as $folder) {
            if (\is_executable($folder . '/' . $program)) {
                return $folder . '/' . $program;
            }
        }

        return null;
    }
}
