<?php

declare(strict_types=1);

namespace Larder\Tests\System;

/** A file that another process removes between the look at it and its removal: there for every stat, gone for unlink(). */
final class GoingFile
{
    /** @var ?resource as PHP sets it */
    public $context;

    /** @return array<string, int> */
    public function url_stat(string $path, int $flags): array
    {
        return ['mode' => 0o100600, 'size' => 1, 'nlink' => 1];
    }

    public function unlink(string $path): bool
    {
        \trigger_error("unlink($path): No such file or directory", \E_USER_WARNING);

        return false;
    }
}
