<?php

declare(strict_types=1);

namespace Larder\Request;

/** The decision on a write. */
enum Verdict
{
    /** Stored. */
    case Store;
    /** The key has the very same bytes already. */
    case Same;
    /** Stored for two seconds: it may be the older of two values. */
    case Bounded;
    /** Not stored, and the stored value is dropped too. */
    case Drop;
    /** The truth tier does not answer. */
    case Failed;
}
