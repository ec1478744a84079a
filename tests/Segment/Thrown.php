<?php

declare(strict_types=1);

namespace Larder\Tests\Segment;

/** What a child's code has thrown. */
final class Thrown extends \RuntimeException
{
    public function __construct(public readonly string $class, string $message)
    {
        parent::__construct($message);
    }
}
