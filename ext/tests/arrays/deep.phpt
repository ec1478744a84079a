--TEST--
Arrays nested deeper than a stack is
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: what is deeper than 512 levels left to the serializer (4,096 levels at most).
$segment = segment(80 << 20);
foreach ([511, 512, 513, 4096, 4097, 10000, 100000] as $levels) {
    $value = ['the innermost'];
    for ($i = 1; $i < $levels; $i++) {
        $value = $i % 2 ? ['k' => $value] : [1, $value, "level $i"];
    }
    same("$levels, set", true, $segment->set('deep', $value));
    // The engine destroys an array of its own by recursion: level by level, so that it need not.
    while (is_array($value)) {
        $value = $value['k'] ?? $value[1] ?? null;
    }
    $got = $segment->get('deep');
    for ($depth = 1; isset($got['k']) || isset($got[1]); $depth++) {
        $got = $got['k'] ?? $got[1];
    }
    same("$levels, levels", $levels, $depth);
    same("$levels, innermost", ['the innermost'], $got);
    same("$levels, check", null, $segment->check());
}
// With an object at the bottom, all of the way is built.
$value = [new ArrayObject(['x'])];
for ($i = 1; $i < 5000; $i++) {
    $value = ['k' => $value, 'other' => ["level $i"]];
}
$segment->set('deep', $value);
$got = $segment->get('deep');
for ($i = 4999; $i >= 1; $i--) {
    same("beside level $i", ["level $i"], $got['other']);
    $got = $got['k'];
}
same('object', 'x', $got[0][0]);
echo "done\n";
--EXPECT--
done
