<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use Larder\Lab\Service\Command;

/** The checkout that is tested, as users other than its owner can read it. */
final class Checkout
{
    private const ROOT = __DIR__ . '/../..';

    private static ?TemporaryDirectory $copy = null;

    /** The autoloader for a process that becomes another user: that of the checkout, or of a copy if the checkout is closed to others, as below /root. */
    public static function autoload(): string
    {
        $root = (string) \realpath(self::ROOT);
        for ($each = "$root/src"; \posix_geteuid() === 0 && \strlen($each) > 1; $each = \dirname($each)) {
            if (((int) \fileperms($each) & 0o001) === 0) {
                return self::copy() . '/vendor/autoload.php';
            }
        }

        return "$root/vendor/autoload.php";
    }

    /** The root of a copy of bin/, src/ and the libraries that they need, which any user can read. It goes away with this process. */
    public static function copy(): string
    {
        if (self::$copy === null || !self::$copy->isOwned()) {
            self::$copy = new TemporaryDirectory('larder-c');
            $to = self::$copy->path;
            \mkdir("$to/vendor");
            foreach ([['cp', '-r', self::ROOT . '/bin', self::ROOT . '/src', $to], ['cp', '-r', self::ROOT . '/vendor/symfony', self::ROOT . '/vendor/psr', self::ROOT . '/vendor/composer', "$to/vendor"], ['chmod', '-R', 'a+rX', $to]] as $command) {
                Command::run($command)->succeeded || throw new \RuntimeException("Cannot copy the checkout to $to.");
            }
            \file_put_contents("$to/vendor/autoload.php", <<<'PHP'
                <?php
                require __DIR__ . '/composer/ClassLoader.php';
                $loader = new Composer\Autoload\ClassLoader(__DIR__);
                foreach (require __DIR__ . '/composer/autoload_psr4.php' as $namespace => $directories) {
                    $loader->setPsr4($namespace, $directories);
                }
                $loader->addClassMap(require __DIR__ . '/composer/autoload_classmap.php');
                foreach (require __DIR__ . '/composer/autoload_files.php' as $file) {
                    str_starts_with($file, __DIR__ . '/symfony/') && require $file;
                }
                $loader->register();
                PHP);
        }

        return self::$copy->path;
    }

    /** A directory of settings (PHP_INI_SCAN_DIR) that load a copy of the checkout's extension, which any user can read. */
    public static function extension(): string
    {
        $settings = self::copy() . '/settings';
        if (!\is_dir($settings)) {
            \mkdir($settings);
            \copy(self::ROOT . '/ext/modules/larder.so', "$settings/larder.so");
            \file_put_contents("$settings/larder.ini", "extension=\"$settings/larder.so\"\n");
            Command::run(['chmod', '-R', 'a+rX', $settings]);
        }

        return $settings;
    }
}
