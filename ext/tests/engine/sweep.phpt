--TEST--
Every internal function and many methods, with shared values in every position: no crash, no change
--SKIPIF--
<?php if (getenv('LARDER_VALGRIND')) { echo 'skip hours under Valgrind'; } ?>
--FILE--
<?php

declare(strict_types=1);

require __DIR__ . '/../setup.inc';

// Short: six rounds a function; with LARDER_LONG=1 ninety. Seen to fail: the build of LARDER_BROKEN_REFCOUNT (array_pop,
// sort and others die).
$rounds = getenv('LARDER_LONG') ? 90 : 6;
$segment = segment(32 << 20);
$palette = [
    'strings' => ['', 'x', 'some text', "nul\0within", 'grün und 日本', "\xff\xfe", '12', '1e3', '-7', '/(t)e+/u', 'UTF-8', 'strtoupper', 'ArrayObject', 'a=1&b[]=2', '{"a":[1,{"b":null}]}', '<r a="1"><t>x</t></r>', 'a:1:{s:1:"a";a:1:{i:0;i:5;}}', '2024-02-29 12:00', 'Europe/Berlin', '%s-%05d', 'php://memory', 'data:text/plain,abc', __FILE__, str_repeat('long ', 500), 'sha256', 'key', 'de_DE', 'A1', 'C.UTF-8', 'NFC'],
    'arrays' => [[], [1, 2, 3], ['b' => 1, 'a' => 2], [['n' => 2, 'key' => 'x'], ['n' => 1, 'key' => 'y']], ['x' => ['y' => ['z' => [1, [2]]]]], ['text', 'some text', 'grün'], [3 => 'c', 1 => 'a', -5 => 'm'], [1.5, true, null, 'x'], array_fill(0, 200, ['row', 'k' => 'v']), ['strtoupper', 'trim'], ['/t/' => 'u', '/e/' => 'f'], ['http' => ['method' => 'GET']], ["a\0b" => "c\0d"], ['ArrayObject', 'getArrayCopy']],
    'numbers' => ['2', '1', '0', '7', 2, 0, -1, '1.5'],
    'callables' => ['strtoupper', 'trim', 'count', 'is_array', 'strcmp', 'max', 'array_merge', 'DateTime::createFromFormat', 'intdiv'],
];
$segment->set('palette', $palette);
$before = $segment->stats()['sets'];

// What ends, waits, kills, goes to the network, writes to the system, or never comes back.
$never = '/^(exit|die|sleep|usleep|time_nanosleep|time_sleep_until|set_time_limit|ignore_user_abort|system|exec|shell_exec|passthru|proc_|popen|pcntl_|posix_(kill|set|init|ctermid|mk)|dl$|mail|mb_send_mail|readline|'
    . 'fsockopen|pfsockopen|gethostby|dns_|checkdnsrr|getmxrr|net_get|socket_|stream_socket_|stream_select|ftp_|curl_|openlog|syslog|closelog|'
    . 'unlink|rmdir|rename|mkdir|symlink|link$|chmod|chown|chgrp|lchown|lchgrp|touch|tempnam|tmpfile|copy|move_uploaded_file|chroot|chdir|umask|file_put_contents|error_log|set_include_path|'
    . 'sem_|shm_|msg_|shmop_|session_|opcache_(reset|compile|invalidate)|apcu?_(clear|delete|bin|load)|msgpack_un|cli_set_process|ob_|output_|flush|header|phpinfo|phpcredits|'
    . 'ini_set|ini_alter|ini_restore|ini_parse|set_error_handler|set_exception_handler|error_reporting|register_shutdown|spl_autoload|stream_wrapper_(un|res)|fopen|gzopen|bzopen|readgzfile|finfo|'
    . 'pg_|mysqli|odbc|ldap|snmp|imap|sapi_windows|ftok|flock|zend_test|xdebug|debug_zval)/';
$extensions = array_filter(['ctype', 'mbstring', 'iconv', 'calendar', 'gettext', 'tokenizer', 'igbinary', 'msgpack', 'apcu', 'intl', 'dom', 'simplexml', 'xml', 'xmlreader', 'xmlwriter', 'exif', 'phar', 'bcmath', 'gmp', 'bz2', 'zip'], static fn (string $name) => is_file(ini_get('extension_dir') . "/$name.so"));
$settings = [...array_map(static fn (string $name) => "extension=$name", $extensions), 'apc.enable_cli=1', 'memory_limit=512M'];
$list = run([...php($settings), '-r', 'echo implode("\n", get_defined_functions()["internal"]);'])['output'];
$functions = array_values(array_filter(explode("\n", $list), static fn (string $name) => !preg_match($never, $name)));
foreach (['ArrayObject', 'ArrayIterator', 'RecursiveArrayIterator', 'SplFixedArray', 'SplObjectStorage', 'SplDoublyLinkedList', 'SplQueue', 'SplStack', 'SplMinHeap', 'SplMaxHeap', 'SplPriorityQueue', 'DateTime', 'DateTimeImmutable', 'DateTimeZone', 'DateInterval', 'WeakMap', 'Closure', 'ReflectionClass', 'ReflectionFunction', 'ReflectionProperty', 'ReflectionObject', 'DOMDocument', 'SimpleXMLElement', 'XMLWriter', 'Collator', 'NumberFormatter', 'MessageFormatter', 'IntlDateFormatter', 'Transliterator'] as $class) {
    if (!class_exists($class) && !in_array($class, ['DOMDocument', 'SimpleXMLElement', 'XMLWriter', 'Collator', 'NumberFormatter', 'MessageFormatter', 'IntlDateFormatter', 'Transliterator'], true)) {
        continue;
    }
    $methods = run([...php($settings), '-r', 'if (class_exists($argv[1])) foreach (get_class_methods($argv[1]) as $m) if (!preg_match("/^(__destruct|__construct|save|open|load$|loadHTMLFile|schemaValidate|relaxNG|xinclude)/", $m)) echo $m, "\n";', '--', $class])['output'];
    foreach (array_filter(explode("\n", $methods)) as $method) {
        $functions[] = "$class::$method";
    }
}
same('there is much to call', true, count($functions) > 800);

// A private place for whatever writes a file.
$place = directory() . '/files';
mkdir($place, 0700);
$progress = directory() . '/progress';
$died = [];
$todo = array_chunk($functions, 150);
$sweep = static fn (string $values, array $functions): array => run(['sh', '-c', 'cd "$0" && exec timeout -s KILL 200 "$@"', $place, ...php($settings), __DIR__ . '/sweep.inc', path(), $progress, (string) $rounds, $values, ...$functions]);
while ($todo) {
    $chunk = array_shift($todo);
    $result = $sweep('shared', $chunk);
    if ($result['signal'] !== 0 || $result['code'] !== 0 || $result['output'] !== 'done') {
        $at = file_get_contents($progress);
        $died[] = $at;
        $control = $sweep('own', [$at]);
        if ([$control['signal'], $control['code']] === [$result['signal'], $result['code']]) {
            // Whatever the values are, it dies: that is none of ours.
        } else {
            echo "$at: ", json_encode(['signal' => $result['signal'], 'code' => $result['code'], 'output' => substr($result['output'], -300)], JSON_INVALID_UTF8_SUBSTITUTE), "\n";
        }
        $rest = array_slice($chunk, array_search($at, $chunk, true) + 1);
        if ($rest && count($died) < 50) {
            array_unshift($todo, $rest);
        }
    }
    same('the palette', $palette, $segment->get('palette'));
    same('check', null, $segment->check());
}
same('nobody stored anything', $before, $segment->stats()['sets']);
exec('rm -rf ' . escapeshellarg($place));
echo "done\n";
--EXPECT--
done
