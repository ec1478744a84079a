<?php

declare(strict_types=1);

// One request of a thread (threads.c). Values say themselves whether they are whole, and what was read stays as it was
// until the request ends, whatever the other threads do meanwhile.
//
// Seen to fail: one list of segments for all threads (a static variable in larder_segment.c), by which they had one slot
// and wrote into one another's; a second mapping for each thread (mapping.c), of which all but the first copied; a
// thread that ends without closing (larder.c, GSHUTDOWN).

use Larder\Segment;

/** @var int $thread -1: all others have ended */
/** @var int $threads */
/** @var int $request */
/** @var string $directory */

set_error_handler(static function (int $level, string $message, string $file, int $line): never {
    throw new ErrorException($message, 0, $level, $file, $line);
});

function value(string $key, int $number): array
{
    $text = str_repeat(chr(97 + $number % 26), 10 + $number % 3000);

    return ['key' => $key, 'number' => $number, 'rows' => array_fill(0, 1 + $number % 40, [$text, $number / 7, null, [$key => true]]), 'sum' => crc32($key . $text)];
}

function demand(bool $so, string $otherwise): void
{
    if (!$so) {
        throw new LogicException($otherwise);
    }
}

if ($thread === -1) {
    // A thread closes what it has opened when it ends, and the last one of them the file.
    demand(!str_contains((string) file_get_contents('/proc/self/maps'), $directory . '/segment'), 'all threads have ended, and the segment is still mapped');
}
$segment = Segment::open($directory . '/segment', 4 << 20);
if ($thread === -1) {
    $numbers = $segment->stats();
    demand($numbers['readers'] <= 1, "{$numbers['readers']} readers after all threads have ended");
    demand($segment->check() === null, (string) $segment->check());

    return;
}

if ($request === 0) {
    // All at once: each has a slot of its own, and reads in place by the mapping that they share.
    $segment->set('first', [1, 2, 3]);
    demand($segment->get('first') === [1, 2, 3], 'the first value is another');
    $segment->increment('here');
    for ($until = microtime(true) + 60; $segment->get('here') < $threads;) {
        demand(microtime(true) < $until, 'the other threads do not come');
        usleep(1000);
    }
    $numbers = $segment->stats();
    demand($numbers['mode'] === 'zero-copy', "thread $thread reads by {$numbers['mode']}");
    demand($numbers['readers'] >= $threads, "{$numbers['readers']} readers for $threads threads");
    $segment->increment('counted');
    for ($until = microtime(true) + 60; $segment->get('counted') < $threads;) {
        demand(microtime(true) < $until, 'the other threads do not count');
        usleep(1000);
    }
}

mt_srand($thread * 1000 + $request);
$held = [];
for ($i = 0; $i < 200; ++$i) {
    $key = 'k' . mt_rand(0, 60);
    switch (mt_rand(0, 5)) {
        case 0:
        case 1:
            $segment->set($key, value($key, mt_rand(0, 100_000)));
            break;
        case 2:
            $segment->delete($key);
            break;
        default:
            $read = $segment->get($key);
            if ($read !== null) {
                $held[] = [$key, $read];
            }
    }
}
foreach ($held as [$key, $read]) {
    demand($read['key'] === $key && $read === value($key, $read['number']), "a value of $key has changed while it was held");
}
// A child has only the thread that forked; it holds what that held, longer than that.
if ($request % 10 === 3 && $held !== [] && $thread < 2) {
    [$key, $read] = $held[0];
    $child = pcntl_fork();
    demand($child >= 0, 'no fork');
    if ($child === 0) {
        $right = $read === value($key, $read['number']);
        for ($i = 0; $i < 50 && $right; ++$i) {
            $again = $segment->get($key);
            $right = $again === null || $again === value($key, $again['number']);
            usleep(100);
        }
        // Nothing of the parent's is taken down here.
        posix_kill(posix_getpid(), $right && $read === value($key, $read['number']) ? SIGKILL : SIGABRT);
    }
    $status = 0;
    pcntl_waitpid($child, $status);
    demand(pcntl_wifsignaled($status) && pcntl_wtermsig($status) === SIGKILL, 'what a child held was wrong');
}
