<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Inside;

/** In the place of System\LockHolders: the model's processes are one to PHP, and none of them calls in the middle of a call. */
final class Holders
{
    public static function add(string $engine, string $path, object $lock): void {}

    public static function remove(string $path, object $lock): void {}
}
