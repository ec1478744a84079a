<?php

declare(strict_types=1);

namespace Larder\Demo;

/** One thing that Larder promises, done for real. */
interface Act
{
    public function title(): string;

    /** @return list<Part> what it cannot be played without */
    public function needs(): array;

    public function play(Stage $stage): void;
}
