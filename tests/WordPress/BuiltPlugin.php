<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;

/** The plugin as it is installed, built once for all tests of a process. Any user can read it. */
final class BuiltPlugin
{
    private static ?TemporaryDirectory $directory = null;

    /** larder/, or a file in it. */
    public static function path(string $file = ''): string
    {
        if (self::$directory === null) {
            self::$directory = new TemporaryDirectory();
            \chmod(self::$directory->path, 0o755);
            self::build(self::$directory->path);
        }

        return self::$directory->path . '/larder' . ($file === '' ? '' : '/' . $file);
    }

    public static function build(string $to): void
    {
        $process = new Process([\dirname(__DIR__, 2) . '/wordpress/build', $to]);
        if ($process->wait(60.0) !== 0) {
            throw new \RuntimeException('wordpress/build: ' . $process->errors());
        }
    }

    /**
     * Runs PHP code with the built plugin's classes and no others.
     *
     * @param list<string>                    $arguments in $argv from 1 on
     * @param array<string, string|int|float> $ini
     * @param ?int                            $user      whose id; null: this process's
     *
     * @return list<string> the lines that it printed, on whatever way
     */
    public static function run(string $code, array $arguments = [], array $ini = [], ?int $user = null): array
    {
        $words = $user === null ? [] : ['setpriv', '--reuid', (string) $user, '--regid', (string) $user, '--clear-groups', '--'];
        $settings = [];
        foreach ($ini + ['display_errors' => 1, 'error_reporting' => -1] as $name => $value) {
            \array_push($settings, '-d', $name . '=' . $value);
        }
        $process = new Process([
            ...$words, \PHP_BINARY, ...$settings, '-r',
            'function __($text) { return $text; } defined("ABSPATH") || define("ABSPATH", "/nowhere/"); require ' . \var_export(self::path('autoload.php'), true) . ';' . $code,
            '--', ...$arguments,
        ]);
        $process->wait();

        return \explode("\n", \trim($process->output() . $process->errors()));
    }

    /** @return list<string> its files, sorted as bytes */
    public static function files(): array
    {
        $files = [];
        foreach (new \RecursiveIteratorIterator(new \RecursiveDirectoryIterator(self::path(), \FilesystemIterator::SKIP_DOTS)) as $file => $entry) {
            $files[] = \substr((string) $file, \strlen(self::path()) + 1);
        }
        \sort($files, \SORT_STRING);

        return $files;
    }
}
