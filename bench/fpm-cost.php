<?php

// What Larder adds to a php-fpm request that finds everything in APCu. Run it by `make bench`, or
// php bench/fpm-cost.php [--rounds=15] [--seed=1]

declare(strict_types=1);

namespace Larder\Bench;

use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\TemporaryDirectory;

require __DIR__ . '/../vendor/autoload.php';

try {
    $harness = Harness::fromArguments(\array_slice($argv, 1));
} catch (\InvalidArgumentException $e) {
    \fwrite(\STDERR, $e->getMessage() . "\n");
    exit(2);
}
if (!FpmServer::isAvailable()) {
    \fwrite(\STDERR, "There is no php-fpm of this PHP's version here: bin/setup installs it.\n");
    exit(2);
}

echo $harness->banner('bench/fpm-cost.php');
echo (new FpmCost($harness, new TemporaryDirectory('larder-b')))->run();
