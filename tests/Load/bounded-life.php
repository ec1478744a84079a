<?php

declare(strict_types=1);

// Two servers, values that differ each time they are computed: Larder's hit ratio against that of plain Redis.

use Larder\Tests\Load\BoundedLife;

require __DIR__ . '/../../vendor/autoload.php';

$known = ['minutes' => '5', 'keys' => '50', 'rate' => '100', 'processes' => '2', 'near' => '', 'flush' => ''];
$given = getopt('h', ['help', ...array_map(static fn(string $name): string => $name . ':', array_keys($known))]);
if ($given === false || isset($given['h']) || isset($given['help'])) {
    echo <<<'TEXT'
        php tests/Load/bounded-life.php [--minutes=5] [--keys=50] [--rate=100] [--processes=2] [--near=apcu] [--flush=SECONDS]

        --rate       gets a second of each key, from both servers together
        --processes  processes of each server
        --near       a near tier for each server
        --flush      flush both sides so many seconds after the start

        Ends with 1 if the hit ratios differ by more than a point.

        TEXT;
    exit(0);
}
/** @var array<string, string> $option */
$option = array_intersect_key($given, $known) + $known;
$load = new BoundedLife(
    (float) $option['minutes'] * 60,
    (int) $option['keys'],
    (float) $option['rate'],
    (int) $option['processes'],
    $option['near'] === '' ? null : $option['near'],
    $option['flush'] === '' ? null : (float) $option['flush'],
);
printf(
    "%s keys, %s gets a second each from two servers of %s processes, %.1f s to compute, %d s to live, %s min%s%s\n",
    $option['keys'],
    $option['rate'],
    $option['processes'],
    BoundedLife::COMPUTATION,
    BoundedLife::LIFE,
    $option['minutes'],
    $option['near'] === '' ? '' : ', near=' . $option['near'],
    $option['flush'] === '' ? '' : ', flushed after ' . $option['flush'] . ' s',
);
$did = $load->run();
printf("%-8s %10s %8s %12s\n", '', 'gets', 'misses', 'hit ratio');
foreach ($did as $side => $counts) {
    printf("%-8s %10d %8d %10.3f %%\n", $side, $counts['gets'], $counts['misses'], BoundedLife::hitRatio($counts));
}
$larder = $did['larder'];
$difference = BoundedLife::hitRatio($larder) - BoundedLife::hitRatio($did['plain']);
printf(
    "difference %+.3f points\nof %d computed values: %d stored for good, %d with a bounded life, %d dropped, %d failed (%d errors of the server)\nthe schedule was kept within %.2f s\n",
    $difference,
    $larder['sets'],
    $larder['sets'] - $larder['bounded'] - $larder['dropped'] - $larder['failed'],
    $larder['bounded'],
    $larder['dropped'],
    $larder['failed'],
    $larder['errors'],
    $larder['latest'],
);
exit($difference < -1.0 ? 1 : 0);
