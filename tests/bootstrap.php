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

if (extension_loaded('larder')) {
    // Nor the segment of the user: the processes that tests start get one of their own by their php.ini; this process
    // has it where `-d larder.segment=` names it.
    $owner = getmypid();
    $usual = '/dev/shm/larder-' . posix_geteuid();
    $ends = is_dir($usual) ? [] : [$usual];
    $segment = get_cfg_var('larder.segment');
    if (!is_string($segment) || $segment === '') {
        $segment = '/dev/shm/larder-test-' . $owner . '-%u/segment';
    }
    $settings = sys_get_temp_dir() . '/larder-test-' . $owner . '.ini.d';
    mkdir($settings);
    file_put_contents($settings . '/larder.ini', 'larder.segment="' . $segment . "\"\n");
    putenv('PHP_INI_SCAN_DIR=' . getenv('PHP_INI_SCAN_DIR') . ':' . $settings);
    register_shutdown_function(static function () use ($owner, $ends, $segment, $settings): void {
        if (getmypid() !== $owner) {
            return;
        }
        foreach ([$settings, ...$ends, ...glob(str_replace('%u', '*', dirname($segment))) ?: []] as $directory) {
            array_map('unlink', glob($directory . '/*') ?: []);
            is_dir($directory) && rmdir($directory);
        }
    });
}
