<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Larder\Lock\Locks;

/** A store's locks, opened with the first one that is asked for. */
final class LockPlace
{
    private ?Locks $locks = null;

    public function __construct(private readonly Opened $opened, private readonly Settings $settings) {}

    public function locks(): Locks
    {
        return $this->locks ??= $this->settings->open(function (): Locks {
            $source = $this->settings->locks();

            return $this->opened->once(Locks::class, $source, static fn(): Locks => Locks::open($source));
        });
    }
}
