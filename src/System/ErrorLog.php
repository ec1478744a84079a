<?php

declare(strict_types=1);

namespace Larder\System;

/** Writes to PHP's error log, if PHP may. */
final class ErrorLog
{
    public static function write(string $line): void
    {
        // Some hosts disable it (disable_functions). Then only the doctor, and the logger if there is one, tell what failed.
        if (\function_exists('error_log')) {
            \error_log($line);
        }
    }
}
