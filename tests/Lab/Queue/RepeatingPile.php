<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Queue;

final class RepeatingPile extends FaultyPile
{
    protected function loses(): bool
    {
        return false;
    }
}
