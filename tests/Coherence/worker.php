<?php

// A process on the command line: one request after the other, with refresh() in between; or, in a loop, several at once,
// each in a fiber of its own and without refresh(). Its input names the settings and the first seed; it prints the calls so far.

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
$calls = 0;
// Its first request's view is made here.
$begin = \hrtime(true);
$door = Door::open($settings);
$isOver = static function () use (&$calls, $most, $until): bool {
    echo $calls, "\n";

    return $calls >= $most || \hrtime(true) >= $until;
};
$run = static function (Steps $steps) use ($catalog, $diary, &$seed): void {
    try {
        (new Program($steps, $catalog))->run($seed++);
    } catch (\Throwable $throwable) {
        $diary->trouble((string) $throwable);
        exit(1);
    }
};

if ($settings->loop !== '') {
    $serve = [];
    for ($i = 0; $i < 4; $i++) {
        $serve[] = static function () use ($i, $settings, $door, $catalog, $run, $isOver, &$calls): void {
            $diary = $settings->diary("-task$i");
            $database = $settings->database();
            do {
                $diary->note('R ' . \hrtime(true));
                $steps = new Steps($door, $settings, $diary, $database, $catalog);
                Loop::request(static function () use ($diary, $door, $steps, $run): void {
                    $diary->note($door->view());
                    $run($steps);
                });
                $diary->note('Z ' . \hrtime(true) . ' ' . $steps->calls);
                $calls += $steps->calls;
            } while (!$isOver());
        };
    }
    Loop::run($settings->loop, $serve);
    exit(0);
}

$database = $settings->database();
$diary->note('R ' . $begin);
do {
    $diary->note($door->view());
    $steps = new Steps($door, $settings, $diary, $database, $catalog);
    $run($steps);
    $begin = \hrtime(true);
    $door->cache->refresh();
    $diary->note('Z ' . \hrtime(true) . ' ' . $steps->calls);
    $calls += $steps->calls;
    $ended = $isOver();
    $ended || $diary->note('R ' . $begin);
} while (!$ended);
