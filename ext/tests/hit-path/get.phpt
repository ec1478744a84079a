--TEST--
What get() of the library's cache answers by itself, and what it asks the library
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/library.inc';

$segment = segment();
$cache = new Library($segment);
foreach (['k', '123', '-7', '007'] as $i => $key) {
    $value = ["$i" => str_repeat('v', 100 + $i), 'list' => [1, 2, [3]]];
    $segment->set("p:$key", [15, $value]);
    same("$key out of the segment", $value, $cache->get($key));
    $mine = $cache->get($key);
    $inner = &$mine['list'][2][0];
    $inner = 'mine';
    unset($inner);
    same("$key out of the copies", $value, $cache->get($key));
    same("$key is kept", [$value, []], [$cache->kept[$key], $cache->called()]);
}
same('counted', [12, 4], $cache->counted());

// Out of the copies, whatever it is; but null is none.
foreach (['', 0, false, 1.5, str_repeat('s', 1000), [[]], [new stdClass]] as $value) {
    $cache->kept['c'] = $value;
    same('a copy', $value, $cache->get('c'));
}
$cache->kept['c'] = null;
same('null is none', ['d', [['c', true, null]]], [$cache->get('c', 'd'), $cache->called()]);

// Judged by the library.
foreach ([[10, 'x'], [21, 'x'], [15, null], [15, null, 'x'], ['15', 'x'], [15], [], 'x', 7, false, [1 => 'x'], ['a' => 15, 'b' => 'x']] as $copy) {
    $segment->set('p:odd', $copy);
    same('an odd one', [null, [['odd', true, $copy]]], [$cache->get('odd'), $cache->called()]);
}
$cache->changed['odd'] = 33;
foreach ([[15, null], [33, 'own'], [34, null], [32, null]] as [$at, $answer]) {
    $segment->set('p:odd', [$at, 'own']);
    same("own change, $at", $answer, $cache->get('odd'));
    unset($cache->kept['odd']);
}
$cache->called();

// One with an expiry, if the store's clock is known.
$cache->changed = [];
$uptime = intdiv(hrtime(true), 1_000_000);
[$cache->clock, $cache->known] = [5_000, $uptime + 600_000];
$now = $uptime + 5_000;
$copy = [15, null, ['timed'], $now - 7, $now + 90_000, 0, 0, [], false];
foreach (['t', '42'] as $key) {
    $segment->set("p:$key", $copy);
    same('one with an expiry', [['timed'], []], [$cache->get($key), $cache->called()]);
    same('is kept', ['timed'], $cache->kept[$key]);
    $left = $cache->times[$key] - hrtime(true);
    same('until it ends', [true, true], [$left <= 90_000_000_000, $left > 80_000_000_000]);
    same('the next to end', $cache->times[$key], $cache->end);
    unset($cache->kept[$key]);
}
same('by key', ['t', 42], array_keys($cache->times));
$cache->end = $cache->renewal = 1000 + $sooner = hrtime(true) + 1_000_000_000;
$cache->get('t');
same('another ends sooner', [$sooner + 1000, $sooner + 1000], [$cache->end, $cache->renewal]);
$segment->set('p:long', array_replace($copy, [4 => PHP_INT_MAX]));
same('for nearly ever', ['timed'], $cache->get('long'));
same('not beyond what an integer holds', true, $cache->times['long'] > hrtime(true) + 7_000_000_000_000_000_000);
$others = [
    'expired' => [4 => $now - 1], 'from the future' => [3 => $now + 70_000], 'soft' => [5 => 1], 'sure' => [6 => 1], 'tagged' => [7 => ['t']],
    'encoded' => [8 => true], 'null' => [2 => null], 'too old' => [0 => 10], 'too new' => [0 => 21], 'longer' => [9 => 1],
    'no times' => [3 => null], 'a string for a time' => [4 => '9'], 'no expiry' => [4 => 0], 'no list' => [7 => 0],
];
foreach ($others as $what => $parts) {
    $other = array_replace($copy, $parts);
    $segment->set('p:o', $other);
    same($what, [null, [['o', true, $other]]], [$cache->get('o'), $cache->called()]);
}
unset($cache->kept['t']);
$cache->known = $uptime;
same('nobody knows the time', [null, [['t', true, $copy]]], [$cache->get('t'), $cache->called()]);
same('none of these ends', ['t', 42, 'long'], array_keys($cache->times));

// Not asked at all: another version of the view, a key that is too long, no segment.
$cache->view = 1;
same('another view', [null, [['l', true, false]]], [$cache->get('l'), $cache->called()]);
$cache->view = 0;
$long = str_repeat('k', 600);
same('a long key', [null, [[$long, true, false]]], [$cache->get($long), $cache->called()]);
$without = new Library(null);
same('no segment', [null, [['k', true, false]]], [$without->get('k'), $without->called()]);

// The clock: as soon as it is time, before the copies are looked at.
$cache->kept['c'] = 'old';
$cache->work = static function (Library $cache): void { $cache->kept = ['c' => 'new']; };
$cache->renewal = hrtime(true);
same('renewed', ['new', ['check']], [$cache->get('c'), $cache->called()]);
$cache->renewal = hrtime(true) + 50_000_000;
same('not yet', ['new', []], [$cache->get('c'), $cache->called()]);
usleep(51_000);
same('expired', ['new', ['check']], [$cache->get('c'), $cache->called()]);

// Exceptions of the library's pass on, and nothing is lost or freed twice.
$cache->work = static function (): void { throw new DomainException('thrown'); };
foreach (['renewal' => 'c', 'view' => 'none'] as $property => $key) {
    $cache->$property = 0;
    try {
        $cache->get($key, [str_repeat('d', 100)]);
        echo "no exception\n";
    } catch (DomainException $thrown) {
        same('thrown', 'get', $thrown->getTrace()[2]['function'] ?? $thrown->getTrace()[1]['function']);
    }
}
$cache->work = null;
foreach ([null, []] as $key) {
    try {
        array_map([$cache, 'get'], [$key]);
        echo "no error\n";
    } catch (TypeError $error) {
        echo $error->getMessage(), "\n";
    }
}
try {
    (new ReflectionClass(Library::class))->newInstanceWithoutConstructor()->get('k');
} catch (Error $error) {
    echo $error->getMessage(), "\n";
}
// Often enough that the library bounds its copies.
$cache = new Library($segment);
for ($i = 0; $i < 3000; $i++) {
    $cache->kept = [];
    $cache->get('k');
}
same('every 1024th', 1977, count($cache->called()));
same('counted', [3000, 1023], $cache->counted());
echo "done\n";
--EXPECT--
Library::get(): Argument #1 ($key) must be of type string, null given
Library::get(): Argument #1 ($key) must be of type string, array given
The cache was not constructed
done
