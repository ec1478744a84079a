<?php

declare(strict_types=1);

// What is tested without WordPress speaks English.
if (!function_exists('__')) {
    function __(string $text, string $domain = ''): string
    {
        return $text;
    }
}
