<?php

// The demonstration. Run it by `make demo` or `make demo-failover`, or: php demo/run.php [failover]

declare(strict_types=1);

require __DIR__ . '/../vendor/autoload.php';

exit(Larder\Demo\Supervisor::run(__DIR__ . '/show.php', ...array_slice($argv, 1)));
