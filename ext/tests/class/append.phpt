--TEST--
What append() adds to a file, and when it adds nothing
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

use function Larder\append;

$path = directory() . '/log';
$file = fopen($path, 'w+e');
fwrite($file, 'together' . pack('J', 16));
$end = static fn(): int => unpack('J', file_get_contents($path), 8)[1];

// Wherever the stream stands, and whatever it has read.
foreach (['one', '', str_repeat('long', 5000)] as $record) {
    rewind($file);
    fread($file, 3);
    $size = $end();
    same('where it begins', $size, append($file, $record, 1 << 20));
    same('the bytes', pack('NN', strlen($record), crc32($record) ^ crc32('together')) . $record, substr(file_get_contents($path), $size));
    clearstatcache();
    same('the end', filesize($path), $end());
}
$size = $end();
same('full', 0, append($file, 'r', $size));
same('not full', $size, append($file, 'r', $size + 1));

$other = fopen($path, 'r+e');
same('read by another handle', pack('N', 1), substr(stream_get_contents($other), $size, 4));
flock($other, LOCK_EX);
same('locked', 0, append($file, 'r', 1 << 20));
flock($other, LOCK_UN);
same('not locked', $end(), append($file, 'r', 1 << 20));
same('the lock is released', true, flock($other, LOCK_EX | LOCK_NB));
flock($other, LOCK_UN);

// What a killed process has left behind the end is written over.
$size = $end();
file_put_contents($path, str_repeat('half', 99), FILE_APPEND);
same('over the torn one', $size, append($file, 'whole', 1 << 20));
same('the end is its own', $size + 13, $end());
same('the torn one follows', 'half', substr(file_get_contents($path), $size + 16, 4));

$bytes = file_get_contents($path);
$size = strlen($bytes);
$reading = fopen($path, 're');
same('only for reading', 0, append($reading, 'r', 1 << 20));
same('no file', 0, append(fopen('php://memory', 'w+'), 'r', 1 << 20));
same('nothing was appended', $bytes, file_get_contents($path));
ftruncate($other, $end() - 1);
same('cut', 0, append($file, 'r', 1 << 20));
ftruncate($other, 15);
same('without a header', 0, append($file, 'r', 1 << 20));
file_put_contents($path, str_repeat("\0", 99));
same('an end of nothing', 0, append($file, 'r', 1 << 20));
file_put_contents($path, str_repeat("\xff", 99));
same('an end far away', 0, append($file, 'r', PHP_INT_MAX));
clearstatcache();
same('nothing was appended', 99, filesize($path));
unlink($path);
same('deleted', 0, append($file, 'r', 1 << 20));
fclose($file);
try {
    append($file, 'r', 1 << 20);
} catch (TypeError $error) {
    echo $error->getMessage(), "\n";
}
echo "done\n";
--EXPECT--
Larder\append(): supplied resource is not a valid stream resource
done
