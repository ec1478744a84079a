<?php

declare(strict_types=1);

namespace Larder\WordPress;

use Larder\Cache;
use Larder\Console\Support\Complaints;

/** Whether this site's cache keeps what is stored in it: tried, without any request to the site itself. */
final class SelfCheck
{
    /** @return string '' it does; else why not, with what to do */
    public static function problem(): string
    {
        if (Site::current()->isDisabled()) {
            return \__('The constant LARDER_DISABLED switches Larder off.', 'larder');
        }

        return Owner::run(self::tried(...));
    }

    private static function tried(): string
    {
        $complaints = new Complaints();
        try {
            $source = ['logger' => $complaints] + Site::current()->source();
            $key = 'check-' . \bin2hex(\random_bytes(8));
            $stored = self::door($source)->set($key, $key, 60);
            // Another front door has nothing of this one in its memory.
            $other = self::door($source);
            $found = $other->get($key);
            $other->delete($key);
        } catch (\Throwable $failure) {
            return $failure->getMessage();
        }
        if ($stored && $found === $key) {
            return '';
        }

        return \implode(' ', $complaints->take()) ?: \__('Larder could not read back a value that it had stored.', 'larder');
    }

    /** @param array<string, mixed> $source */
    private static function door(#[\SensitiveParameter] array $source): Cache
    {
        return ObjectCache::records(Cache::open($source));
    }
}
