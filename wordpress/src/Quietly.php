<?php

declare(strict_types=1);

namespace Larder\WordPress;

/**
 * PHP's file functions warn of what is ordinary here: a file that is not there, or lies outside open_basedir. "@" would
 * not keep that from a site's error handler, which may throw.
 */
final class Quietly
{
    /**
     * @template T
     *
     * @param \Closure(): T $do
     * @param string        $reason what PHP reported last
     *
     * @param-out string $reason
     *
     * @return T
     */
    public static function call(\Closure $do, string &$reason = ''): mixed
    {
        $reason = '';
        // phpcs:ignore WordPress.PHP.DevelopmentFunctions.error_log_set_error_handler -- takes what a failing call says, and gives the handler back
        \set_error_handler(static function (int $level, string $message) use (&$reason): bool {
            $reason = $message;

            return true;
        });
        try {
            return $do();
        } finally {
            \restore_error_handler();
        }
    }
}
