<?php

// The fuzz as a command:
//
//     php tests/Fuzz/run.php [--dsn='redis apcu'] [--seconds=60] [--seed=1] [--processes=8] [--without=chaos,nested,clocks]
//
// Without --dsn all in turn, each for so many seconds. Says what was done, and ends with status 1 if a promise was
// broken. The same seed gives the same requests and the same disturbances, at other moments of each other.

declare(strict_types=1);

use Larder\Tests\Fuzz\Fuzz;

require __DIR__ . '/../../vendor/autoload.php';

ini_set('memory_limit', '-1');
$options = getopt('', ['dsn:', 'seconds:', 'seed:', 'processes:', 'without:']);
$dsns = isset($options['dsn']) ? (array) $options['dsn'] : Fuzz::all();
if (array_diff($dsns, Fuzz::all()) !== []) {
    fwrite(STDERR, "--dsn is one of:\n  " . implode("\n  ", Fuzz::all()) . "\n");
    exit(2);
}
$violations = 0;
foreach ($dsns as $dsn) {
    $lacks = Fuzz::lacks($dsn);
    if ($lacks !== null) {
        echo "fuzz: $dsn is left out, for it needs $lacks\n";
        continue;
    }
    $seed = (int) ($options['seed'] ?? random_int(1, 99999));
    $with = static fn(string $what): bool => !in_array($what, explode(',', (string) ($options['without'] ?? '')), true);
    $fuzz = new Fuzz($dsn, (float) ($options['seconds'] ?? 60), $seed, (int) ($options['processes'] ?? 8), $with('chaos'), true, $with('nested'), $with('clocks'));
    echo "fuzz: $dsn, seed $seed\n";
    $outcome = $fuzz->run(static function (string $line): void {
        fwrite(STDERR, "  $line\n");
    });
    foreach ($outcome->histories as $history) {
        echo "\n", $history;
    }
    echo "\n", $outcome->summary(), "\n";
    $violations += count($outcome->violations);
}
exit($violations === 0 ? 0 : 1);
