<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Rules;

/**
 * A way through the page cache to an application that answers as it is told.
 *
 * This folder holds the rules of a shared HTTP cache, one table of them, and a test case that sees to each of them over
 * every store and through every door.
 */
interface Door
{
    /** @param Step $step of which {origin} and {authority} are replaced */
    public function visit(Step $step, string $body): Visit;

    /** The site's scheme, host and port. */
    public function origin(): string;
}
