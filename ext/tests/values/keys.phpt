--TEST--
Keys of every length and kind; more than 65,535 bytes and none at all are refused where something is stored
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: no upper bound for what is stored; getMultiple() that keeps "12" a string.
$segment = segment();
foreach ([1, 2, 7, 8, 9, 255, 256, 65534, 65535] as $length) {
    $key = str_repeat('k', $length);
    same("$length bytes, set", true, $segment->set($key, $length));
    same("$length bytes, get", $length, $segment->get($key));
    same("$length bytes, has", true, $segment->has($key));
    same("$length bytes, delete", true, $segment->delete($key));
    same("$length bytes, gone", 'no', $segment->get($key, 'no'));
}
foreach (['', str_repeat('k', 65536), str_repeat('k', 65537), str_repeat('k', 131072 + 1)] as $key) {
    $segment->set('k', 'one byte');
    $length = strlen($key);
    foreach (['set' => [$key, 1], 'add' => [$key, 1], 'replace' => [$key, 1], 'increment' => [$key]] as $method => $arguments) {
        $expected = "Larder\\SegmentException: A key has 1 to 65535 bytes, and this one has $length: store it under a hash of it";
        same("$length bytes, $method", $expected, thrown(static fn () => $segment->$method(...$arguments)));
    }
    same("$length bytes, get", 'no', $segment->get($key, 'no'));
    same("$length bytes, has", false, $segment->has($key));
    same("$length bytes, delete", false, $segment->delete($key));
    same("$length bytes, getMultiple", [], $segment->getMultiple([$key]));
    same("$length bytes, the other key", 'one byte', $segment->get('k'));
}
foreach (['0', '12', '-5', '012', '9223372036854775807', '9223372036854775808', "\0", "a\0b", 'ä', "\xff", ' ', '1.5'] as $key) {
    $segment->set($key, "value of $key");
    same($key, "value of $key", $segment->get($key));
    same("$key, getMultiple", [$key => "value of $key"], $segment->getMultiple([$key]));
}
// Keys of an array: what looks like an integer is one.
$segment->set('7', 'seven');
$reference = 'ä';
same('all at once', [7 => 'seven', 'ä' => 'value of ä', 12 => 'value of 12'], $segment->getMultiple([7, 'ä', 'missing', '7', '12', 12, &$reference, '']));
same('none', [], $segment->getMultiple([]));
same('from a hash with holes', ['ä' => 'value of ä'], $segment->getMultiple(array_diff_key(['x' => '7', 'y' => 'ä'], ['x' => 1])));
foreach ([null, true, 1.5, [], new ArrayObject(), STDIN] as $wrong) {
    echo thrown(static fn () => $segment->getMultiple(['7', $wrong])), "\n";
}
same('check', null, $segment->check());
--EXPECT--
TypeError: Larder\Segment::getMultiple(): Argument #1 ($keys) must be an array of strings and integers, null given
TypeError: Larder\Segment::getMultiple(): Argument #1 ($keys) must be an array of strings and integers, bool given
TypeError: Larder\Segment::getMultiple(): Argument #1 ($keys) must be an array of strings and integers, float given
TypeError: Larder\Segment::getMultiple(): Argument #1 ($keys) must be an array of strings and integers, array given
TypeError: Larder\Segment::getMultiple(): Argument #1 ($keys) must be an array of strings and integers, ArrayObject given
TypeError: Larder\Segment::getMultiple(): Argument #1 ($keys) must be an array of strings and integers, resource given
