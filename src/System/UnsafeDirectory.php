<?php

declare(strict_types=1);

namespace Larder\System;

/** Other users could read, change or replace a directory, or it is no directory. The message says what is wrong and how to fix it. */
final class UnsafeDirectory extends \RuntimeException
{
    public static function because(string $path, string $wrong, string $instead): self
    {
        $printable = (string) \preg_replace('/[\x00-\x1F\x7F]/', '?', $path);

        return new self('The directory "' . $printable . '" ' . $wrong . '. To fix it, ' . $instead . '.');
    }
}
