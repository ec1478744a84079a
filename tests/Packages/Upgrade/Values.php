<?php

declare(strict_types=1);

namespace Larder\Tests\Packages\Upgrade;

/** Values of each kind that a cache holds. */
final class Values
{
    /** @return array<string, mixed> */
    public static function all(): array
    {
        return [
            'false' => false, 'zero' => 0, 'empty' => '', 'string zero' => '0', 'float' => 1.0, 'infinite' => \INF, 'null' => null, 'least' => \PHP_INT_MIN,
            'binary' => "\0\xff\x07 \x80", 'looks serialized' => 'O:8:"stdClass":0:{}', 'long' => \str_repeat('long ', 4_000),
            'list' => \range(0, 500), 'map' => ['7' => 'a', 'x' => [1.5, ['y' => null]], '' => true],
            'object' => (object) ['n' => 1, 'in' => [(object) ['m' => null]]], 'date' => new \DateTimeImmutable('2030-01-02 03:04:05.678', new \DateTimeZone('Europe/Vienna')),
            'many objects' => \array_map(static fn(int $n): object => (object) ['n' => $n], \range(1, 200)),
        ];
    }

    /** A text that two values share if they are the same. */
    public static function print(mixed $value): string
    {
        return \serialize($value);
    }
}
