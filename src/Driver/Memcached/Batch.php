<?php

declare(strict_types=1);

namespace Larder\Driver\Memcached;

use Larder\System\Failure;
use Larder\System\Quiet;

/**
 * Commands sent together, and their answers.
 *
 * Commands to one server are executed in the order in which they were added (memcached handles a socket's commands,
 * and the keys of one "gets", one after the other). Between servers only stages are in order: what is added after
 * then() is executed when all before it has been answered. With one server all stages go in one packet.
 *
 * A "gets" may be followed by other commands only where both are small: the server stops reading while its
 * answers are not fetched.
 */
final class Batch
{
    /** Keys of one "gets": as many as a socket's buffers can take at once, command and answer. */
    public const KEYS = 400;

    /** Answers of other forms than one line, in $expected. */
    private const ITEMS = -1;
    private const TIME = -2;
    private const STATS = -3;

    /**
     * Answer to commands of one line, by the number that adding them gave.
     *
     * @var array<int, string>
     */
    public array $replies = [];

    /**
     * Items that the "gets" found: key to value and CAS token.
     *
     * @var array<string, array{string, string}>
     */
    public array $items = [];

    /**
     * Result of time(): the answer, and hrtime() before the command and after the answer.
     *
     * @var ?array{string, int, int}
     */
    public ?array $time = null;

    /**
     * Results of stats(), by name.
     *
     * @var array<string, string>
     */
    public array $stats = [];

    /** @var array<int, string> server to commands */
    private array $commands = [];

    /** @var array<int, list<int>> server to answers to expect: a command's number, or one of the forms */
    private array $expected = [];

    private int $number = 0;

    private bool $repeatable = true;

    public function __construct(private readonly Servers $servers) {}

    /** @param list<string> $keys */
    public function gets(int $server, array $keys): void
    {
        if ($keys !== []) {
            $this->commands[$server] = ($this->commands[$server] ?? '') . 'gets ' . \implode(' ', $keys) . "\r\n";
            $this->expected[$server][] = self::ITEMS;
        }
    }

    /** Asks how many seconds an item has to live, from which the server's time follows: see ServerClock. */
    public function time(int $server, string $key): void
    {
        $this->commands[$server] = ($this->commands[$server] ?? '') . 'mg ' . $key . " t\r\n";
        $this->expected[$server][] = self::TIME;
    }

    /** Asks for a server's statistics. */
    public function stats(int $server): void
    {
        $this->commands[$server] = ($this->commands[$server] ?? '') . "stats\r\n";
        $this->expected[$server][] = self::STATS;
    }

    /** @return int the answer's number: TOUCHED or NOT_FOUND */
    public function touch(int $server, string $key, int $exptime): int
    {
        return $this->command($server, 'touch ' . $key . ' ' . $exptime . "\r\n");
    }

    /** @param list<string> $keys of records, each at its own server */
    public function records(array $keys): void
    {
        if ($this->servers->count === 1) {
            $this->gets(0, $keys);

            return;
        }
        $spread = [];
        foreach ($keys as $key) {
            $spread[$this->servers->of($key)][] = $key;
        }
        foreach ($spread as $server => $some) {
            $this->gets($server, $some);
        }
    }

    /**
     * @param string $verb    set, add, replace or cas
     * @param int    $exptime seconds; 0: never; more than 30 days: seconds since 1970
     * @param string $token   for cas only
     * @param bool   $repeats the command may be sent twice
     *
     * @return int the answer's number: STORED, NOT_STORED, EXISTS, NOT_FOUND or SERVER_ERROR with its reason
     */
    public function store(int $server, string $verb, string $key, string $value, int $exptime, string $token = '', bool $repeats = false): int
    {
        $this->repeatable = $this->repeatable && $repeats;
        $head = $verb . ' ' . $key . ' 0 ' . $exptime . ' ' . \strlen($value) . ($token === '' ? '' : ' ' . $token);

        return $this->command($server, $head . "\r\n" . $value . "\r\n");
    }

    /** @return int the answer's number: the sum, or NOT_FOUND. May be repeated, since that only skips numbers. */
    public function increase(int $server, string $key, int $by): int
    {
        return $this->command($server, 'incr ' . $key . ' ' . $by . "\r\n");
    }

    public function delete(int $server, string $key): int
    {
        $this->repeatable = false;

        return $this->command($server, 'delete ' . $key . "\r\n");
    }

    /** Deletes without waiting for an answer. */
    public function forget(int $server, string $key): void
    {
        $this->repeatable = false;
        $this->commands[$server] = ($this->commands[$server] ?? '') . 'delete ' . $key . " noreply\r\n";
    }

    /**
     * Begins a new stage: the servers execute later commands after all earlier ones.
     *
     * @throws Failure
     */
    public function then(): void
    {
        if ($this->servers->count > 1) {
            $this->run();
        }
    }

    /** @throws Failure */
    public function run(): void
    {
        $answered = false;
        Quiet::begin();
        try {
            // A failing socket raises a warning; a Failure is thrown instead.
            $sent = \hrtime(true);
            $end = $this->servers->end();
            foreach ($this->commands as $server => $bytes) {
                $this->servers->at($server)->send($bytes, $this->repeatable, $end);
            }
            foreach ($this->expected as $server => $numbers) {
                $connection = $this->servers->at($server);
                foreach ($numbers as $number) {
                    if ($number >= 0) {
                        $this->replies[$number] = $this->word($connection);
                    } elseif ($number === self::ITEMS) {
                        $connection->items($this->items);
                    } elseif ($number === self::TIME) {
                        $line = $connection->line();
                        $this->time = [$line, $sent, \hrtime(true)];
                    } else {
                        $this->stats += $connection->stats();
                    }
                }
            }
            foreach ($this->commands as $server => $bytes) {
                $this->servers->at($server)->answered();
            }
            $answered = true;
        } finally {
            // Answers still on their way must not pass for those of the next commands, whatever was thrown: a signal
            // handler may throw too.
            Quiet::end();
            $answered || $this->servers->drop();
        }
        $this->commands = $this->expected = [];
        $this->repeatable = true;
    }

    /**
     * The answer to a command that stores.
     *
     * @throws Failure the server has no room
     */
    public function stored(int $number): string
    {
        $reply = $this->replies[$number];

        return \str_starts_with($reply, 'SERVER_ERROR') ? throw self::full($reply) : $reply;
    }

    /** The failure for an answer of a server that has no room. */
    public static function full(string $reply): Failure
    {
        return Failure::because('memcached', $reply . '; give the server more memory (-m)');
    }

    private function command(int $server, string $bytes): int
    {
        $this->commands[$server] = ($this->commands[$server] ?? '') . $bytes;
        $this->expected[$server][] = $this->number;

        return $this->number++;
    }

    private function word(MemcachedConnection $connection): string
    {
        $line = $connection->line();
        // "ERROR" and "CLIENT_ERROR": this process and the server no longer agree where a command begins.
        if ($line === 'ERROR' || \str_starts_with($line, 'CLIENT_ERROR')) {
            throw $connection->failure('answered "' . $line . '"');
        }

        return $line;
    }
}
