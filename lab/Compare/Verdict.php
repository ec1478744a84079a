<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

/** What two reports say of one thing that both have. */
enum Verdict: string
{
    /** Slower, or larger: what the exit status is about. */
    case Slower = 'slower';
    case Faster = 'faster';
    /** The whole interval lies within the limit. */
    case Same = 'no change larger than the limit';
    case Unknown = 'cannot tell';
}
