<?php

declare(strict_types=1);

namespace Larder\System;

/** Keeps secrets out of what is shown: reads what an object holds so that PHP shows it in no dump, export, cast or trace, and hides what a word tells. */
final class Secret
{
    public static function text(\SensitiveParameterValue $secret): string
    {
        $text = $secret->getValue();

        return \is_string($text) ? $text : '';
    }

    /** A word of a command line without the passwords and secrets of a DSN or a variable in it, for messages that may reach a log. */
    public static function hidden(#[\SensitiveParameter] string $word): string
    {
        return \preg_replace(['~(://|%3A%2F%2F).*(@|%40)~is', '~((?:secrets?|password)(?:(?:\[|%5B).*?(?:]|%5D))?(?:=|%3D)).*?(?=&|%26|$)~is'], ['$1***$2', '$1***'], $word) ?? '…';
    }
}
