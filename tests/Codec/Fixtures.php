<?php

declare(strict_types=1);

namespace Larder\Tests\Codec;

/** Values of every kind that must come out as they went in; the small classes they are made of are below. */
final class Fixtures
{
    /** @return array<string, mixed> */
    public static function plain(): array
    {
        $deep = 'bottom';
        for ($i = 0; $i < 1000; ++$i) {
            $deep = ['down' => $deep];
        }
        $bytes = '';
        for ($i = 0; $i < 256; ++$i) {
            $bytes .= \chr($i);
        }

        return [
            'empty string' => '',
            'zero string' => '0',
            'exponent string' => '1e3',
            'number string' => '42',
            'string that looks serialized' => 'O:8:"stdClass":0:{}',
            'string that looks encoded' => "\x06i:1;",
            'every byte' => $bytes,
            '2 MB' => \str_repeat($bytes, 8192),
            'int 0' => 0,
            'int -1' => -1,
            'least int' => \PHP_INT_MIN,
            'greatest int' => \PHP_INT_MAX,
            'null' => null,
            'false' => false,
            'true' => true,
            'float 0' => 0.0,
            'float -0' => -0.0,
            'float 1' => 1.0,
            'a third' => 1 / 3,
            'least float' => 5e-324,
            'greatest float' => \PHP_FLOAT_MAX,
            'infinity' => \INF,
            '-infinity' => -\INF,
            'not a number' => \NAN,
            'empty array' => [],
            'list' => [1, 'two', 3.0, null, true, false],
            'list with holes' => [0 => 'a', 2 => 'b', 7 => 'c'],
            'list backwards' => [1 => 'b', 0 => 'a'],
            'negative keys' => [-5 => 'a', -1 => 'b', \PHP_INT_MIN => 'c', \PHP_INT_MAX => 'd'],
            'numeric string keys' => ['1' => 'a', '01' => 'b', '1.0' => 'c', '-0' => 'd', ' 2' => ['3' => ['4' => '5']]],
            'odd keys' => ['' => 1, "\0*\0x" => 2, "\xFF" => 3],
            'floats in arrays' => [0.0, -0.0, 1.0, 0.1, \NAN, \INF, -\INF, 1e300, 5e-324, 3.4e38],
            'ints in arrays' => [0, -1, 127, 128, -129, 255, 65535, 65536, -32769, 4294967296, -2147483649, \PHP_INT_MIN, \PHP_INT_MAX],
            'strings in arrays' => ['', '0', '1e3', 'a', 'a', "\xFF\xFE", $bytes, 'R:2;', '100% of %s;R:1;', "%\x01"],
            'mixed types with one meaning' => [0, '0', 0.0, false, null, '', []],
            'deep' => $deep,
            'wide' => \range(1, 70000),
            'table' => \array_fill(0, 50, \array_combine(\range('a', 'j'), \range(1.5, 10.5))),
        ];
    }

    /** @return array<string, mixed> */
    public static function snapshots(): array
    {
        $shared = new \stdClass();
        $shared->name = 'shared';
        $ring = new \stdClass();
        $ring->self = $ring;
        $storage = new \SplObjectStorage();
        $storage[$shared] = 'data';

        return [
            'empty object' => new \stdClass(),
            'numeric properties' => (object) ['0' => 'a', '1' => 'b'],
            'nested' => ['a' => ['b' => (object) ['c' => [(object) ['d' => 1.0]]]]],
            'one object twice' => [$shared, 'again' => $shared],
            'ring' => $ring,
            'enum' => Suit::Hearts,
            'enums' => [Suit::Hearts, 'k' => Suit::Spades, 'again' => Suit::Hearts],
            'readonly' => new Point(1, -0.0, Suit::Spades),
            'private and protected' => new Hidden('x', [1, 2]),
            'with __serialize' => new Custom('value'),
            'with __sleep' => new Sleeper('kept', 'lost'),
            'object storage' => $storage,
            'array object' => new \ArrayObject(['x' => 1]),
            'date' => new \DateTimeImmutable('2024-02-29 12:34:56.789', new \DateTimeZone('Europe/Berlin')),
            'interval' => ['i' => new \DateInterval('P1DT2H')],
        ];
    }
}

enum Suit: string
{
    case Hearts = 'h';
    case Spades = 's';
}

final class Point
{
    public function __construct(public readonly int $x, public readonly float $y, public readonly Suit $suit) {}
}

class Hidden
{
    /** @param list<int> $list */
    public function __construct(private string $secret, protected array $list) {}

    public function secret(): string
    {
        return $this->secret . \implode(',', $this->list);
    }
}

final class Custom
{
    public function __construct(private string $value) {}

    /** @return array{string} */
    public function __serialize(): array
    {
        return [$this->value];
    }

    /** @param array{string} $data */
    public function __unserialize(array $data): void
    {
        $this->value = $data[0];
    }

    public function value(): string
    {
        return $this->value;
    }
}

final class Sleeper
{
    public ?string $lost = null;

    public function __construct(public string $kept, string $lost)
    {
        $this->lost = $lost;
    }

    /** @return list<string> */
    public function __sleep(): array
    {
        $this->lost = null;

        return ['kept'];
    }
}

final class Handle
{
    /** @var mixed */
    public $inner;
    /** @var array<string, mixed> */
    private array $parts = [];

    public function __construct(mixed $inner, mixed $part = null)
    {
        $this->inner = $inner;
        $this->parts['first'] = $part;
    }

    /** @return array<string, mixed> */
    public function parts(): array
    {
        return $this->parts;
    }
}

final class Refusing
{
    /** @return array<mixed> */
    public function __serialize(): array
    {
        throw new \LogicException('never');
    }
}

final class Waking
{
    public function __wakeup(): void
    {
        \trigger_error('while waking');
        throw new \LogicException('cannot wake');
    }
}

final class Warning
{
    public function __wakeup(): void
    {
        \trigger_error('while waking');
    }
}

final class Choosing
{
    public static int $asked = 0;

    public function __construct(public mixed $file, private readonly bool $keeps) {}

    /** @return array<string, mixed> */
    public function __serialize(): array
    {
        self::$asked++;

        return $this->keeps ? ['file' => $this->file] : [];
    }

    /** @param array<string, mixed> $data */
    public function __unserialize(array $data): void
    {
        $this->file = $data['file'] ?? null;
    }
}

final class Naming
{
    public string $name = 'a';

    /** @param list<string> $names */
    public function __construct(public mixed $file = null, private readonly array $names = []) {}

    /** @return list<string> */
    public function __sleep(): array
    {
        return $this->names;
    }
}

/** PHP's serialize() warns, and writes null. */
final class Sleepless
{
    public string $name = 'a';

    /** @return null */
    public function __sleep()
    {
        return null;
    }
}
