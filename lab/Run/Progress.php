<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

/** Who is told how far a run is. */
interface Progress
{
    /** @param int $done before it starts, by an earlier run that this one goes on with */
    public function start(int $tasks, int $done): void;

    /** The number of tasks, now that more is known. */
    public function expect(int $tasks): void;

    public function at(int $round, string $task): void;

    public function advance(): void;

    public function finish(): void;
}
