<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

use mysqli;

/**
 * MariaDB on a unix socket, small, and without care for a power cut. Its data begin empty, or as a copy of what another
 * one has saved, and go when it stops.
 */
final class MariaDbServer extends Server
{
    public const USER = 'root';

    /** Of USER, anew at every start. */
    private string $password = '';

    /** @param ?string $template a directory that save() has made */
    public function __construct(Directory $directory, private readonly ?string $template = null)
    {
        parent::__construct($directory, 'mariadb', 'mariadbd', 'mariadb-server (bin/setup wordpress installs all that a site needs)');
    }

    public function socket(): string
    {
        return $this->home->socket('socket');
    }

    public function password(): string
    {
        return $this->password;
    }

    /**
     * Runs a statement by a connection of its own.
     *
     * @return list<array<string, ?string>> its rows
     */
    public function query(string $statement, string $database = ''): array
    {
        $result = (new mysqli('localhost', self::USER, $this->password, $database, 0, $this->socket()))->query($statement);
        $rows = [];
        foreach ($result instanceof \mysqli_result ? $result : [] as $row) {
            \assert(\is_array($row));
            $columns = [];
            foreach ($row as $name => $value) {
                \assert($value === null || \is_scalar($value));
                $columns[(string) $name] = $value === null ? null : (string) $value;
            }
            $rows[] = $columns;
        }

        return $rows;
    }

    /** Shuts it down in order, and copies its data to a new directory. */
    public function save(string $directory): void
    {
        $this->query('SHUTDOWN');
        for ($end = \hrtime(true) + 30_000_000_000; $this->isAlive();) {
            \hrtime(true) < $end || throw new ServiceFailure('MariaDB does not end within 30 seconds.');
            \usleep(5_000);
        }
        self::copy($this->data(), $directory);
    }

    protected function arguments(int $port): array
    {
        $this->home->open();
        if ($this->template !== null) {
            self::copy($this->template, $this->data());
        } else {
            $this->initialize();
        }
        $this->password = \bin2hex(\random_bytes(16));
        $init = $this->home->file('init.sql');
        \file_put_contents($init, \sprintf("ALTER USER '%s'@'localhost' IDENTIFIED BY '%s';\n", self::USER, $this->password));
        \chmod($init, 0o600);

        return [
            '--no-defaults',
            // It refuses to be root unless told.
            '--user=' . Account::own()->name,
            '--datadir=' . $this->data(),
            '--tmpdir=' . $this->home->path,
            '--socket=' . $this->socket(),
            '--pid-file=' . $this->home->file('pid'),
            '--init-file=' . $init,
            '--skip-networking',
            '--skip-log-bin',
            '--skip-name-resolve',
            '--character-set-server=utf8mb4',
            '--max-connections=250',
            '--max-allowed-packet=64M',
            '--innodb-buffer-pool-size=128M',
            '--innodb-buffer-pool-load-at-startup=OFF',
            '--innodb-buffer-pool-dump-at-shutdown=OFF',
            '--innodb-log-file-size=16M',
            '--innodb-flush-log-at-trx-commit=0',
            '--innodb-doublewrite=OFF',
            '--aria-pagecache-buffer-size=8M',
            '--key-buffer-size=1M',
        ];
    }

    protected function reachedBy(int $port): array
    {
        return ['socket' => $this->socket()];
    }

    /** It greets and waits; an answer that is none makes it close the connection. */
    protected function question(): string
    {
        return "\x01\x00\x00\x01\x00";
    }

    protected function understand(string $answer): ?array
    {
        // A packet's header (4 bytes), the protocol's version (10), the server's. The "5.5.5-" before it is for old
        // replicas. It tells no process id: no other listens in this directory.
        return \preg_match('/^.{4}\x0a(?:5\.5\.5-)?([\d.]+)-MariaDB/s', $answer, $version) === 1
            ? [$this->pid(), "MariaDB $version[1]"]
            : null;
    }

    private function data(): string
    {
        return $this->home->file('data');
    }

    private function initialize(): void
    {
        $made = Command::run([
            'mariadb-install-db', '--no-defaults', '--user=' . Account::own()->name, '--datadir=' . $this->data(),
            '--auth-root-authentication-method=normal', '--skip-test-db', '--innodb-log-file-size=16M',
            // In the common one another server that starts removes its temporary tables.
            '--tmpdir=' . $this->home->path,
            // A machine need not know its own name: no client comes by the network.
            '--force',
        ], 60.0);
        $made->succeeded || throw ServiceFailure::notStarted('MariaDB', $made->errors . $made->output);
    }

    private static function copy(string $from, string $to): void
    {
        $copy = Command::run(['cp', '--archive', $from, $to], 60.0);
        $copy->succeeded || throw new ServiceFailure("Cannot copy MariaDB's data: $copy->errors");
    }
}
