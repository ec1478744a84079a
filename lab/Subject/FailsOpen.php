<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/** A driver whose engine goes on without a part that is missing or has failed. */
interface FailsOpen extends Driver
{
    /**
     * Looks for such a part, outside the clock.
     *
     * @throws EngineFailure
     */
    public function inspect(): void;
}
