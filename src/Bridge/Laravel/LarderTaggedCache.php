<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Cache\Events\CacheFlushed;
use Illuminate\Cache\Events\CacheFlushFailed;
use Illuminate\Cache\Events\CacheFlushing;
use Illuminate\Cache\TaggedCache;

/** What is stored with tags. A key is found under the same names of tags, in the same order, as in Laravel's other stores. */
final class LarderTaggedCache extends TaggedCache
{
    use RemembersOnce;

    public function __construct(LarderStore $store, private readonly LarderTagSet $set)
    {
        parent::__construct($store, $set);
    }

    /** Invalidates every item that has one of the tags: one write. */
    public function flush(): bool
    {
        $this->event(new CacheFlushing($this->getName()));
        $done = $this->set->reset();
        $this->event($done ? new CacheFlushed($this->getName()) : new CacheFlushFailed($this->getName()));

        return $done;
    }
}
