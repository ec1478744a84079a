<?php

declare(strict_types=1);

// Another process that computes a key until its input says so: php holder.php DSN

use Larder\Cache;

require dirname(__DIR__, 3) . '/vendor/autoload.php';

Cache::open(['dsn' => $argv[1], 'near' => 'none'])->remember('k', static function (): string {
    echo "computing\n";
    fgets(STDIN);

    return 'of the other process';
});
