<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

/** An enum to be stored. */
enum Suit: string
{
    case Hearts = 'h';
    case Spades = 's';
}
