<?php

declare(strict_types=1);

namespace Larder\Tests\Reentrancy;

/**
 * A copy of src/ in which PHP calls a function of the test's after every statement (declare(ticks=1)), loaded in the
 * place of src/. A destructor that the garbage collector runs, or a signal's handler, may come at any of these places.
 * Each finally says first that it runs: see Drill::finally().
 */
final class Instrumented
{
    /** What has to do with no engine. */
    private const LEFT_OUT = ['Config', 'Console', 'Psr'];

    /** Writes the copy. */
    public static function make(string $directory): void
    {
        $root = \dirname(__DIR__, 2) . '/src/';
        foreach (new \RecursiveIteratorIterator(new \RecursiveDirectoryIterator($root, \FilesystemIterator::SKIP_DOTS)) as $path => $_) {
            /** @var string $path */
            $name = \substr($path, \strlen($root));
            if (\in_array(\explode('/', $name)[0], self::LEFT_OUT, true)) {
                continue;
            }
            $source = \str_replace('declare(strict_types=1);', 'declare(strict_types=1); declare(ticks=1);', (string) \file_get_contents($path), $count);
            if ($count !== 1) {
                throw new \LogicException("$name declares its types $count times.");
            }
            $source = \str_replace('finally {', 'finally { \\' . Drill::class . '::finally();', $source);
            $copy = "$directory/$name";
            \is_dir(\dirname($copy)) || \mkdir(\dirname($copy), 0o700, true);
            \file_put_contents($copy, $source);
        }
    }

    /** Before the first class of the cache is used. */
    public static function load(string $directory): void
    {
        \spl_autoload_register(static function (string $class) use ($directory): void {
            $path = $directory . '/' . \strtr(\substr($class, 7), '\\', '/') . '.php';
            if (\str_starts_with($class, 'Larder\\') && \is_file($path)) {
                require $path;
            }
        }, prepend: true);
    }
}
