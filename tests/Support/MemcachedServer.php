<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

/** A memcached of the test's own, on a unix socket in a directory of its own or on a free port of 127.0.0.1. */
final class MemcachedServer
{
    /** @var ?resource */
    private $process = null;

    private readonly string $directory;

    /** @var array{string, int} host and port, or the socket's path and 0, as Larder's store takes it */
    public readonly array $address;

    /**
     * @param int          $megabytes of memory
     * @param list<string> $options   for its command line
     */
    public function __construct(private readonly int $megabytes = 64, bool $tcp = false, private readonly array $options = [])
    {
        $this->directory = \sys_get_temp_dir() . '/larder-mc-' . \bin2hex(\random_bytes(6));
        \mkdir($this->directory, 0o700);
        $this->address = $tcp ? ['127.0.0.1', self::freePort()] : [$this->directory . '/socket', 0];
        $this->start();
    }

    public static function installed(): bool
    {
        return \trim((string) \shell_exec('command -v memcached')) !== '';
    }

    public function start(): void
    {
        [$host, $port] = $this->address;
        // Root may not run it without saying so; anybody else may not say so.
        $user = \posix_geteuid() === 0 ? ['-u', 'root'] : [];
        $listen = $port === 0 ? ['-s', $host] : ['-l', $host, '-p', (string) $port, '-U', '0'];
        $process = \proc_open(
            // Should this process be killed, the kernel ends the server: setpriv(1) becomes it, with the same process id.
            ['setpriv', '--pdeathsig', 'KILL', '--', 'memcached', ...$user, ...$listen, '-m', (string) $this->megabytes, '-t', '2', ...$this->options],
            [['file', '/dev/null', 'r'], ['file', '/dev/null', 'w'], ['file', $this->directory . '/log', 'a']],
            $pipes,
        );
        if ($process === false) {
            throw new \RuntimeException('memcached does not start');
        }
        $this->process = $process;
        for ($i = 0; $i < 500; $i++) {
            if ($this->talk('version') !== '') {
                return;
            }
            \usleep(10_000);
        }
        throw new \RuntimeException('memcached does not answer: ' . \file_get_contents($this->directory . '/log'));
    }

    /** One command in the text protocol; the first line of the answer, '' without a server. */
    public function talk(string $command): string
    {
        [$host, $port] = $this->address;
        \set_error_handler(static fn(): bool => true);
        try {
            $socket = \stream_socket_client($port === 0 ? "unix://$host" : "tcp://$host:$port", $code, $message, 1.0);
            if ($socket === false) {
                return '';
            }
            \stream_set_timeout($socket, 1);
            \fwrite($socket, $command . "\r\n");
            $line = \trim((string) \fgets($socket));
            \fclose($socket);

            return $line;
        } finally {
            \restore_error_handler();
        }
    }

    /** What it has said so far (much with the option -vv). */
    public function log(): string
    {
        return (string) \file_get_contents($this->directory . '/log');
    }

    public function pid(): int
    {
        return $this->process === null ? 0 : \proc_get_status($this->process)['pid'];
    }

    public function pause(): void
    {
        $pid = $this->pid();
        \posix_kill($pid, \SIGSTOP);
        // Its threads stop one by one.
        for ($i = 0; $i < 1000; $i++) {
            $states = \array_map(static fn(string $file): string => \explode(') ', (string) \file_get_contents($file))[1][0] ?? '', \glob("/proc/$pid/task/*/stat") ?: []);
            if (\array_unique($states) === ['T']) {
                return;
            }
            \usleep(1000);
        }
    }

    public function resume(): void
    {
        \posix_kill($this->pid(), \SIGCONT);
    }

    public function stop(): void
    {
        $process = $this->process;
        if ($process !== null) {
            $this->resume();
            \proc_terminate($process, \SIGKILL);
            \proc_close($process);
            $this->process = null;
        }
    }

    /** All that it held is gone. */
    public function restart(): void
    {
        $this->stop();
        \is_file($this->address[0]) && \unlink($this->address[0]);
        $this->start();
    }

    /** Stops it and removes its directory. */
    public function end(): void
    {
        $this->stop();
        foreach (\glob($this->directory . '/*') ?: [] as $file) {
            \unlink($file);
        }
        \is_dir($this->directory) && \rmdir($this->directory);
    }

    private static function freePort(): int
    {
        $socket = \stream_socket_server('tcp://127.0.0.1:0');
        if ($socket === false) {
            throw new \RuntimeException('no free port');
        }
        $port = (int) \substr((string) \strrchr((string) \stream_socket_get_name($socket, false), ':'), 1);
        \fclose($socket);

        return $port;
    }
}
