<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

/** Tells the password of a Redis at each new connection. */
final class Token
{
    /** @return array{?string, string} */
    public function __invoke(): array
    {
        return [null, 'word'];
    }
}
