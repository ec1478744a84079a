<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Service\Account;
use Larder\Lab\Service\ServiceFailure;
use Symfony\Component\Process\Process;

/** PHP on the command line, as the user that the site's php-fpm works as, and with its settings. */
final readonly class CommandLine
{
    /** Seconds. */
    private const PATIENCE = 300.0;

    /** Before WordPress: no errors among what the code prints, and a request for WordPress to read. */
    private const REQUEST = <<<'PHP'
        defined('WP_DEBUG_DISPLAY') || define('WP_DEBUG_DISPLAY', null);
        $_SERVER = [
            'HTTP_HOST' => %s, 'REQUEST_URI' => %s, 'SERVER_NAME' => '127.0.0.1', 'SERVER_PROTOCOL' => 'HTTP/1.1',
            'REQUEST_METHOD' => 'GET', 'REMOTE_ADDR' => '127.0.0.1', 'PHP_SELF' => '/index.php', 'SCRIPT_NAME' => '/index.php',
        ] + $_SERVER;
        PHP;

    /** @param array<string, string|int|float> $ini */
    public function __construct(
        private Account $account,
        private string $directory,
        private array $ini = [],
    ) {}

    /**
     * Loads WordPress, runs code and returns what it prints.
     *
     * @param string $host   as a browser would name it
     * @param string $before code that runs before WordPress is loaded
     *
     * @throws ServiceFailure if anything is said on standard error, or it fails
     */
    public function run(string $code, string $host, string $path = '/', string $before = ''): string
    {
        $process = $this->start($code, $host, $path, $before);
        $process->wait();
        $errors = \trim($process->getErrorOutput());
        if ($errors !== '' || !$process->isSuccessful()) {
            throw new ServiceFailure('PHP on the command line ended with status ' . ($process->getExitCode() ?? '?') . ": $errors\n" . $process->getOutput());
        }

        return $process->getOutput();
    }

    /** As run(), without waiting: for what goes on at the same time, or shall be killed. */
    public function start(string $code, string $host, string $path = '/', string $before = ''): Process
    {
        $settings = [];
        foreach (['display_errors' => 'stderr', 'html_errors' => 0, 'apc.enable_cli' => 1] + $this->ini as $name => $value) {
            \array_push($settings, '-d', "$name=$value");
        }
        $process = new Process(
            [...$this->account->words(), \PHP_BINARY, ...$settings, '-r', \implode("\n", [
                \sprintf(self::REQUEST, \var_export($host, true), \var_export($path, true)),
                $before,
                "require '$this->directory/wp-load.php';",
                $code,
            ])],
            $this->directory,
            ['HOME' => '/nonexistent'],
            timeout: self::PATIENCE,
        );
        $process->start();

        return $process;
    }
}
