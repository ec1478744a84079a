--TEST--
What occurs twice in an array is stored once
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: note() that always says "not there before".
$segment = segment(32 << 20);
$bytes = static function (mixed $value) use ($segment): int {
    $segment->flush();
    $segment->set('k', $value);
    same('value', $value, $segment->get('k'));
    same('check', null, $segment->check());

    return $segment->stats()['bytes_used'];
};
$row = array_map(static fn (int $i) => str_repeat("cell $i ", 10), range(1, 50));
$once = $bytes([$row]);
$fifty = $bytes(array_fill(0, 50, $row));
same('fifty times the same row', true, $fifty < $once + 50 * 16 + 100 + 1024); // memory is given by the KiB
$text = str_repeat('the same text ', 100);
same('a string a hundred times', true, $bytes(array_fill(0, 100, $text)) < $bytes([$text]) + 100 * 16 + 100 + 1024);
$columns = [];
$own = [];
for ($i = 0; $i < 200; $i++) {
    $columns[] = ['a long name of a column' => $i, 'another long name of a column' => $i];
    $own[] = [str_repeat("a long name of a column $i", 1) => $i, str_repeat("another long name of a column $i", 1) => $i];
}
same('names of columns', true, $bytes($columns) < $bytes($own) - 200 * 2 * 32);

// Enough of them that the table of what was seen grows, again and again.
$many = [];
for ($i = 0; $i < 3000; $i++) {
    $one = ["string $i", ["inner $i"]];
    $many[] = $one;
    $many[] = ['again' => $one, 'twice' => [$one, $one]];
}
$bytes($many);

// On the way to an object: built each time, but one array is one array.
$object = new stdClass();
$inner = ['object' => $object, 'rest' => range(1, 10)];
$segment->set('o', [$inner, 'x' => $inner, [$object, $inner['rest']]]);
$got = $segment->get('o');
same('with objects', [$inner, 'x' => $inner, [$object, $inner['rest']]], $got);
same('the same object', true, $got[0]['object'] === $got['x']['object'] && $got[1][0] === $got['x']['object']);
same('another at each get', false, $got[0]['object'] === $segment->get('o')[0]['object']);
$got[0]['rest'][] = 'changed';
$got['x']['object']->p = 'changed';
same('unchanged', [$inner, 'x' => $inner, [$object, $inner['rest']]], $segment->get('o'));
same('check', null, $segment->check());
echo "done\n";
--EXPECT--
done
