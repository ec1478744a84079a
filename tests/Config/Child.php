<?php

declare(strict_types=1);

namespace Larder\Tests\Config;

/** Another PHP process, run to its end: as another user, or with other settings. */
final readonly class Child
{
    private function __construct(public int $status, public string $output, public string $errors) {}

    /**
     * @param string       $code    after the autoloader
     * @param list<string> $options of php
     */
    public static function php(string $code, ?int $user = null, array $options = []): self
    {
        $prelude = 'error_reporting(-1); ini_set("display_errors", "stderr");'
            . '$autoload = ' . \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true) . '; require $autoload;';
        if ($user !== null) {
            $prelude .= 'foreach (["Config\Directory", "Config\Dsn", "Config\Options", "Config\InvalidConfiguration", "Config\WrongUser", "Config\StoreFactory", "Store\StoreFailure", "Store\Files"] as $class) { class_exists("Larder\\\\" . $class); }'
                . 'posix_setgid(' . $user . '); posix_setuid(' . $user . ');';
        }

        return self::run([\PHP_BINARY, ...$options, '-r', $prelude . $code]);
    }

    /**
     * @param list<string>               $command
     * @param null|array<string, string> $environment
     */
    public static function run(array $command, ?array $environment = null, string $input = ''): self
    {
        $out = \tmpfile();
        $err = \tmpfile();
        \assert($out !== false && $err !== false);
        $process = \proc_open($command, [['pipe', 'r'], $out, $err], $pipes, null, $environment);
        \assert($process !== false);
        \fwrite($pipes[0], $input);
        \fclose($pipes[0]);
        $status = \proc_close($process);
        \rewind($out);
        \rewind($err);

        return new self($status, (string) \stream_get_contents($out), (string) \stream_get_contents($err));
    }
}
