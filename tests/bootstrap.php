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

// Nor the state and the segment of the user: the processes that tests start get their own by their php.ini; this process
// has them where `-d larder.state=` and `-d larder.segment=` name them.
(static function (): void {
    $owner = getmypid();
    $named = static function (string $setting, string $otherwise): string {
        $value = get_cfg_var($setting);

        return is_string($value) && $value !== '' ? $value : $otherwise;
    };
    $state = $named('larder.state', "/tmp/larder-test-$owner-state-%u");
    $segment = $named('larder.segment', "/dev/shm/larder-test-$owner-%u/segment");
    $settings = sys_get_temp_dir() . '/larder-test-' . $owner . '.ini.d';
    mkdir($settings);
    file_put_contents($settings . '/larder.ini', "larder.state=\"$state\"\nlarder.segment=\"$segment\"\n");
    $scanned = getenv('PHP_INI_SCAN_DIR') . ':' . $settings;
    // A process that a test starts spends two thirds of its start on loading extensions, most of it on these, which it
    // does not need (`make test` says so). Not in Paratest's first process: the tests themselves need some.
    if (getenv('LARDER_TEST_CHILDREN') === 'light' && !str_ends_with($_SERVER['SCRIPT_NAME'], 'bin/paratest')) {
        $spared = '/-(curl|exif|fileinfo|ftp|gd|gettext|intl|readline|calendar|shmop|sysv\w+|xsl)\.ini$/';
        mkdir($settings . '/usual');
        foreach (array_map(trim(...), explode(',', (string) php_ini_scanned_files())) as $file) {
            if (dirname($file) === \PHP_CONFIG_FILE_SCAN_DIR && preg_match($spared, $file) === 0) {
                symlink($file, $settings . '/usual/' . basename($file));
            }
        }
        // Its empty part stands for PHP's own directory.
        $scanned = implode(':', array_map(static fn(string $part): string => $part === '' ? $settings . '/usual' : $part, explode(':', $scanned)));
    }
    putenv('PHP_INI_SCAN_DIR=' . $scanned);
    $usual = '/dev/shm/larder-' . posix_geteuid();
    $ends = [$settings, ...is_dir($usual) || !extension_loaded('larder') ? [] : [$usual]];
    register_shutdown_function(static function () use ($owner, $ends, $segment, $state): void {
        if (getmypid() !== $owner) {
            return;
        }
        foreach ([$state, dirname($segment)] as $pattern) {
            array_push($ends, ...glob(str_replace('%u', '*', $pattern)) ?: []);
        }
        exec('rm -rf ' . implode(' ', array_map(escapeshellarg(...), $ends)));
    });
})();
