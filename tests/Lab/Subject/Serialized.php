<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

/** What each serializer makes of a value, by its own function. */
final class Serialized
{
    public static function by(string $serializer, mixed $value): string
    {
        return match ($serializer) {
            'none' => \is_string($value) ? $value : throw new \LogicException('Only a string goes through no serializer'),
            'php' => \serialize($value),
            'igbinary' => (string) \igbinary_serialize($value),
            'msgpack' => (string) \msgpack_pack($value),
            default => throw new \LogicException("There is no serializer $serializer"),
        };
    }
}
