<?php

declare(strict_types=1);

namespace Larder;

use Larder\Config\InvalidConfiguration;
use Larder\Config\PlainDsn;
use Larder\Counter\CounterFailure;
use Larder\Counter\CounterOverflow;
use Larder\Counter\Engine;
use Larder\Counter\Engines;
use Larder\Counter\SqliteEngine;
use Larder\System\WrongUser;

/**
 * A whole number that any process may add to: exact under any concurrency, and never evicted, since it is no cache entry.
 *
 * Over SQLite what add() has counted outlives the process's death by whatever cause, and with `synchronous=full` a power cut
 * too; with "normal", the default, a power cut may take the last additions with it. Over Redis it is as durable as that
 * server is (its `appendonly` and `save`).
 *
 * With `combine=1` (SQLite and the extension) additions are collected in shared memory, and a call that adds writes them down
 * when a tenth of a second has passed since the last time. No process loses any by its death. A machine that dies loses what
 * was not written: at most what was added in one tenth of a second. If no call adds after that, value() writes it, and so does
 * the end of a program on the command line. Who adds without `combine` may do so beside it.
 */
final class Counter
{
    private function __construct(private readonly Engine $engine) {}

    /**
     * @param string|array<string, mixed> $source a DSN (sqlite:///directory, redis://…, predis://…), or an array with "dsn"
     *                                            and options: `synchronous` (normal, full), `combine` (false), `timeout`
     *                                            (seconds that a call waits for other processes or for the server; 5).
     *                                            Options may stand in the DSN's query as well
     * @param string                      $name   of the counter: 1 to 200 bytes
     *
     * @throws InvalidConfiguration
     * @throws WrongUser            the directory belongs to another user
     * @throws CounterFailure       the directory or the shared memory cannot be had now
     */
    public static function open(#[\SensitiveParameter] string|array $source, string $name = 'default'): self
    {
        if (\is_string($source) && \str_starts_with($source, 'sqlite:')) {
            \PHP_SAPI === 'cli' || \is_file(__DIR__ . '/../classes/counter.php') && require __DIR__ . '/../classes/counter.php';
            $directory = $name === '' || \strlen($name) > Engine::LONGEST_NAME || !\extension_loaded('pdo_sqlite') ? null : PlainDsn::directory($source);
            if ($directory !== null) {
                return new self(new SqliteEngine($directory, $name));
            }
        }
        \PHP_SAPI === 'cli' || \is_file(__DIR__ . '/../classes/counter-redis.php') && require __DIR__ . '/../classes/counter-redis.php';

        return new self(Engines::make($source, $name));
    }

    /**
     * Adds to the counter, atomically. A new counter starts at zero.
     *
     * @return int the new value. With `combine` what others added elsewhere (without it, or on the same files from another
     *             container) may be a tenth of a second late in it, and is never lost
     *
     * @throws CounterOverflow the sum would not fit into 64 bits: nothing has changed
     * @throws CounterFailure  the disk is full, the database is damaged or locked: nothing has changed. Of a server that
     *                         does not answer, whether it has counted is not known
     */
    public function add(int $by = 1): int
    {
        return $this->engine->add($by);
    }

    /** @throws CounterFailure */
    public function value(): int
    {
        return $this->engine->value();
    }

    /**
     * Sets the counter to zero.
     *
     * @throws CounterFailure
     */
    public function reset(): void
    {
        $this->engine->reset();
    }
}
