<?php

declare(strict_types=1);

/*
 * A process of the queue's tests, which is killed somewhere: child.php DSN WORK [BODY…].
 *
 * It says what it begins before it begins it, and what is done after that: "push X", "pushed X", "handle X", "handled X",
 * "full X" for what the queue refused.
 */

use Larder\Queue\Queue;
use Larder\Queue\QueueFailure;

require __DIR__ . '/../../vendor/autoload.php';

[, $dsn, $work] = $argv;
$queue = Queue::open($dsn, 'mail');
set_error_handler(static function (int $level, string $message, string $file, int $line): never {
    throw new ErrorException($message, 0, $level, $file, $line);
});
foreach (array_slice($argv, 3) as $body) {
    echo "push $body\n";
    try {
        $queue->push(str_pad($body, $work === 'large' ? 30_000 : 0));
        echo "pushed $body\n";
    } catch (QueueFailure $failure) {
        echo "refused $body: {$failure->getMessage()}\n";
    }
}
if ($work === 'handle') {
    while (($message = $queue->pop(1)) !== null) {
        $body = rtrim($message->body);
        echo "handle $body\n";
        $message->ack();
        echo "handled $body\n";
    }
}
echo "done\n";
