<?php

declare(strict_types=1);

namespace Larder\Lab\CacheTests;

/** What a test of the suite says about a cache that does not pass it. */
enum Kind: string
{
    /** It breaks the specification. */
    case Required = 'required';

    /** It asks the origin where it could have answered. */
    case Optimal = 'optimal';

    /** Nothing: the test only looks how caches behave. */
    case Check = 'check';
}
