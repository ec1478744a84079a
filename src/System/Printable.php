<?php

declare(strict_types=1);

namespace Larder\System;

/** Text of unknown origin, such as a key or a server's answer, so that it may reach a terminal or a log. */
final class Printable
{
    /** Characters that control a terminal, turn the writing round or are not seen (Unicode: Cc, Bidi_Control, Default_Ignorable_Code_Point but for what joins letters, and the empty Braille pattern). */
    public const HIDDEN = '[\x00-\x1f\x7f-\x{9f}\x{ad}\x{34f}\x{61c}\x{115f}\x{1160}\x{17b4}\x{17b5}\x{180b}-\x{180f}\x{200b}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2060}-\x{206f}\x{2800}\x{3164}\x{fe00}-\x{fe0f}\x{feff}\x{ffa0}\x{fff0}-\x{fffb}\x{1bca0}-\x{1bca3}\x{1d173}-\x{1d17a}\x{e0000}-\x{e0fff}]';

    /** Writes hidden characters, ends of lines among them, as \x and hexadecimal digits; of text that is not UTF-8 each byte beyond ASCII in octal digits. */
    public static function text(string $text): string
    {
        return \preg_replace_callback(
            '/' . self::HIDDEN . '/u',
            static fn(array $match): string => '\x' . \implode('\x', \str_split(\bin2hex($match[0]), 2)),
            \preg_match('//u', $text) === 1 ? $text : \addcslashes($text, "\x80..\xff"),
        ) ?? '';
    }
}
