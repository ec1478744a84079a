--TEST--
fill(), raise() and drop(): copies of what is elsewhere
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: an older copy that replaces a newer one; a guard that is not there and allows; what is refused leaving
// an older copy there; drop() of whatever is there.
$segment = segment();
same('no guard', [false, false], [$segment->fill('k', 'v', 0, 5, 'guard', 10), $segment->has('k')]);
foreach (['text', 1.5, [10], null] as $wrong) {
    $segment->set('wrong', $wrong);
    same('no integer for a guard', [false, false], [$segment->fill('k', 'v', 0, 5, 'wrong', 10), $segment->raise('wrong', 5)]);
    same('it stays', $wrong, $segment->get('wrong'));
}
$segment->set('guard', 10);
same('allowed', [true, ['v']], [$segment->fill('k', ['v'], 0, 5, 'guard', 10), $segment->get('k')]);
same('an older one', [false, ['v']], [$segment->fill('k', 'older', 0, 4, 'guard', 10), $segment->get('k')]);
same('the same position', [true, 'same'], [$segment->fill('k', 'same', 0, 5, 'guard', 10), $segment->get('k')]);
same('a newer one', [true, 'newer'], [$segment->fill('k', 'newer', 0, 6, 'guard', PHP_INT_MAX), $segment->get('k')]);
same('raised', [true, 12], [$segment->raise('guard', 12), $segment->get('guard')]);
same('never lowered', [true, 12], [$segment->raise('guard', PHP_INT_MIN), $segment->get('guard')]);
same('nothing to raise', [false, false], [$segment->raise('none', 1), $segment->has('none')]);
same('too early, and older than what is there', [false, 'newer'], [$segment->fill('k', 'x', 0, 5, 'guard', 11), $segment->get('k')]);
same('too early, and newer', [false, false], [$segment->fill('k', 'x', 0, 7, 'guard', 11), $segment->has('k')]);
$segment->fill('k', 'v', 0, 7, 'guard', 12);
same('drop of what is not older', [false, 'v'], [$segment->drop('k', 7), $segment->get('k')]);
same('drop', [true, false, false], [$segment->drop('k', 8), $segment->has('k'), $segment->drop('k', 8)]);
same('what set() stores is older than any copy', [true, true, 'copy'], [$segment->set('k', 'v'), $segment->fill('k', 'copy', 0, 1, 'guard', 12), $segment->get('k')]);
same('set() over a copy', [true, 'v', true], [$segment->set('k', 'v'), $segment->get('k'), $segment->drop('k', 1)]);
same('over before it began', [false, false], [$segment->fill('k', 'v', -1, 9, 'guard', 12), $segment->has('k')]);
$segment->fill('k', 'v', 0, 9, 'guard', 12);
same('over, and takes the older with it', [false, false], [$segment->fill('k', 'v', -1, 10, 'guard', 12), $segment->has('k')]);
same('no room', [true, false, false], [$segment->fill('k', 'v', 0, 9, 'guard', 12), $segment->fill('k', str_repeat('x', 3 << 20), 0, 10, 'guard', 12), $segment->has('k')]);
foreach ([PHP_INT_MIN, -1, 0] as $position) {
    same('no position is the first', [true, true], [$segment->fill('k', $position, 0, $position, 'guard', 12), $segment->drop('k', 1)]);
}
same('the last position', [true, false, 'v'], [$segment->fill('k', 'v', 0, PHP_INT_MAX, 'guard', 12), $segment->drop('k', PHP_INT_MAX), $segment->get('k')]);
same('a guard guards itself', [true, 20], [$segment->fill('guard', 20, 0, 1, 'guard', 12), $segment->get('guard')]);
$object = new ArrayObject([1]);
$segment->fill('o', ['object' => $object, 'part' => [1, 2]], 0, 1, 'guard', 20);
same('objects', serialize(['object' => $object, 'part' => [1, 2]]), serialize($segment->get('o')));
foreach ([['', 1, 'guard'], ['k', 1, ''], ['k', STDIN, 'guard'], ['k', static fn () => 1, 'guard']] as [$key, $value, $guard]) {
    echo thrown(static fn () => $segment->fill($key, $value, 0, 1, $guard, 20)), "\n";
}
// Looking at a guard is no get.
$before = $segment->stats();
$segment->fill('k', 'v', 0, 1, 'guard', 20);
$segment->fill('k', 'v', 0, 1, 'none', 20);
$after = $segment->stats();
same('not counted', [$before['hits'], $before['misses']], [$after['hits'], $after['misses']]);
same('check', null, $segment->check());
?>
--EXPECT--
Larder\SegmentException: A key has 1 to 65535 bytes, and this one has 0: store it under a hash of it
Larder\SegmentException: A key has 1 to 65535 bytes, and this one has 0: store it under a hash of it
Larder\SegmentException: A resource cannot be stored in a segment: it is this process's own, so store what it can be opened by
Larder\SegmentException: Serialization of 'Closure' is not allowed, so it cannot be stored in a segment: store what it can be made from
