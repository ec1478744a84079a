--TEST--
The interface: every signature, and what cannot be done with the class
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

use Larder\Segment;
use Larder\SegmentException;

foreach ((new ReflectionClass(Segment::class))->getMethods() as $method) {
    $parameters = [];
    foreach ($method->getParameters() as $parameter) {
        $parameters[] = $parameter->getType() . ' $' . $parameter->getName()
            . ($parameter->isDefaultValueAvailable() ? ' = ' . var_export($parameter->getDefaultValue(), true) : '');
    }
    echo implode(' ', Reflection::getModifierNames($method->getModifiers())), ' ', $method->getName(), '(', implode(', ', $parameters), ')',
        $method->hasReturnType() ? ': ' . $method->getReturnType() : '', "\n";
}
$class = new ReflectionClass(Segment::class);
same('final, not to be cloned or made', [true, false, false], [$class->isFinal(), $class->isCloneable(), $class->isInstantiable()]);
same('no properties, no constants', [[], []], [$class->getProperties(), $class->getConstants()]);
same('exception', RuntimeException::class, get_parent_class(SegmentException::class));

$segment = segment();
$do = [
    'new' => static fn () => new Segment(),
    'without its constructor' => static fn () => (new ReflectionClass(Segment::class))->newInstanceWithoutConstructor(),
    'clone' => static fn () => clone $segment,
    'serialize' => static fn () => serialize($segment),
    'serialize in an array' => static fn () => serialize([$segment]),
    'unserialize' => static fn () => unserialize('O:14:"Larder\Segment":0:{}'),
    'unserialize, other form' => static fn () => unserialize('C:14:"Larder\Segment":0:{}'),
    'a property' => static fn () => $segment->property = 1,
    'strict types' => static fn () => $segment->get(5),
    'a float for a time' => static fn () => $segment->set('k', 1, 1.5),
    'an unknown name' => static fn () => $segment->set(name: 'k', value: 1),
    'too few' => static fn () => $segment->set('k'),
    'a set to itself' => static fn () => $segment->set('k', $segment),
];
foreach ($do as $what => $closure) {
    echo "$what: ", thrown($closure), "\n";
}
same('named', true, $segment->set(ttl: 100, value: 'named', key: 'k'));
same('named', ['named', 'd'], [$segment->get(key: 'k'), $segment->get(default: 'd', key: 'none')]);
same('named', 12, $segment->increment(key: 'n', initial: 10, by: 2));
same('one file, one segment', 'named', Segment::open(path())->get('k'));
same('the same file by another name', 'named', Segment::open(dirname(path()) . '/../' . basename(dirname(path())) . '/segment')->get('k'));
same('a size that is not its own', $segment->stats()['bytes_total'], Segment::open(path(), 1 << 20)->stats()['bytes_total']);
same('statistics', [
    'entries', 'bytes_used', 'bytes_taken', 'bytes_total', 'hits', 'misses', 'sets', 'evictions', 'expired', 'refused', 'copied', 'mode', 'address', 'retired_bytes',
    'readers', 'recoveries', 'damaged', 'damaged_at',
], array_keys($segment->stats()));
same('the default is what was given', true, $segment->get('none', $object = new stdClass()) === $object);
$reference = 'r';
same('a default by reference', 'r', $segment->get('none', $reference));
var_dump($segment);
same('check', null, $segment->check());
?>
--EXPECTF--
private __construct()
public static open(string $path, int $bytes = 67108864): Larder\Segment
public static build(): string
public get(string $key, mixed $default = NULL): mixed
public getMultiple(array $keys): array
public set(string $key, mixed $value, int $ttl = 0): bool
public add(string $key, mixed $value, int $ttl = 0): bool
public replace(string $key, mixed $value, int $ttl = 0): bool
public has(string $key): bool
public delete(string $key): bool
public increment(string $key, int $by = 1, int $initial = 0, int $ttl = 0): int|false
public flush(): bool
public trim(): void
public release(): void
public fill(string $key, mixed $value, int $ttl, int $position, string $guard, int $at): bool
public raise(string $key, int $to): bool
public drop(string $key, int $position): bool
public stats(): array
public check(): ?string
new: Error: Call to private Larder\Segment::__construct() from global scope
without its constructor: ReflectionException: Class Larder\Segment is an internal class marked as final that cannot be instantiated without invoking its constructor
clone: Error: Trying to clone an uncloneable object of class Larder\Segment
serialize: Exception: Serialization of 'Larder\Segment' is not allowed
serialize in an array: Exception: Serialization of 'Larder\Segment' is not allowed
unserialize: Exception: Unserialization of 'Larder\Segment' is not allowed
unserialize, other form: Exception: Unserialization of 'Larder\Segment' is not allowed
a property: Error: Cannot create dynamic property Larder\Segment::$property
strict types: TypeError: Larder\Segment::get(): Argument #1 ($key) must be of type string, int given
a float for a time: TypeError: Larder\Segment::set(): Argument #3 ($ttl) must be of type int, float given
an unknown name: Error: Unknown named parameter $name
too few: ArgumentCountError: Larder\Segment::set() expects at least 2 arguments, 1 given
a set to itself: Larder\SegmentException: Serialization of 'Larder\Segment' is not allowed, so it cannot be stored in a segment: store what it can be made from
object(Larder\Segment)#%d (0) {
}
