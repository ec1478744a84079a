--TEST--
References that two have are kept; one that nobody else has is a value
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: dereferencing all of them; a loop taken for an array that occurs twice.
$segment = segment();
$x = 'x';
$segment->set('two', [&$x, &$x, 'other' => 'x']);
$got = $segment->get('two');
$got[0] = 'changed';
same('two elements that are one', ['changed', 'changed', 'other' => 'x'], [$got[0], $got[1], 'other' => $got['other']]);
same('stored', 'x', $segment->get('two')[1]);
same('the original', 'x', $x);

$rows = [['a'], ['b'], ['c']];
foreach ($rows as &$row) {
    $row[] = 'more';
}
unset($row);
$segment->set('rows', $rows);
$got = $segment->get('rows');
$rows[0][] = 'later';
same('after foreach by reference', [['a', 'more'], ['b', 'more'], ['c', 'more']], $got);
$copy = $got;
$copy[2][] = 'x';
same('a copy is one', ['c', 'more'], $got[2]);

$one = [1];
$nested = ['deep' => ['er' => &$one]];
$segment->set('nested', [$nested, &$one]);
$got = $segment->get('nested');
$got[1][] = 2;
same('at two depths', [1, 2], $got[0]['deep']['er']);

$loop = ['a' => 1];
$loop['self'] = &$loop;
same('loop', true, $segment->set('loop', $loop));
$got = $segment->get('loop');
same('loop, inside', 1, $got['self']['self']['self']['a']);
$got['self']['a'] = 2;
same('loop, changed', 2, $got['self']['self']['a']);
$inner = $loop;
unset($loop);
same('a loop whose reference only it has', true, $segment->set('loop', $inner));
same('as the engine serializes it', unserialize(serialize($inner)), $segment->get('loop'));
unset($inner, $got);
gc_collect_cycles();

$a = ['n' => 1];
$b = ['a' => &$a];
$a['b'] = &$b;
same('a loop of two', true, $segment->set('loop', [$a, $b]));
same('a loop of two, inside', 1, $segment->get('loop')[0]['b']['a']['b']['a']['n']);

// References between objects and elements.
$object = new stdClass();
$array = ['object' => $object, 'value' => 1];
$object->element = &$array['value'];
$segment->set('between', $array);
$got = $segment->get('between');
$got['object']->element = 5;
same('an element and a property', 5, $got['value']);
same('stored', 1, $segment->get('between')['value']);

$objects = [new stdClass(), new stdClass()];
$shared = ['s'];
$objects[0]->a = &$shared;
$objects[1]->b = &$shared;
$segment->set('objects', $objects);
$got = $segment->get('objects');
$got[0]->a[] = 't';
same('two properties', ['s', 't'], $got[1]->b);

function by_reference(Larder\Segment $segment, mixed &$value): void
{
    $segment->set('argument', $value);
    $value = $segment->get('argument');
    $value[] = 1;
}
$value = ['x'];
by_reference($segment, $value);
same('an argument by reference', [['x', 1], ['x']], [$value, $segment->get('argument')]);
$fallback = ['fallback'];
$r = &$fallback;
$got = $segment->get('missing', $fallback);
$got[] = 1;
same('the fallback', ['fallback'], $fallback);
same('check', null, $segment->check());
echo "done\n";
--EXPECT--
done
