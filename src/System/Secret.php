<?php

declare(strict_types=1);

namespace Larder\System;

/** Reads what an object holds so that PHP shows it in no dump, export, cast or trace. */
final class Secret
{
    public static function text(\SensitiveParameterValue $secret): string
    {
        $text = $secret->getValue();

        return \is_string($text) ? $text : '';
    }
}
