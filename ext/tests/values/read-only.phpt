--TEST--
A write into a value dies of it and changes nothing (what must be tested, 1)
--EXTENSIONS--
ffi
--SKIPIF--
<?php if (getenv('LARDER_VALGRIND')) { echo 'skip it dies on purpose, which Valgrind reports'; } ?>
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Seen to fail: the mapping at the base with PROT_WRITE.
$segment = segment();
$segment->set('string', str_repeat('shared', 100));
$segment->set('array', ['key' => str_repeat('element', 100)]);
$write = 'FFI::cdef("void *memset(char *to, int byte, size_t bytes);")->memset($value, 0x78, 1); echo $value[0];';
$settings = ['extension=ffi', 'ffi.enable=1'];

// The control: the same write into a string of the process's own.
$own = child('$value = str_repeat($segment->get("string")[0], 100); ' . $write, [], $settings);
same('own memory', ['output' => 'x', 'code' => 0, 'signal' => 0], $own);

same('a string', 11, child('$value = $segment->get("string"); ' . $write, [], $settings)['signal']);
same('in an array', 11, child('$value = $segment->get("array")["key"]; ' . $write, [], $settings)['signal']);
same('a key', 11, child('$value = array_key_first($segment->get("array")); ' . $write, [], $settings)['signal']);
same('string', str_repeat('shared', 100), $segment->get('string'));
same('array', ['key' => str_repeat('element', 100)], $segment->get('array'));
same('check', null, $segment->check());
echo "done\n";
--EXPECT--
done
