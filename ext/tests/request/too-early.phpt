--TEST--
Values taken away at RSHUTDOWN are still in use: the control of LARDER_AFTER
--SKIPIF--
<?php
if (getenv('LARDER_VALGRIND')) { echo 'skip it dies on purpose, which Valgrind reports'; }
if (!getenv('LARDER_MODULE')) { echo 'skip only a build with checks takes values away (ext/test)'; }
?>
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// It shows that what several-requests.phpt looks for would be seen.
segment()->set('key', ['shared key' => ['x' => 'shared value']]);
$code = '
    foreach ($segment->get("key") as $key => $value) {
        // Of an array that has another key too than those that are never freed, all are looked at.
        $GLOBALS["kept"] = ["own " . getmypid() => 1, $key => [key($value) => $value["x"]], 5 => $value];
    }
    class Keeps { public static array $static = []; }
    Keeps::$static[key($kept)] = $kept;
    echo "ran";';
foreach (['none' => 0, 'early' => 11] as $after => $signal) {
    $result = child($code, ['LARDER_AFTER' => $after, 'USE_ZEND_ALLOC' => '0']);
    same("hidden: $after", ['ran', $signal], [$result['output'], $result['signal']]);
}
same('check', null, segment()->check());
echo "done\n";
--EXPECT--
done
