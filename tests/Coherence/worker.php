<?php

// A process on the command line: one request after the other, with refresh() in between. Its input names the
// settings and the first seed; each further line of it asks for one request.

declare(strict_types=1);

namespace Larder\Tests\Coherence;

require __DIR__ . '/../../vendor/autoload.php';

$settings = Settings::from((array) \json_decode($argv[1], true));
$seed = (int) $argv[2];
$until = (int) $argv[3];
$most = (int) $argv[4];
$diary = $settings->diary();
$diary->listen();
$settings->check();
$catalog = new Catalog();
$database = $settings->database();
$calls = 0;
$begin = \hrtime(true);
$diary->note('R ' . $begin);
$door = Door::open($settings);
while (true) {
    $diary->note($door->view());
    $steps = new Steps($door, $settings, $diary, $database, $catalog);
    try {
        (new Program($steps, $catalog))->run($seed++);
        $begin = \hrtime(true);
        $door->cache->refresh();
    } catch (\Throwable $throwable) {
        $diary->trouble((string) $throwable);
        exit(1);
    }
    $diary->note('Z ' . \hrtime(true) . ' ' . $steps->calls);
    $calls += $steps->calls;
    echo $calls, "\n";
    if ($calls >= $most || \hrtime(true) >= $until) {
        break;
    }
    $diary->note('R ' . $begin);
}
