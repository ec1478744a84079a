<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

/**
 * The rules, each by the number of the RFC, or the name of the draft, and its section.
 *
 * Nobody waits for a page to become stale: the application says that it is old already, by Age.
 */
final class Rules
{
    /** @return iterable<string, array{0: list<Step>, 1?: array<string, mixed>}> steps, and options of the page cache */
    public static function all(): iterable
    {
        yield from Semantics::rules();
        yield from Storing::rules();
        yield from Reuse::rules();
        yield from Directives::rules();
        yield from Extensions::rules();
    }
}
