<?php

// What each tier costs beside what it stands on. Run it by `make bench`, or
// php -d apc.enable_cli=1 -d apc.shm_size=128M -d opcache.enable_cli=1 bench/ratios.php [--rounds=15] [--seed=1]

declare(strict_types=1);

namespace Larder\Bench;

require __DIR__ . '/../vendor/autoload.php';

try {
    $harness = Harness::fromArguments(\array_slice($argv, 1));
} catch (\InvalidArgumentException $e) {
    \fwrite(\STDERR, $e->getMessage() . "\n");
    exit(2);
}

echo $harness->banner('bench/ratios.php');
foreach ([RequestTier::class, NearTier::class, DiskTier::class] as $subject) {
    echo (new $subject($harness))->run();
}
