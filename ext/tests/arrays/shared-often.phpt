--TEST--
Arrays that hold the next one twice, level after level, are stored and built once each
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

ini_set('memory_limit', '64M');
$segment = segment();
foreach (['without objects' => ['x'], 'with one' => ['x', new ArrayObject([1])]] as $what => $array) {
    $innermost = $array;
    for ($level = 0; $level < 40; $level++) {
        $array = [$array, $array];
    }
    same("$what, set", true, $segment->set('key', $array));
    // Seen to fail with the object: arrays that are not looked up by where they lie run out of memory.
    $back = $segment->get('key');
    for ($level = 0; $level < 40; $level++) {
        $back = $back[$level % 2];
    }
    same($what, $innermost, $back);
}
// A change of one is no change of the other.
$part = ['object' => new ArrayObject(), 'list' => [1]];
$segment->set('key', [$part, $part]);
$back = $segment->get('key');
$back[0]['list'][] = 2;
same('changed', [[1, 2], [1]], [$back[0]['list'], $back[1]['list']]);
same('the same object', true, $back[0]['object'] === $back[1]['object']);
same('check', null, $segment->check());
echo "done\n";
--EXPECT--
done
