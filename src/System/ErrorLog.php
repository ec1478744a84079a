<?php

declare(strict_types=1);

namespace Larder\System;

/** PHP's error log, where PHP may write to it. */
final class ErrorLog
{
    public static function write(string $line): void
    {
        // Some hosts take it away (disable_functions); then only a part's own log and the doctor tell what is wrong.
        if (\function_exists('error_log')) {
            \error_log($line);
        }
    }
}
