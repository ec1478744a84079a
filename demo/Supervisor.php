<?php

declare(strict_types=1);

namespace Larder\Demo;

use Larder\Tests\Support\TemporaryDirectory;

/**
 * Runs the show in a session and a directory of its own, and leaves nothing of either, however it ends.
 *
 * This folder holds what `make demo` shows: Supervisor and Show run the acts of Act/, Stage gives them servers,
 * processes and directories of their own, Terminal prints, and scripts/ is what the web servers and the command
 * line's processes run. Nothing in it is part of the library.
 *
 * Ctrl-C reaches this process and nobody else (the show has no terminal, see show.php), so that there is always
 * somebody left who ends the servers and removes the directory. If this process is killed, the kernel tells the show
 * (PR_SET_PDEATHSIG, by setpriv(1)), and the show ends its session.
 */
final class Supervisor
{
    private const SETTINGS = [
        'apc.enable_cli' => '1',
        'apc.shm_size' => '128M',
        'memory_limit' => '1G',
        'error_reporting' => '-1',
        'display_errors' => 'stderr',
        'log_errors' => '0',
    ];

    /** @return int the exit status */
    public static function run(string $script, string ...$arguments): int
    {
        $missing = Part::indispensable();
        if ($missing !== []) {
            \fwrite(\STDERR, "The demonstration cannot begin without:\n  " . \implode("\n  ", $missing) . "\nOn Debian, bin/setup installs all of it.\n");

            return 1;
        }
        $traces = new Traces();
        $directory = new TemporaryDirectory('larder-demo');
        $shared = self::sharedMemory($directory->path);
        // What is started, php-fpm too, has segment and state there and not where the user's own are.
        \mkdir($directory->file('settings'));
        $settings = $directory->write('settings/larder.ini', 'larder.segment="' . $shared . "/segment\"\nlarder.state=\"" . $directory->file('state') . "\"\n");
        $signal = 0;
        \pcntl_async_signals(true);
        foreach ([\SIGINT, \SIGTERM, \SIGHUP, \SIGQUIT] as $number) {
            \pcntl_signal($number, static function (int $got) use (&$signal): void {
                $signal = $got;
            });
        }
        $show = \proc_open(self::command($script, \array_values($arguments)), [\STDIN, \STDOUT, \STDERR], $pipes, null, ['TMPDIR' => $directory->path, 'LARDER_DSN' => '', 'PHP_INI_SCAN_DIR' => \getenv('PHP_INI_SCAN_DIR') . ':' . \dirname($settings)] + \getenv());
        if ($show === false) {
            throw new \RuntimeException('The demonstration does not start: ' . $script);
        }
        do {
            $state = \proc_get_status($show);
            if ($signal === 0) {
                \usleep(20_000);
            }
        } while ($state['running'] && $signal === 0);
        self::end($show, $state['pid']);
        $traces->remove($directory->path);
        $directory->remove();
        \array_map(\unlink(...), \glob($shared . '/*') ?: []);
        \is_dir($shared) && \rmdir($shared);
        if ($signal !== 0) {
            \fwrite(\STDERR, "\n   Interrupted. What was started is stopped, and its directory is gone.\n");

            return 128 + $signal;
        }

        return $state['exitcode'];
    }

    /**
     * kill -9 for the whole session, and waits until it is gone.
     *
     * @param resource $show
     */
    private static function end($show, int $session): void
    {
        \posix_kill($session, \SIGKILL);
        \posix_kill(-$session, \SIGKILL);
        \proc_close($show);
        // Orphans that their new parent does not wait for keep their numbers: no longer than this.
        for ($i = 0; $i < 100 && \posix_kill(-$session, \SIGKILL); ++$i) {
            \usleep(10_000);
        }
    }

    /** A directory in memory, where the system has a file system for that. */
    private static function sharedMemory(string $otherwise): string
    {
        $path = \is_dir('/dev/shm') && \is_writable('/dev/shm') ? '/dev/shm/' . \basename($otherwise) : $otherwise . '/segment';
        \mkdir($path, 0o700);

        return $path;
    }

    /**
     * @param list<string> $arguments
     *
     * @return non-empty-list<string>
     */
    private static function command(string $script, array $arguments): array
    {
        $command = ['setpriv', '--pdeathsig', 'TERM', '--', \PHP_BINARY];
        foreach (self::SETTINGS as $name => $value) {
            \array_push($command, '-d', $name . '=' . $value);
        }

        return [...$command, $script, ...$arguments];
    }
}
