<?php

declare(strict_types=1);

namespace Larder\Lab\Plan;

use Larder\Lab\Run\Context;
use Larder\Lab\Run\Measured;

/** What is measured in one go of a round: a few cells, in processes that are started for it and end with it. */
interface Task
{
    /** Unique within a run, and the same when a run is resumed. */
    public function id(): string;

    /** @return non-empty-list<Side> */
    public function sides(): array;

    /**
     * What is reported of the two sides' ratio, of a task that compares, or of its only side's to the tables' figure of
     * the same cell; null for one that fills the tables.
     */
    public function pair(): ?Pair;

    /**
     * Measures it once.
     *
     * @return list<Measured> one a side, in their order
     *
     * @throws \RuntimeException when nothing could be measured; the message is shown to the user
     */
    public function perform(Context $context): array;
}
