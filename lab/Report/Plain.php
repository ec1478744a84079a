<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

/** Text from elsewhere, made harmless for whatever it is printed in: no control characters, one line. */
final class Plain
{
    /**
     * UTF-8 on one line: line ends and tabs become a space, what else a terminal would obey or that turns the
     * direction of text round becomes a visible mark.
     */
    public static function line(string $text): string
    {
        $text = \mb_scrub($text, 'UTF-8');
        $text = \preg_replace('/\s+/u', ' ', $text) ?? '';

        // Cc: control characters, ESC and the C1 ones among them; Cf: those that are not seen, bidirectional ones among them.
        return \trim(\preg_replace('/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u', '�', $text) ?? '');
    }
}
