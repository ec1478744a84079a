--TEST--
A segment cannot be opened while preloading (what must be tested, 18)
--SKIPIF--
<?php
extension_loaded('Zend OPcache') || is_file(ini_get('extension_dir') . '/opcache.so') || die('skip this PHP has no OPcache');
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: open() without looking at what the compiler is doing.
$script = directory() . '/preload.php';
file_put_contents($script, '<?php
    try {
        Larder\Segment::open(' . var_export(path(), true) . ', 1 << 20)->set("k", ["v"]);
        $text = "opened";
    } catch (Larder\SegmentException $error) {
        $text = $error->getMessage();
    }
    file_put_contents(' . var_export(directory() . '/said', true) . ', $text);
    final class Preloaded { public static function hello() { return "hello"; } }
');
$opcache = [...(extension_loaded('Zend OPcache') ? [] : ['zend_extension=opcache']), 'opcache.enable_cli=1'];
segment();
$result = child('echo Preloaded::hello(); $segment->set("k", ["v"]); echo $segment->get("k")[0];', [], [...$opcache, "opcache.preload=$script", 'opcache.preload_user=' . (get_current_user())]);
same('the script', ['output' => 'hellov', 'code' => 0, 'signal' => 0], $result);
same('preloading', 'A segment cannot be opened while preloading: what is read then would outlive every request', file_get_contents(directory() . '/said'));
echo "done\n";
--EXPECT--
done
