<?php

declare(strict_types=1);

require __DIR__ . '/../vendor/autoload.php';

// A test never uses the cache of the user who runs it, nor a server named in the environment.
putenv('LARDER_DSN');
unset($_ENV['LARDER_DSN'], $_SERVER['LARDER_DSN']);

if (extension_loaded('apcu') && !apcu_enabled()) {
    fwrite(\STDERR, "APCu is off on the command line, and its tests will be skipped. Type 'make test', or\n"
        . "php -d apc.enable_cli=1 -d apc.shm_size=128M vendor/bin/phpunit\n\n");
}
