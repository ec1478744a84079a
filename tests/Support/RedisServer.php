<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use Larder\Driver\Redis\Endpoint;
use Larder\Lab\Plan\Need;
use Larder\Lab\Service\Place;
use Larder\Lab\Service\Program;
use PHPUnit\Framework\Assert;
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

    /** A user who may do what permit() was told, and the password. */
    public const USER = 'larder';
    public const PASSWORD = 'only-what-it-needs';

    private readonly TemporaryDirectory $directory;
    private ?Program $program = null;

    /** @var list<string> what the user may */
    private array $rules = [];

    /**
     * @param bool                  $save       write dump.rdb when it is stopped in order
     * @param bool                  $appendOnly keep an append-only file
     * @param array<string, string> $config     further directives of redis.conf
     */
    public function __construct(
        private readonly bool $save = false,
        private readonly bool $appendOnly = false,
        public readonly array $config = [],
    ) {
        $this->directory = new TemporaryDirectory('larder-redis');
        $this->dir = $this->directory->path;
        $this->socket = $this->directory->file('redis.sock');
        $this->port = Place::freePort();
        $this->start();
    }

    /** The server's program: that of the environment's LARDER_REDIS, or else this machine's; null if there is none. */
    public static function program(): ?string
    {
        return \getenv('LARDER_REDIS') ?: Need::find(['redis-server', 'valkey-server']);
    }

    /** Skips the test where there is none. */
    public static function demand(): void
    {
        self::program() ?? Assert::markTestSkipped('There is no redis-server and no valkey-server.');
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
        return self::ask("unix:$this->socket", $this->config['requirepass'] ?? null, $name, ...$arguments);
    }

    /** As command(), of a server at an address as Predis takes it. */
    public static function ask(string $address, ?string $password, string $name, string ...$arguments): mixed
    {
        $connection = new StreamConnection(Parameters::create(Parameters::parse($address) + ['read_write_timeout' => 10, 'timeout' => 2.0]));
        $password === null || $connection->executeCommand(new RawCommand('AUTH', [$password]));
        $reply = $connection->executeCommand(new RawCommand($name, \array_values($arguments)));
        $connection->disconnect();
        if ($reply instanceof ErrorInterface) {
            throw new \RuntimeException("$name: " . $reply->getMessage());
        }

        return $reply;
    }

    /**
     * Lets the user do this and nothing else, also after a restart.
     *
     * @param list<string> $rules words of ACL SETUSER
     *
     * @return string what stands before the address in a DSN
     */
    public function permit(array $rules): string
    {
        if ($rules !== $this->rules) {
            $this->rules = $rules;
            $this->program === null || $this->command('ACL', 'SETUSER', ...$this->user());
        }

        return self::USER . ':' . self::PASSWORD . '@';
    }

    /** @return list<string> what somebody was refused since this was asked last: a command or a key, and where */
    public function refusals(): array
    {
        $refusals = [];
        foreach (\is_array($log = $this->command('ACL', 'LOG')) ? $log : [] as $entry) {
            // Field and value in turn.
            $told = \is_array($entry) ? \array_column(\array_chunk($entry, 2), 1, 0) : [];
            $refusals[] = \implode(' ', \array_map(static fn(string $field): string => \is_scalar($told[$field] ?? null) ? (string) $told[$field] : '', ['reason', 'object', 'context']));
        }
        $this->command('ACL', 'LOG', 'RESET');

        return $refusals;
    }

    /** @return list<string> */
    private function user(): array
    {
        return [self::USER, 'reset', 'on', '>' . self::PASSWORD, ...$this->rules];
    }

    public function info(string $section): string
    {
        $info = $this->command('INFO', $section);

        return \is_string($info) ? $info : throw new \RuntimeException('INFO was answered by something else.');
    }

    /** @return int how many connections the server has: one that it has closed has nothing more to be read */
    public function connections(): int
    {
        return $this->number('clients', 'connected_clients');
    }

    /** @return int what INFO says; 0: it does not say it */
    public function number(string $section, string $name): int
    {
        return \preg_match("/^$name:(\\d+)/m", $this->info($section), $found) === 1 ? (int) $found[1] : 0;
    }

    public function start(): void
    {
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
        $this->rules === [] || \array_push($command, '--user', ...$this->user());
        $this->program = new Program('redis', $command, $this->dir);
        $said = \strlen($this->program->log());
        $this->program->start();
        $this->program->await($this->answers(...), 60.0);
        \str_contains(\substr($this->program->log(), $said), 'Truncating the AOF') && $this->rewriteFile();
    }

    /**
     * As docs/queue.md tells whoever runs one: a server whose file ended within a transaction cuts it behind the MULTI, and at
     * its next start the half transaction takes what was written after it along (Valkey, pull request 4342).
     */
    private function rewriteFile(): void
    {
        $this->command('BGREWRITEAOF');
        Wait::until(fn(): bool => \preg_match('/^aof_rewrite_(in_progress|scheduled):1/m', $this->info('persistence')) !== 1, 'the file that is written anew');
    }

    /** In order: what it is told to keep is on the disk then. */
    public function stop(): void
    {
        $this->program?->stop(60.0);
        $this->program = null;
    }

    public function kill(): void
    {
        $this->program?->kill();
        $this->program = null;
    }

    public function restart(bool $keepData): void
    {
        $this->stop();
        if (!$keepData) {
            foreach (['/dump.rdb', '/appendonlydir', '/appendonly.aof'] as $name) {
                TemporaryDirectory::clear($this->dir . $name);
            }
        }
        $this->start();
    }

    /** It keeps its connections and takes new ones, and answers nothing. */
    public function pause(): void
    {
        Halt::process($this->pid());
    }

    public function resume(): void
    {
        \posix_kill($this->pid(), \SIGCONT);
    }

    public function isRunning(): bool
    {
        return $this->program !== null;
    }

    public function pid(): int
    {
        return $this->program?->pid() ?? throw new \LogicException('It is not running');
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
}
