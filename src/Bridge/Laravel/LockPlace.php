<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Larder\Lock\Locks;

/** A store's locks, opened with the first one that is asked for. */
final class LockPlace
{
    private ?Locks $locks = null;

    public function __construct(private readonly Settings $settings) {}

    public function locks(): Locks
    {
        return $this->locks ??= $this->settings->open(fn(): Locks => Locks::open($this->settings->locks()));
    }
}
