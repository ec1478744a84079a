<?php

// Runs the drill in a process of its own, over a copy of src/ that Instrumented has made:
//
//     php tests/Reentrancy/drill.php DIRECTORY OPTIONS MODE COUNT [FIRST]
//
//     once      COUNT drills, in each calls come after one statement: FIRST, and others at the same distance
//     throws    the same, and then an exception comes
//     raises    the same, where signals are let in: by a signal that is raised after the statement
//     each      one drill, in which calls come after each COUNT-th statement
//     wakes     COUNT drills, in which calls come whenever a value's object is stored or read
//     collects  COUNT drills, in which they come from destructors that the garbage collector runs
//     signals   COUNT drills under a storm of signals, from whose handler they come
//
// Says what was wrong, a line a drill, and last what was done.

declare(strict_types=1);

namespace Larder\Tests\Reentrancy;

use Larder\Tests\Support\Process;

require __DIR__ . '/../../vendor/autoload.php';

[, $directory, $options, $mode, $count] = $argv;
Instrumented::load($directory);
/** @var array<string, mixed> $options */
$options = (array) \json_decode($options, true);
$count = \max(1, (int) $count);
$statements = $interruptions = $refused = $wrong = 0;
/** @var ?Drill $drill */
$drill = null;
\register_tick_function(static function () use (&$drill): void {
    $drill?->tick();
});
$number = 0;
$run = static function (\Closure $comes, ?\Closure $before = null) use (&$drill, $options, $mode, &$number, &$statements, &$interruptions, &$refused, &$wrong): void {
    $drill = new Drill(['prefix' => 'drill-' . \getmypid() . '-' . ++$number] + $options, $comes, \in_array($mode, ['throws', 'raises'], true), $before ?? static fn() => null);
    $drill->run();
    $statements = \max($statements, $drill->steps);
    $interruptions += $drill->interruptions;
    $refused += $drill->refused;
    if ($drill->failures !== []) {
        $wrong++;
        foreach (\array_slice($drill->failures, 0, (int) (\getenv('DRILL_SHOWN') ?: 1)) as $failure) {
            echo \substr(\strtr($failure, "\n", ' '), 0, 500), ' (of ', \count($drill->failures), ")\n";
        }
    }
};
$never = static fn(int $statement): bool => false;
// Undisturbed, which says how many statements there are.
$run($never);
$first = (int) ($argv[5] ?? \random_int(1, \max(1, \intdiv($statements, $count))));
$last = $statements;
if ($mode === 'once' || $mode === 'throws') {
    for ($i = 0; $i < $count; $i++) {
        $at = $first + \intdiv($last * $i, $count);
        $drill = null;
        \ob_start(static fn(string $text): string => $text === '' ? '' : "statement $at: $text");
        $run(static fn(int $statement): bool => $statement === $at);
        \ob_end_flush();
    }
} elseif ($mode === 'raises') {
    \pcntl_async_signals(true);
    $due = false;
    \pcntl_signal(\SIGUSR1, static function () use (&$drill, &$due): void {
        // Where there are ticks PHP calls it at each, also while it is kept out: then it comes again.
        $due = !\pcntl_async_signals();
        $due || $drill?->interrupt();
    });
    for ($i = 0; $i < $count; $i++) {
        $at = $first + \intdiv($last * $i, $count);
        \ob_start(static fn(string $text): string => $text === '' ? '' : "statement $at: $text");
        $run(static function (int $statement) use ($at, &$due): bool {
            return ($statement === $at || $due) && !\posix_kill((int) \getmypid(), \SIGUSR1);
        });
        \ob_end_flush();
    }
} elseif ($mode === 'each') {
    $run(static fn(int $statement): bool => $statement % $count === $first % $count);
} elseif ($mode === 'wakes') {
    for ($i = 0; $i < $count; $i++) {
        $run(static fn(int $statement): bool => $statement === 0);
    }
} elseif ($mode === 'collects') {
    for ($i = 0; $i < $count; $i++) {
        $run($never, static fn(\Closure $interrupt) => Garbage::fill(\random_int(0, 60), $interrupt));
    }
} else {
    \pcntl_async_signals(true);
    $next = 0;
    \pcntl_signal(\SIGUSR1, static function () use (&$drill, &$next): void {
        // Else nothing would be done but what the handler does.
        if ($drill !== null && $drill->steps >= $next) {
            $drill->interrupt();
            $next = $drill->steps + \random_int(1, 300);
        }
    });
    $storm = Process::snippet('while (posix_kill((int) $argv[1], SIGUSR1)) { usleep(random_int(50, 2000)); }', [(string) \getmypid()]);
    for ($i = 0; $i < $count || $interruptions === 0; $i++) {
        $next = 0;
        $run($never);
    }
    $storm->kill();
}
$drill = null;
echo "$statements statements, $interruptions interruptions, $refused refused, $wrong wrong\n";
