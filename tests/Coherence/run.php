<?php

// The coherence test as a command:
//
//     php tests/Coherence/run.php --engine=sqlite|redis|memcached|sentinel|cluster|single|… --operations=200000 --seed=1 [--near=apcu|segment|segment+apcu|segment+none] [--loop=fibers|react|revolt|amp] [--chaos|--storm] [--no-journal] [--minutes=5]
//
// Ends with status 1 if a promise was broken. With --minutes the time counts, and not the operations. --no-journal
// switches off what near tiers learn from, and must find violations. --chaos kills processes now and then, --storm one
// every 50 to 200 ms, and SQLite's disk is full for moments where there is the right to mount one.

declare(strict_types=1);

use Larder\Tests\Coherence\Engine;
use Larder\Tests\Coherence\Experiment;
use Larder\Tests\Coherence\Loop;

require __DIR__ . '/../../vendor/autoload.php';

ini_set('memory_limit', '-1');
$options = getopt('', ['engine:', 'near:', 'operations:', 'seed:', 'chaos', 'storm', 'no-journal', 'minutes:', 'loop:']);
$engine = $options['engine'] ?? 'sqlite';
if (!is_string($engine) || !in_array($engine, Engine::ALL, true)) {
    fwrite(STDERR, "--engine is one of " . implode(", ", Engine::ALL) . "\n");
    exit(2);
}
$near = $options['near'] ?? Experiment::APCU;
if (!is_string($near) || !in_array($near, Experiment::NEARS, true)) {
    fwrite(STDERR, '--near is one of ' . implode(', ', Experiment::NEARS) . "\n");
    exit(2);
}
$loop = $options['loop'] ?? '';
if (!is_string($loop) || $loop !== '' && !in_array($loop, Loop::NAMES, true)) {
    fwrite(STDERR, '--loop is one of ' . implode(', ', Loop::NAMES) . "\n");
    exit(2);
}
$seed = (int) ($options['seed'] ?? random_int(1, 99999));
$experiment = new Experiment(
    $engine,
    (int) ($options['operations'] ?? 200_000),
    $seed,
    isset($options['chaos']) || isset($options['storm']),
    !isset($options['no-journal']),
    (float) ($options['minutes'] ?? 0),
    $near,
    isset($options['storm']),
    $loop,
);
echo "coherence: $engine, $near, seed $seed", $loop === '' ? '' : ", command line in $loop", isset($options['storm']) ? ', storm' : (isset($options['chaos']) ? ', chaos' : ''), isset($options['no-journal']) ? ', without a journal' : '', "\n";
$outcome = $experiment->run(static function (string $line): void {
    fwrite(STDERR, "  $line\n");
});
foreach ($outcome->histories as $history) {
    echo "\n", $history;
}
echo "\n", $outcome->summary();
exit($outcome->violations === [] ? 0 : 1);
