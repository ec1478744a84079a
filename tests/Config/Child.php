<?php

declare(strict_types=1);

namespace Larder\Tests\Config;

use Larder\Tests\Support\Checkout;
use Larder\Tests\Support\Process;

/** Another PHP process, run to its end: as another user, or with other settings. */
final readonly class Child
{
    private function __construct(public int $pid, public int $status, public string $output, public string $errors) {}

    /**
     * @param string       $code    after the autoloader
     * @param list<string> $options of php
     * @param bool         $becomes whether the code makes the process another user
     */
    public static function php(string $code, ?int $user = null, array $options = [], bool $becomes = false): self
    {
        $prelude = 'error_reporting(-1); ini_set("display_errors", "stderr");'
            . '$autoload = ' . \var_export($user !== null || $becomes ? Checkout::autoload() : \dirname(__DIR__, 2) . '/vendor/autoload.php', true) . '; require $autoload;';
        if ($user !== null) {
            $prelude .= 'foreach (["System\PrivateDirectory", "Config\Dsn", "Config\Options", "Config\InvalidConfiguration", "System\WrongUser", "Config\StoreFactory", "System\Failure", "Store\File\FileStore", "System\Ownership"] as $class) { class_exists("Larder\\\\" . $class); }'
                . 'posix_setgid(' . $user . '); posix_setuid(' . $user . ');';
        }

        return self::run([\PHP_BINARY, ...$options, '-r', $prelude . $code]);
    }

    /**
     * @param non-empty-list<string>     $command
     * @param array<string, string|null> $environment added to this process's own; null takes a variable away
     */
    public static function run(array $command, array $environment = [], string $input = ''): self
    {
        $process = new Process($command, $environment);
        if ($input !== '') {
            $process->write($input);
        }
        $process->closeInput();
        $output = $process->output(30.0);

        return new self($process->pid, $process->wait(30.0), $output, $process->errors());
    }
}
