<?php

declare(strict_types=1);

namespace Larder\System;

/** Opens files that only their owner may read or write, whatever the application's umask says. */
final class PrivateFile
{
    /**
     * The caller keeps PHP quiet.
     *
     * @param string $mode as of fopen(), without "e", which all files get: no program that the application starts inherits them
     *
     * @return resource|false
     */
    public static function open(string $path, string $mode): mixed
    {
        if (\function_exists('umask')) {
            $old = \umask(0o077);
            try {
                return \fopen($path, $mode . 'e');
            } finally {
                \umask($old);
            }
        }
        // Some hosts disable it. Until its mode is set the private directory alone keeps others out.
        $handle = \fopen($path, $mode . 'e');
        $handle === false || ((\fstat($handle)['mode'] ?? 0o600) & 0o777) === 0o600 || \chmod($path, 0o600);

        return $handle;
    }
}
