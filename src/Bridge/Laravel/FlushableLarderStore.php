<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Contracts\Cache\CanFlushLocks;

/** The store where Laravel has this interface: from 13 on. */
final class FlushableLarderStore extends LarderStore implements CanFlushLocks {}
