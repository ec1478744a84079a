--TEST--
What append() adds to a file, and when it adds nothing
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

use function Larder\append;

$path = directory() . '/log';
$file = fopen($path, 'w+e');
fwrite($file, 'generation');

// Wherever the stream stands, and whatever it has read.
foreach (['one', '', str_repeat('long', 5000)] as $record) {
    rewind($file);
    fread($file, 3);
    clearstatcache();
    $size = filesize($path);
    same('where it begins', $size, append($file, 'MAGI', $record, 10, 1 << 20));
    same('the bytes', 'MAGI' . pack('NN', strlen($record), crc32($record)) . $record, substr(file_get_contents($path), $size));
}
clearstatcache();
$size = filesize($path);
same('too short', -1, append($file, 'MAGI', 'r', $size + 1, 1 << 20));
same('full', -1, append($file, 'MAGI', 'r', 10, $size));
same('not full', $size, append($file, 'MAGI', 'r', $size, $size + 1));

$other = fopen($path, 'r+e');
same('read by another handle', 'MAGI', substr(stream_get_contents($other), $size, 4));
flock($other, LOCK_EX);
same('locked', 0, append($file, 'MAGI', 'r', 10, 1 << 20));
flock($other, LOCK_UN);
clearstatcache();
same('not locked', filesize($path), append($file, 'MAGI', 'r', 10, 1 << 20));
same('the lock is released', true, flock($other, LOCK_EX | LOCK_NB));
flock($other, LOCK_UN);

clearstatcache();
$size = filesize($path);
$reading = fopen($path, 're');
same('only for reading', 0, append($reading, 'MAGI', 'r', 10, 1 << 20));
same('no file', -1, append(fopen('php://memory', 'w+'), 'MAGI', 'r', 0, 1 << 20));
clearstatcache();
same('nothing was appended', $size, filesize($path));
unlink($path);
same('deleted', -1, append($file, 'MAGI', 'r', 10, 1 << 20));
fclose($file);
try {
    append($file, 'MAGI', 'r', 10, 1 << 20);
} catch (TypeError $error) {
    echo $error->getMessage(), "\n";
}
echo "done\n";
--EXPECT--
Larder\append(): supplied resource is not a valid stream resource
done
