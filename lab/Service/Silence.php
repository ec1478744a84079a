<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** Calls what may warn of something that is looked for in what it returns. */
final class Silence
{
    /**
     * @template T
     *
     * @param \Closure(): T $work
     * @param string        $warning the last one, '' without
     *
     * @return T
     */
    public static function of(\Closure $work, string &$warning = ''): mixed
    {
        $warning = '';
        // Not @, which still calls an application's own handler.
        \set_error_handler(static function (int $level, string $message) use (&$warning): bool {
            $warning = $message;

            return true;
        });
        try {
            return $work();
        } finally {
            \restore_error_handler();
        }
    }
}
