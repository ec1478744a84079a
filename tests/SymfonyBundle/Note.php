<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

/** A message. */
final class Note
{
    public function __construct(public string $text) {}
}
