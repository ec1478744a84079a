<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Tests\Psr\Engine\OnEmbedded;

/** Each request has read of the space before: from then on a read asks for one record, and for no floor. */
final class ConflictTableOnLaterReadsTest extends ConflictTableRules
{
    use OnEmbedded;

    protected function cache(): Cache
    {
        $cache = Cache::open($this->options() + ['near' => 'none']);
        $cache->get('another');

        return $cache;
    }
}
