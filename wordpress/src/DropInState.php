<?php

declare(strict_types=1);

namespace Larder\WordPress;

/** What lies at wp-content/object-cache.php. */
enum DropInState: string
{
    /** Ours, of this version. */
    case Ours = 'ours';
    /** Ours, of another version. */
    case Outdated = 'outdated';
    /** Another plugin's. */
    case Foreign = 'foreign';
    case Missing = 'missing';
    /** There is none, and none can be put there. */
    case Unwritable = 'unwritable';

    public function isOurs(): bool
    {
        return $this === self::Ours || $this === self::Outdated;
    }
}
