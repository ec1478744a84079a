<?php

declare(strict_types=1);

// phpcs:disable WordPress.WP.AlternativeFunctions -- the directory must belong to the user that PHP runs as; WP_Filesystem may create it as another by FTP

namespace Larder\WordPress;

use Larder\Config\Directory;
use Larder\System\Ownership;

/**
 * Where a site's cache lies on disk if its owner does not say: found by web and command line alike, where the web server
 * writes and does not serve.
 *
 * Its name cannot be guessed without the site's salts. It lies in wp-content or beside WordPress (the directory
 * above ABSPATH); the one that is there is the one, wp-content first: open_basedir or lost rights can take from the
 * web the one beside, and what the web then uses must be what everybody uses. A new one is made beside, out of
 * the web server's reach, if that is known to be so, and else in wp-content; in both with the rules by which web
 * servers refuse it.
 */
final class DataDirectory
{
    /** Of a path, where it was found here. */
    public const NAME = '~/larder-[0-9a-f]{24}$~D';

    /** What a directory has that is served. */
    private const SIGNS = ['index.php', 'index.html', 'index.htm', '.htaccess'];

    private const GUARDS = [
        '.htaccess' => "# Nothing in here is for the web.\n"
            . "<IfModule mod_authz_core.c>\n    Require all denied\n</IfModule>\n"
            . "<IfModule !mod_authz_core.c>\n    Order allow,deny\n    Deny from all\n</IfModule>\n",
        'web.config' => "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<configuration><system.webServer><security><authorization>"
            . "<remove users=\"*\" roles=\"\" verbs=\"\"/><add accessType=\"Deny\" users=\"*\"/>"
            . "</authorization></security></system.webServer></configuration>\n",
        'index.php' => "<?php\n\n// Nothing in here is for the web.\n",
    ];

    /**
     * @param string  $abspath      WordPress's
     * @param string  $content      WP_CONTENT_DIR
     * @param ?string $documentRoot the web server's; null or '': not known, as on the command line
     * @param string  $secret       of the site
     *
     * @return string '' where there is none and none can be made
     */
    public static function find(string $abspath, string $content, ?string $documentRoot, #[\SensitiveParameter] string $secret): string
    {
        return Quietly::call(static function () use ($abspath, $content, $documentRoot, $secret): string {
            [$inside, $beside] = self::places($abspath, $content, $secret);
            if (\is_dir($inside)) {
                return $inside;
            }
            if (\is_dir($beside)) {
                return $beside;
            }
            if (!self::isOurs($content)) {
                return '';
            }
            if (!self::isHidden(\dirname($beside), (string) $documentRoot) || !self::make($beside, $content)) {
                return self::make($inside, $content) ? $inside : '';
            }
            if (\is_dir($inside)) {
                // A command, which does not know of the document root, made it meanwhile.
                self::remove($beside);

                return $inside;
            }

            return $beside;
        });
    }

    /**
     * The places where it can be: in wp-content, and beside WordPress. Call it by Quietly: realpath() warns of what open_basedir hides.
     *
     * @return array{string, string}
     */
    public static function places(string $abspath, string $content, #[\SensitiveParameter] string $secret): array
    {
        // The same by every link that leads there.
        $root = \realpath($abspath) ?: \rtrim($abspath, '/');
        $name = '/larder-' . \substr(\hash_hmac('md5', $root, $secret), 0, 24);

        return [\rtrim($content, '/') . $name, \rtrim(\dirname($root), '/') . $name];
    }

    /** Whether a web server could serve it if no rule forbade that. */
    public static function isWithin(string $path, string $root): bool
    {
        return Quietly::call(static function () use ($path, $root): bool {
            $path = \realpath($path) ?: $path;
            $root = \realpath($root) ?: $root;

            return \str_starts_with($path . '/', \rtrim($root, '/') . '/');
        });
    }

    /** All of it, without following a link. False: something is still there. */
    public static function remove(string $path): bool
    {
        return Quietly::call(static function () use ($path): bool {
            if (\is_link($path) || !\is_dir($path)) {
                return !\file_exists($path);
            }
            foreach (\array_diff(\scandir($path) ?: [], ['.', '..']) as $name) {
                $file = $path . '/' . $name;
                \is_dir($file) && !\is_link($file) ? self::remove($file) : \unlink($file);
            }

            return \rmdir($path);
        });
    }

    /**
     * Whether what this process makes can be the web's: a command run as another user would take the site its cache.
     * What the web has written so far tells who that is.
     */
    private static function isOurs(string $content): bool
    {
        $user = Ownership::user();

        return \PHP_SAPI !== 'cli' || $user === 0 || $user === self::web($content);
    }

    private static function web(string $content): int
    {
        $owner = \fileowner($content . '/uploads');

        return $owner === false ? (int) \fileowner($content) : $owner;
    }

    /** Whether no web server is likely to serve what lies in that directory. */
    private static function isHidden(string $directory, string $documentRoot): bool
    {
        if ($documentRoot === '' || $directory === '/' || !\is_writable($directory) || self::isWithin($directory, $documentRoot)) {
            return false;
        }
        foreach (self::SIGNS as $name) {
            // It is the root of another site, as on shared hosting that of the main domain.
            if (\file_exists($directory . '/' . $name)) {
                return false;
            }
        }

        return true;
    }

    private static function make(string $path, string $content): bool
    {
        try {
            Directory::prepare($path);
        } catch (\Throwable) {
            return false;
        }
        foreach (self::GUARDS as $name => $text) {
            if (\file_put_contents($path . '/' . $name, $text) !== \strlen($text)) {
                self::remove($path);

                return false;
            }
        }
        $owner = self::web($content);
        if (Ownership::user() === 0 && $owner !== 0) {
            foreach (\scandir($path) ?: [] as $name) {
                if ($name !== '..') {
                    \chown($path . '/' . $name, $owner);
                    \chgrp($path . '/' . $name, (int) \filegroup($content));
                }
            }
        }

        return true;
    }
}
