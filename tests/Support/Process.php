<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use Larder\Lab\Service\Silence;

/**
 * A child process: lines in, lines out, killed when this object goes or this process ends, however it ends.
 *
 * Against the ordinary ends there are the destructor and a shutdown function; against kill -9 of the test the kernel
 * sends the child a signal (PR_SET_PDEATHSIG, set by setpriv(1) of util-linux, which then becomes the program, so
 * that the process id is the program's own). A forked child that inherits the object leaves the process alone.
 */
final class Process
{
    public readonly int $pid;

    private readonly int $owner;
    private readonly TemporaryDirectory $directory;

    /** @var resource */
    private $handle;

    /** @var ?resource */
    private $input;

    /** @var resource */
    private $output;

    private string $buffer = '';
    private ?int $status = null;

    /** @var array<int, array{int, int}> process id to its owner's and the signal that ends it; for the shutdown function */
    private static array $living = [];

    /**
     * @param non-empty-list<string>     $command      program and arguments; no shell is involved
     * @param array<string, string|null> $environment  added to this process's own; null takes a variable away
     * @param int                        $orphaned     SIGKILL or SIGTERM: what it gets if this process ends before this object
     */
    public function __construct(array $command, array $environment = [], ?string $workingDirectory = null, int $orphaned = \SIGKILL)
    {
        $this->directory = new TemporaryDirectory('larder-p');
        $this->owner = \posix_getpid();
        $handle = \proc_open(
            ['setpriv', '--pdeathsig', $orphaned === \SIGTERM ? 'TERM' : 'KILL', '--', ...$command],
            // Errors go to a file: nobody reads them meanwhile, and a full pipe would stop the child.
            [['pipe', 'r'], ['pipe', 'w'], ['file', $this->directory->file('stderr'), 'a']],
            $pipes,
            $workingDirectory,
            $environment === [] ? null : \array_filter(
                \array_replace(\getenv(), $environment),
                static fn(?string $value): bool => $value !== null,
            ),
        );
        if ($handle === false) {
            throw new \RuntimeException('Cannot start ' . \implode(' ', $command));
        }
        $this->handle = $handle;
        [$this->input, $this->output] = $pipes;
        \stream_set_blocking($this->output, false);
        $this->pid = \proc_get_status($handle)['pid'];
        if (self::$living === []) {
            \register_shutdown_function(static function (): void {
                foreach (self::$living as $pid => [$owner, $signal]) {
                    if ($owner === \posix_getpid()) {
                        \posix_kill($pid, $signal);
                    }
                }
            });
        }
        self::$living[$this->pid] = [$this->owner, $orphaned];
        $this->awaitProgram();
    }

    /**
     * A PHP child that runs a script.
     *
     * @param list<string>                    $arguments
     * @param array<string, string|int|float> $ini          -d settings; APCu is on unless they say otherwise
     * @param array<string, string|null>      $environment
     */
    public static function php(string $script, array $arguments = [], array $ini = [], array $environment = []): self
    {
        return new self([...self::interpreter($ini), '-f', $script, '--', ...$arguments], $environment);
    }

    /**
     * A PHP child that runs code, without an opening tag; classes are autoloaded, arguments are in $argv from 1 on.
     *
     * @param list<string>                    $arguments
     * @param array<string, string|int|float> $ini
     * @param array<string, string|null>      $environment
     */
    public static function snippet(string $code, array $arguments = [], array $ini = [], array $environment = []): self
    {
        $autoload = 'require ' . \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true) . ";\n";

        return new self([...self::interpreter($ini), '-r', $autoload . $code, '--', ...$arguments], $environment);
    }

    /**
     * What a snippet prints as JSON on its first line.
     *
     * @param list<string>                    $arguments
     * @param array<string, string|int|float> $ini
     */
    public static function said(string $code, array $arguments = [], array $ini = []): mixed
    {
        $child = self::snippet($code, $arguments, $ini);
        $line = $child->line() ?? throw new \RuntimeException($child->errors());
        $child->wait() === 0 || throw new \RuntimeException($child->errors());

        return \json_decode($line, true, 8, \JSON_THROW_ON_ERROR);
    }

    /**
     * Whether a process ends within this time (seconds), ours or not; one that nobody has waited for has ended too.
     */
    public static function ends(int $pid, float $timeout = 30.0): bool
    {
        $end = \hrtime(true) + (int) ($timeout * 1e9);
        \set_error_handler(static fn(): bool => true); // it may end between the check and the reading
        try {
            do {
                $state = \file_exists("/proc/$pid/stat") ? (string) \file_get_contents("/proc/$pid/stat") : '';
                if ($state === '' || \str_contains($state, ') Z ')) {
                    return true;
                }
                \usleep(5_000);
            } while (\hrtime(true) < $end);
        } finally {
            \restore_error_handler();
        }

        return false;
    }

    /**
     * What a process does, from /proc/PID/syscall (proc(5)): number of the system call, or -1, and last the program
     * counter. Stopped for that, since nothing is said of one that runs.
     *
     * @return non-empty-list<string>
     */
    public static function where(int $pid): array
    {
        \posix_kill($pid, \SIGSTOP);
        for ($i = 0; $i < 100; $i++) {
            \usleep(500);
            $text = \trim((string) Silence::of(static fn(): string|false => \file_get_contents("/proc/$pid/syscall")));
            if ($text !== 'running') {
                break;
            }
        }
        \posix_kill($pid, \SIGCONT);

        return \explode(' ', \str_replace('0x', '', $text));
    }

    public function __destruct()
    {
        if ($this->owner === \posix_getpid()) {
            $this->kill();
        }
    }

    public function write(string $bytes): void
    {
        if ($this->input === null || \fwrite($this->input, $bytes) !== \strlen($bytes)) {
            throw new \RuntimeException('The child does not read: ' . $this->errors());
        }
        \fflush($this->input);
    }

    /** Ends the child's input. */
    public function closeInput(): void
    {
        if ($this->input !== null) {
            \fclose($this->input);
            $this->input = null;
        }
    }

    /** The next line of its output without the line's end; null if there is none in this time (seconds), or no more. */
    public function line(float $timeout = 60.0): ?string
    {
        $end = \hrtime(true) + (int) ($timeout * 1e9);
        do {
            $length = \strpos($this->buffer, "\n");
            if ($length !== false) {
                $line = \substr($this->buffer, 0, $length);
                $this->buffer = \substr($this->buffer, $length + 1);

                return $line;
            }
        } while ($this->read($end));

        return null;
    }

    /** Waits for a line and compares: what the child says when it is ready, for example. */
    public function expect(string $line, float $timeout = 60.0): void
    {
        $got = $this->line($timeout);
        if ($got !== $line) {
            throw new \RuntimeException(\sprintf('Expected "%s", got %s. Errors: %s', $line, $got === null ? 'nothing' : "\"$got\"", $this->errors()));
        }
    }

    /** All of its output that line() has not returned, until its end or for this time (seconds). */
    public function output(float $timeout = 60.0): string
    {
        $end = \hrtime(true) + (int) ($timeout * 1e9);
        while ($this->read($end));
        $output = $this->buffer;
        $this->buffer = '';

        return $output;
    }

    /** What it wrote to its standard error so far. */
    public function errors(): string
    {
        return (string) \file_get_contents($this->directory->file('stderr'));
    }

    public function isRunning(): bool
    {
        if ($this->status === null) {
            $state = \proc_get_status($this->handle);
            if ($state['running']) {
                return true;
            }
            // Before PHP 8.3 only the first call after the end tells the exit status.
            $this->status = $state['signaled'] ? 128 + $state['termsig'] : $state['exitcode'];
            unset(self::$living[$this->pid]);
        }

        return false;
    }

    /**
     * Waits for its end, at most this time (seconds).
     *
     * @return int the exit status, 128 + signal if a signal ended it
     */
    public function wait(float $timeout = 60.0): int
    {
        $end = \hrtime(true) + (int) ($timeout * 1e9);
        $pause = 200;
        while ($this->isRunning()) {
            if (\hrtime(true) > $end) {
                throw new \RuntimeException('Still running after ' . $timeout . ' s. Errors: ' . $this->errors());
            }
            // Read, so that a child that still writes can end; no select() on a stream that has ended, it returns at once.
            if (\feof($this->output) || !$this->read(\hrtime(true) + $pause * 1000)) {
                \usleep($pause);
            }
            $pause = \min(10_000, $pause * 2);
        }

        return (int) $this->status;
    }

    /** Sends a signal and returns. */
    public function signal(int $signal): void
    {
        if ($this->isRunning()) {
            \posix_kill($this->pid, $signal);
        }
    }

    /** Ends it now (kill -9, which nothing can catch or delay) and waits until it is gone. */
    public function kill(): void
    {
        if ($this->isRunning()) {
            \posix_kill($this->pid, \SIGKILL);
            // A stopped process, or one in the middle of a disk write, may need a moment.
            $this->wait(60.0);
        }
        $this->closeInput();
    }

    /**
     * @param array<string, string|int|float> $ini
     *
     * @return non-empty-list<string>
     */
    private static function interpreter(array $ini): array
    {
        $command = [\PHP_BINARY];
        foreach ($ini + ['apc.enable_cli' => 1, 'display_errors' => 'stderr', 'error_reporting' => \E_ALL] as $name => $value) {
            $command[] = '-d';
            $command[] = $name . '=' . $value;
        }

        return $command;
    }

    /** Until setpriv has become the program, nothing would end it if this process were killed. */
    private function awaitProgram(): void
    {
        $before = (string) \file_get_contents('/proc/self/cmdline');
        \set_error_handler(static fn(): bool => true); // it may have ended meanwhile
        do {
            \usleep(200);
            // Empty for a moment while one program replaces the other, and for good when it has ended.
            $now = (string) \file_get_contents('/proc/' . $this->pid . '/cmdline');
        } while (($now === '' || $now === $before || \str_starts_with($now, "setpriv\0")) && $this->isRunning());
        \restore_error_handler();
    }

    /** Reads what is there, waiting for it until $end (hrtime); false if there is nothing by then, or nothing more ever. */
    private function read(int $end): bool
    {
        $read = [$this->output];
        $none = null;
        $wait = (int) (\max(0, $end - \hrtime(true)) / 1000);
        \set_error_handler(static fn(): bool => true); // a signal that interrupts select() is a warning
        $ready = \stream_select($read, $none, $none, \intdiv($wait, 1_000_000), $wait % 1_000_000);
        \restore_error_handler();
        if ($ready === 0) {
            return false;
        }
        if ($ready === false) {
            return \hrtime(true) < $end;
        }
        $bytes = \fread($this->output, 1 << 16);
        if ($bytes === false || $bytes === '') {
            return false;
        }
        $this->buffer .= $bytes;

        return true;
    }
}
