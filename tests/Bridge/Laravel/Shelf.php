<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge\Laravel;

/** A key whose value is an integer. */
enum Shelf: int
{
    case Upper = 7;
}
