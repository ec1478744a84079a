--TEST--
A fetched array stored again: as it is, in itself, changed, under its own key (what must be tested, 15)
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: writing a string that lies in a segment already as a pointer to where it lies.
$segment = segment();
$original = ['a' => ['b' => ['c', 'd' => "text\0"]], 5 => [], 'list' => range(1, 20), 'empty' => '', 'f' => -0.0];
$segment->set('one', $original);
$segment->set('two', $segment->get('one'));
$segment->set('one', $segment->get('one'));
same('under its own key', $original, $segment->get('one'));
same('under another', $original, $segment->get('two'));
for ($i = 0; $i < 200; $i++) {
    $segment->set('one', $segment->get('one'));
}
same('two hundred times', $original, $segment->get('one'));
$held = $segment->get('two');
$segment->delete('two');
$segment->set('three', $held);
same('after its deletion', $original, $segment->get('three'));
$segment->flush();
$segment->set('four', $held);
same('after a flush', $original, $segment->get('four'));

$nested = $segment->get('four');
$nested['self'] = $segment->get('four');
$nested['a']['b'][] = $segment->get('four');
$segment->set('five', $nested);
same('in itself', $nested, $segment->get('five'));
same('the original', $original, $segment->get('four'));
$expected = $original;
$expected['self'] = $original;
$expected['a']['b'][] = $original;
same('what was meant', $expected, $segment->get('five'));

same('in another process', md5(serialize($expected)), child('echo md5(serialize($segment->get("five")));')['output']);

$other = Larder\Segment::open(directory() . '/other', 4 << 20);
$other->set('k', $segment->get('five'));
$segment->flush();
$segment->set('five', 'something else');
same('in another segment', $expected, $other->get('k'));
same('check', [null, null], [$segment->check(), $other->check()]);
echo "done\n";
--EXPECT--
done
