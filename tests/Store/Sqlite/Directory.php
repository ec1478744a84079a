<?php

declare(strict_types=1);

namespace Larder\Tests\Store\Sqlite;

use PHPUnit\Framework\Attributes\After;
use PHPUnit\Framework\Attributes\Before;

/** A directory of the test's own, removed after it. */
trait Directory
{
    private string $directory = '';

    /** Before anything is forked, so that all processes of the test have the same. */
    #[Before]
    protected function makeDirectory(): void
    {
        $this->directory = \sys_get_temp_dir() . '/larder-sqlite-' . \bin2hex(\random_bytes(6));
        \mkdir($this->directory, 0o700);
    }

    #[After]
    protected function removeDirectory(): void
    {
        if (\is_dir($this->directory)) {
            foreach (self::files($this->directory) as $name) {
                \unlink($this->directory . '/' . $name);
            }
            \rmdir($this->directory);
        }
    }

    /** @return list<string> */
    private static function files(string $directory): array
    {
        return \array_values(\array_diff(\scandir($directory) ?: [], ['.', '..']));
    }
}
