--TEST--
Objects come back by the engine\'s serialization: copies, the same one twice, enums, classes that are gone
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: all markers with the same number.
$segment = segment();
enum Suit: string
{
    case Hearts = 'H';
    case Spades = 'S';
}
final class Point
{
    public ?Point $next = null;
    public function __construct(public int $x = 0, private array $data = [], protected readonly string $name = 'n') {}
}
final class Slept
{
    public array $log = [];
    public function __sleep(): array { return ['log']; }
    public function __wakeup(): void { $this->log[] = 'woken'; }
}
final class Packed
{
    public function __construct(public array $data) {}
    public function __serialize(): array { return ['d' => $this->data]; }
    public function __unserialize(array $data): void { $this->data = $data['d']; }
}
$values = [
    'empty' => new stdClass(), 'point' => new Point(3, ['a' => [1]], 'name'), 'date' => new DateTimeImmutable('2024-02-29 12:00:00 UTC'),
    'ArrayObject' => new ArrayObject(['x' => [1]]), 'SplObjectStorage' => (static function () { $s = new SplObjectStorage(); $s[new stdClass()] = 'd'; return $s; })(),
    'packed' => new Packed(['a' => "b\0"]), 'with arrays' => (object) ['a' => range(1, 5), 5 => 'x'],
    'list' => [new Point(1), new Point(2)], 'deep' => ['a' => ['b' => [new Point(1), 'c' => ['free' => [1, 2, 3]]], 'free' => ['x']], 'free' => [[]]],
    'order' => [[new Point(1)], new Point(2), ['x' => new Point(3), [new Point(4)]], new Point(5)],
    'holes' => array_filter([new Point(1), null, new Point(2), null, new Point(3)]),
    'negative' => [-5 => new Point(1), 'key' => new Point(2), "\0" => new Point(3)],
];
foreach ($values as $name => $value) {
    $segment->set($name, $value);
    foreach ([1, 2] as $time) {
        $got = $segment->get($name);
        same("$name, $time", serialize($value), serialize($got));
        same("$name, equal", true, ($value == $got || $name === 'SplObjectStorage') && $value !== $got);
    }
    if (is_array($value)) {
        $got[] = 'appended';
        $value[] = 'appended';
        same("$name, appended to", serialize($value), serialize($got));
    }
}
$segment->set('suit', Suit::Hearts);
same('enum', true, $segment->get('suit') === Suit::Hearts);
$segment->set('suits', ['a' => Suit::Spades, 'b' => [Suit::Hearts, Suit::Hearts], 'c' => ['free']]);
same('enums', true, $segment->get('suits') === ['a' => Suit::Spades, 'b' => [Suit::Hearts, Suit::Hearts], 'c' => ['free']]);

$one = new Point(1);
$two = new Point(2);
$one->next = $two;
$two->next = $one;
$segment->set('same', ['a' => $one, 'b' => [$one, $two], 'c' => ['x' => $two]]);
$got = $segment->get('same');
same('the same one', [true, true, true, true], [$got['a'] === $got['b'][0], $got['b'][1] === $got['c']['x'], $got['a']->next === $got['b'][1], $got['c']['x']->next === $got['a']]);

$segment->set('slept', [new Slept(), 'second' => new Slept()]);
same('woken once', [['woken'], ['woken']], array_map(static fn (Slept $one) => $one->log, array_values($segment->get('slept'))));
$segment->get('slept')[0]->log[] = 'changed';
same('a copy at each get', ['woken'], $segment->get('slept')[0]->log);

// A class that this process does not have.
child('enum Other { case A; } final class Elsewhere { public $p = [1]; } $segment->set("gone", new Elsewhere()); $segment->set("gone in an array", ["x" => new Elsewhere(), "y" => [1]]); $segment->set("gone enum", ["x" => [Other::A]]);');
same('a class that is gone', ['__PHP_Incomplete_Class', '__PHP_Incomplete_Class'], [get_class($segment->get('gone')), get_class($segment->get('gone in an array')['x'])]);
same('beside it', [1], $segment->get('gone in an array')['y']);
$segment->set('gone', $segment->get('gone'));
same('stored again, in its own class', '9:"Elsewhere"', substr(serialize($segment->get('gone')), 2, 13));
echo thrown(static fn () => @$segment->get('gone enum')), "\n";
same('fallback for what throws', true, $segment->has('gone enum'));
spl_autoload_register(static function (string $class) use ($segment): void {
    // Code that runs in the middle of a get, and changes what is being read.
    $segment->set('gone', 'replaced');
    $segment->flush();
    for ($i = 0; $i < 100; $i++) {
        $segment->set("filler $i", str_repeat('filler', 100));
    }
    eval("final class $class { public \$p; }");
});
same('the class comes while it is read', 'Elsewhere', get_class($segment->get('gone')));
same('check', null, $segment->check());
--EXPECT--
Larder\SegmentException: A value in the segment cannot be unserialized: a class of its objects has changed since it was stored, or PHP's unserialize_max_depth is too small; delete it, or store it anew
