<?php

declare(strict_types=1);

namespace Larder\Config;

use Larder\System\Ownership;

/** The usual DSN, sqlite:///directory and nothing else, read without all that others need. */
final class PlainDsn
{
    private const PATTERN = '~^sqlite://(/(?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_.-]+)$~D';

    /** @return ?string the directory, if it is there and this user's alone; null: the DSN is to be read as others are */
    public static function directory(mixed $source): ?string
    {
        return \is_string($source) && \preg_match(self::PATTERN, $source, $found) === 1 && Ownership::isPrivate($found[1]) ? $found[1] : null;
    }
}
