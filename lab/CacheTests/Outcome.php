<?php

declare(strict_types=1);

namespace Larder\Lab\CacheTests;

/** How a test of the suite ended. */
enum Outcome
{
    case Passed;

    case Failed;

    /** Something else than what the test is about went wrong first, or the cache sent a request twice. */
    case Unready;

    /** It depends on a test that did not pass. */
    case Skipped;

    case NotRun;
}
