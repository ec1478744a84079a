<?php

// The handler of WorkTest: does what the message says, and writes a line to a file.

declare(strict_types=1);

use Larder\Cache;
use Larder\Queue\Message;

$cache = Cache::open((string) getenv('TEST_CACHE'));

return static function (mixed $body, Message $message) use ($cache): void {
    $log = (string) getenv('TEST_LOG');
    [$do, $with] = is_array($body) ? $body : [$body, null];
    file_put_contents($log, "begin $do\n", FILE_APPEND | LOCK_EX);
    match ($do) {
        'throw' => throw new LogicException('it is wrong', 0, new DomainException('for a reason')),
        'exit' => exit(0),
        'fatal' => ini_set('memory_limit', '8M') && str_repeat('x', 1 << 24),
        'die' => posix_kill(posix_getpid(), SIGKILL),
        'sleep' => time_nanosleep((int) $with, (int) (($with - (int) $with) * 1e9)),
        'database' => (new PDO("sqlite:$with", null, null, [PDO::ATTR_TIMEOUT => 60, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]))->exec('INSERT INTO t VALUES (1)'),
        'ack and exit' => $message->ack() && exit(3),
        'bury' => $message->bury('not wanted'),
        'read' => file_put_contents($log, 'read ' . var_export($cache->get('k'), true) . "\n", FILE_APPEND | LOCK_EX),
        'print' => print "printed\n",
        'hoard' => $GLOBALS['hoard'][] = str_repeat('x', 1 << 25),
        default => null,
    };
    file_put_contents($log, "end $do\n", FILE_APPEND | LOCK_EX);
};
