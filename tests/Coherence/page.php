<?php

// One request, as php-fpm serves it: opens the cache, does what follows from its seed, ends.

declare(strict_types=1);

namespace Larder\Tests\Coherence;

require __DIR__ . '/../../vendor/autoload.php';

$settings = Settings::from($_GET);
$diary = $settings->diary();
$diary->listen();
$catalog = new Catalog();
$database = $settings->database();
$diary->note('R ' . \hrtime(true));
try {
    $settings->check();
    $door = Door::open($settings);
    $diary->note($door->view());
    $steps = new Steps($door, $settings, $diary, $database, $catalog);
    // After the cache's own, which commits.
    \register_shutdown_function(static function () use ($diary, $steps): void {
        $diary->note('Z ' . \hrtime(true) . ' ' . $steps->calls);
    });
    (new Program($steps, $catalog))->run((int) $_GET['seed']);
    echo $steps->calls;
} catch (\Throwable $throwable) {
    $diary->trouble((string) $throwable);
    echo 0;
}
