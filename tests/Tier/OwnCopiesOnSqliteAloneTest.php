<?php

declare(strict_types=1);

namespace Larder\Tests\Tier;

use Larder\Tests\Psr\Engine\OnEmbedded;

/** Without the segment, which the extension would put before it. */
final class OwnCopiesOnSqliteAloneTest extends OwnCopies
{
    use OnEmbedded {
        options as private embedded;
    }

    /** @return array<string, string> */
    protected function options(): array
    {
        return $this->embedded() + ['near' => 'none'];
    }
}
