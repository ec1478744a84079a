--TEST--
Null, booleans, integers, floats and strings come back as they were
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: the float's bits written as an integer's value (-0.0, NAN); get() with a fallback for a stored null.
$segment = segment();
$values = [
    'null' => null, 'false' => false, 'true' => true,
    'zero' => 0, 'one' => 1, 'least' => PHP_INT_MIN, 'most' => PHP_INT_MAX,
    '0.0' => 0.0, '-0.0' => -0.0, 'NAN' => NAN, '-NAN' => -NAN, 'INF' => INF, '-INF' => -INF, 'smallest' => 5e-324, 'largest' => PHP_FLOAT_MAX, 'third' => 1 / 3,
    'empty' => '', 'nul' => "\0", 'nuls' => "a\0b\0", 'number' => '12', 'bytes' => implode('', array_map('chr', range(0, 255))),
    'x' => 'x', '20kB' => random_bytes(20000), 'MB' => str_repeat('abcdefgh', 131072),
];
foreach ($values as $key => $value) {
    $key = (string) $key;
    there_and_back($segment, $key, $value);
    same("$key, not the fallback", $value, $segment->get($key, 'fallback'));
    same("$key, has", true, $segment->has($key));
}
foreach ($values as $key => $value) {
    same("all, $key", $value, $segment->getMultiple(array_keys($values))[$key]);
}
same('-0.0 keeps its sign', -INF, 1 / -1 * INF);
same('-0.0 keeps its sign in an array', "a:1:{i:0;d:-0;}", serialize($segment->set('a', [-0.0]) ? $segment->get('a') : null));
echo "done\n";
--EXPECT--
done
