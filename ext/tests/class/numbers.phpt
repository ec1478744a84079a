--TEST--
increment() and times: missing, expired, no integer, overflow; times below zero and beyond the clock
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: $initial alone for a missing value; a sum that wraps.
$segment = segment();
same('missing', 1, $segment->increment('a'));
same('there', 3, $segment->increment('a', 2));
same('down', -7, $segment->increment('a', -10));
same('by nothing', -7, $segment->increment('a', 0, 100));
same('initial and by', 15, $segment->increment('b', 5, 10));
same('stored', [-7, 15], [$segment->get('a'), $segment->get('b')]);
foreach (['string' => '5', 'float' => 5.0, 'null' => null, 'true' => true, 'array' => [1], 'object' => new ArrayObject([1])] as $name => $value) {
    $segment->set('k', $value);
    same("$name is no integer", false, $segment->increment('k'));
    same("$name stays", serialize($value), serialize($segment->get('k')));
}
$segment->set('k', PHP_INT_MAX);
same('overflow', false, $segment->increment('k'));
same('unchanged', PHP_INT_MAX, $segment->get('k'));
$segment->set('k', PHP_INT_MIN);
same('underflow', [false, PHP_INT_MIN], [$segment->increment('k', -1), $segment->get('k')]);
same('up to the last', PHP_INT_MAX, $segment->increment('last', 1, PHP_INT_MAX - 1));
same('overflow of a missing one', [false, false], [$segment->increment('c', 1, PHP_INT_MAX), $segment->has('c')]);
same('the least there is, taken away', [false, false], [$segment->increment('c', PHP_INT_MIN, -1), $segment->has('c')]);

same('over before it began', true, $segment->set('a', 'x', -1));
same('gone', [false, 'no'], [$segment->has('a'), $segment->get('a', 'no')]);
same('add of what is over', [false, false], [$segment->add('a', 'x', -1), $segment->has('a')]);
$segment->set('a', 'x');
same('add where there is something', [false, 'x'], [$segment->add('a', 'y', -1), $segment->get('a')]);
same('replace by what is over', [true, false], [$segment->replace('a', 'y', -1), $segment->has('a')]);
same('replace of nothing', [false, false], [$segment->replace('a', 'y', -1), $segment->replace('a', 'y')]);
same('counted, and over', [6, false], [$segment->increment('d', 1, 5, -1), $segment->has('d')]);
same('beyond what a clock counts', [true, 'x'], [$segment->set('a', 'x', PHP_INT_MAX), $segment->get('a')]);
same('the least time', [true, false], [$segment->set('a', 'x', PHP_INT_MIN), $segment->has('a')]);

$segment->set('short', 1, 1);
$segment->increment('counter', 1, 0, 1);
$segment->increment('counter', 1, 0, 1000);
$segment->set('stays', 'x', 1000);
$end = hrtime(true) + 5_000_000_000;
while (($segment->has('short') || $segment->has('counter')) && hrtime(true) < $end) {
    usleep(20_000);
}
same('over', [false, false, 'x'], [$segment->has('short'), $segment->has('counter'), $segment->get('stays')]);
same('delete of what is over', false, $segment->delete('short'));
same('counts anew', 11, $segment->increment('counter', 1, 10));
same('add after the end', true, $segment->add('short', 2));
same('check', null, $segment->check());

// No room: no older value may stay.
$segment->set('k', 'old');
same('too large', [false, 'gone'], [$segment->set('k', str_repeat('x', 3 << 20)), $segment->get('k', 'gone')]);
$segment->set('k', 'old');
same('too large to replace', [false, 'gone'], [$segment->replace('k', str_repeat('x', 3 << 20)), $segment->get('k', 'gone')]);
same('too large to add', [false, false], [$segment->add('k', str_repeat('x', 3 << 20)), $segment->has('k')]);
same('refused', 3, $segment->stats()['refused']);
same('check', null, $segment->check());
?>
--EXPECT--
