<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\TableTask;

/** What all tasks on a subject's own site have in common: nothing there can be measured in turn with another side. */
abstract readonly class SiteTask extends TableTask
{
    /** @param non-empty-list<Side> $sides of one subject */
    public function __construct(
        protected Stage $stage,
        string $id,
        array $sides,
    ) {
        parent::__construct($id, $sides);
    }
}
