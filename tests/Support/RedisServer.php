<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use Larder\Driver\Redis\Endpoint;
use Predis\Command\RawCommand;
use Predis\Connection\Parameters;
use Predis\Connection\StreamConnection;
use Predis\Response\ErrorInterface;

/**
 * A Redis or Valkey server of one's own, on a unix socket and a free loopback port, in a directory that goes with it.
 *
 * It is stopped by its process id: by stop(), or when the object goes in the process that made it.
 */
final class RedisServer
{
    public readonly string $dir;
    public readonly string $socket;
    public readonly int $port;

    /** @var ?resource */
    private $process = null;
    private readonly int $owner;

    /**
     * @param bool                  $save       write dump.rdb when it is stopped in order
     * @param bool                  $appendOnly keep an append-only file
     * @param array<string, string> $config     further directives of redis.conf
     */
    public function __construct(
        private readonly bool $save = false,
        private readonly bool $appendOnly = false,
        private readonly array $config = [],
    ) {
        $this->owner = (int) \getmypid();
        $this->dir = \sys_get_temp_dir() . '/larder-redis-' . \bin2hex(\random_bytes(6));
        \mkdir($this->dir, 0o700);
        $this->socket = $this->dir . '/redis.sock';
        $this->port = self::freePort();
        $this->start();
    }

    public function __destruct()
    {
        if ($this->owner !== \getmypid()) {
            return;
        }
        $this->kill();
        self::remove($this->dir);
    }

    /** The server's program; null if there is none on this machine. */
    public static function program(): ?string
    {
        foreach (['redis-server', 'valkey-server'] as $name) {
            foreach (\explode(':', (string) \getenv('PATH') . ':/usr/local/bin:/usr/bin') as $dir) {
                if ($dir !== '' && \is_executable("$dir/$name")) {
                    return "$dir/$name";
                }
            }
        }

        return null;
    }

    public function socketEndpoint(float $timeout = 2.0, int $db = 0): Endpoint
    {
        return new Endpoint(socket: $this->socket, db: $db, timeout: $timeout);
    }

    public function tcpEndpoint(float $timeout = 2.0): Endpoint
    {
        return new Endpoint('127.0.0.1', $this->port, timeout: $timeout);
    }

    /** One command, on a connection of its own; a reply that is an error is thrown. */
    public function command(string $name, string ...$arguments): mixed
    {
        $connection = new StreamConnection(Parameters::create(['scheme' => 'unix', 'path' => $this->socket, 'read_write_timeout' => 10]));
        $reply = $connection->executeCommand(new RawCommand($name, \array_values($arguments)));
        $connection->disconnect();
        if ($reply instanceof ErrorInterface) {
            throw new \RuntimeException("$name: " . $reply->getMessage());
        }

        return $reply;
    }

    public function start(): void
    {
        $log = $this->dir . '/server.log';
        $command = [
            self::program() ?? throw new \RuntimeException('There is no redis-server and no valkey-server'),
            '--port', (string) $this->port,
            '--bind', '127.0.0.1',
            '--unixsocket', $this->socket,
            '--dir', $this->dir,
            '--daemonize', 'no',
            '--save', $this->save ? '3600 1' : '',
            '--appendonly', $this->appendOnly ? 'yes' : 'no',
        ];
        foreach ($this->config as $name => $value) {
            \array_push($command, "--$name", ...\explode(' ', $value));
        }
        // Should this process be killed, the kernel ends the server: setpriv(1) becomes it, with the same process id.
        $command = ['setpriv', '--pdeathsig', 'KILL', '--', ...$command];
        $process = \proc_open($command, [['file', '/dev/null', 'r'], ['file', $log, 'a'], ['file', $log, 'a']], $pipes);
        if ($process === false) {
            throw new \RuntimeException('The server does not start');
        }
        $this->process = $process;
        $deadline = \microtime(true) + 60;
        while (!$this->answers()) {
            if (\microtime(true) > $deadline || !\proc_get_status($process)['running']) {
                // A constructor that throws leaves no object, and no destructor.
                $this->kill();
                throw new \RuntimeException('The server does not start: ' . \file_get_contents($log));
            }
            \usleep(5000);
        }
    }

    /** In order: what it is told to keep is on the disk then. */
    public function stop(): void
    {
        $this->end(\SIGTERM);
    }

    public function kill(): void
    {
        $this->end(\SIGKILL);
    }

    public function restart(bool $keepData): void
    {
        $this->stop();
        if (!$keepData) {
            foreach (['/dump.rdb', '/appendonlydir', '/appendonly.aof'] as $name) {
                self::remove($this->dir . $name);
            }
        }
        $this->start();
    }

    /** It keeps its connections and takes new ones, and answers nothing. */
    public function pause(): void
    {
        \posix_kill($this->pid(), \SIGSTOP);
    }

    public function resume(): void
    {
        \posix_kill($this->pid(), \SIGCONT);
    }

    public function pid(): int
    {
        return $this->process === null ? throw new \LogicException('It is not running') : \proc_get_status($this->process)['pid'];
    }

    private function end(int $signal): void
    {
        if ($this->process === null) {
            return;
        }
        \proc_terminate($this->process, \SIGCONT);
        \proc_terminate($this->process, $signal);
        \proc_close($this->process);
        $this->process = null;
    }

    private function answers(): bool
    {
        \set_error_handler(static fn(): bool => true);
        try {
            return $this->command('PING') == 'PONG';
        } catch (\Exception $e) {
            return \str_contains($e->getMessage(), 'NOAUTH');
        } finally {
            \restore_error_handler();
        }
    }

    private static function freePort(): int
    {
        $socket = \stream_socket_server('tcp://127.0.0.1:0');
        $name = $socket === false ? '' : (string) \stream_socket_get_name($socket, false);

        return (int) \substr($name, (int) \strrpos($name, ':') + 1);
    }

    private static function remove(string $path): void
    {
        if (\is_dir($path) && !\is_link($path)) {
            foreach (\array_diff((array) \scandir($path), ['.', '..']) as $name) {
                self::remove("$path/$name");
            }
            \rmdir($path);
        } elseif (\file_exists($path) || \is_link($path)) {
            \unlink($path);
        }
    }
}
