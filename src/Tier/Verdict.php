<?php

declare(strict_types=1);

namespace Larder\Tier;

/** What becomes of a write. */
enum Verdict
{
    /** Stored. */
    case Store;
    /** The very same bytes are there already. */
    case Same;
    /** Stored for two seconds: it may be the older of two. */
    case Bounded;
    /** Not stored, and what is there goes too. */
    case Drop;
    /** The truth tier could not be asked. */
    case Failed;
}
