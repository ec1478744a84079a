--TEST--
Values that say that nobody else has them are written to; ours are not (what must be tested, 2)
--SKIPIF--
<?php if (getenv('LARDER_VALGRIND')) { echo 'skip it dies on purpose, which Valgrind reports'; } ?>
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// The control is a build with LARDER_BROKEN_REFCOUNT, so this test shows by itself that it can fail.
$segment = segment();
$ways = [
    'append' => '$value[] = 1;',
    'assign' => '$value["a"] = 1;',
    'unset' => 'unset($value["a"]);',
    'by reference' => 'foreach ($value as &$one) { $one = 1; }',
    'sort' => 'sort($value);',
    'pop' => 'array_pop($value);',
];
foreach ($ways as $name => $way) {
    $broken = getenv('LARDER_BROKEN_MODULE');
    foreach (['ours' => false, 'broken' => true] as $which => $is_broken) {
        if ($is_broken && !$broken) {
            continue;
        }
        $result = child('
            $segment->set("k", ["a" => "b" . getmypid(), "c" => [1]]);
            $value = $segment->get("k");
            ' . $way . '
            echo $segment->get("k") === ["a" => "b" . getmypid(), "c" => [1]] ? "unchanged" : "changed";
        ', [], [], $is_broken ? $broken : null);
        $good = $result === ['output' => 'unchanged', 'code' => 0, 'signal' => 0];
        same("$name, $which", !$is_broken, $good);
    }
}
echo "done\n";
--EXPECT--
done
