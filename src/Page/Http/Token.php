<?php

declare(strict_types=1);

namespace Larder\Page\Http;

/** A token of a structured field (RFC 9651, section 3.3.4): a word without quotes. Strings are PHP strings. */
final readonly class Token
{
    public function __construct(public string $name) {}
}
