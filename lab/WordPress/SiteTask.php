<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\TableTask;
use Larder\Lab\Run\Context;
use Larder\Lab\Run\Measured;
use Larder\Lab\Service\ServiceFailure;

/**
 * A task on a subject's own site, where nothing can be measured in turn with another side. Before and after it the site
 * must have the near tier that it is told: Larder goes on without one that has failed.
 */
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

    final public function perform(Context $context): array
    {
        $site = $this->stage->site($this->sides[0]->subject, $context);
        $this->inspect($site);
        $measured = $this->measure($site, $context);
        $this->inspect($site);

        return $measured;
    }

    /** @return list<Measured> as perform() */
    abstract protected function measure(Site $site, Context $context): array;

    private function inspect(Site $site): void
    {
        $near = $this->sides[0]->subject->parameters['LARDER_NEAR'] ?? 'none';
        if ($near !== 'none' && !Stopwatch::read($site->get('/', [], Stopwatch::HEADER))->near) {
            throw new ServiceFailure("Larder does not use $near as its near tier. " . \substr($site->errors(), -300));
        }
    }
}
