<?php

declare(strict_types=1);

namespace Larder\Lab\Queue;

/** The least that a queue in SQLite costs: one table, plain statements, and the same durability as Larder's. */
final class SqlitePile implements Pile
{
    private readonly \PDO $pdo;

    /** @var array<string, \PDOStatement> */
    private array $statements = [];

    private int $taken = 0;

    public function __construct(string $address)
    {
        \is_dir($address) || \mkdir($address, 0o700, true);
        $this->pdo = new \PDO("sqlite:$address/floor.db");
        $this->pdo->exec('PRAGMA busy_timeout=30000; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;'
            . ' CREATE TABLE IF NOT EXISTS message (id INTEGER PRIMARY KEY, state INTEGER NOT NULL DEFAULT 0, body BLOB NOT NULL);'
            . ' CREATE INDEX IF NOT EXISTS ready ON message (id) WHERE state = 0');
    }

    public function push(string $body): void
    {
        $this->run('INSERT INTO message (body) VALUES (?)', $body);
    }

    public function pushMany(array $bodies): void
    {
        $this->run('BEGIN IMMEDIATE');
        foreach ($bodies as $body) {
            $this->push($body);
        }
        $this->run('COMMIT');
    }

    public function take(float $wait): ?string
    {
        for ($end = \microtime(true) + $wait; ($taken = $this->claim(1)) === [] && \microtime(true) < $end;) {
            \usleep(1_000);
        }

        return $taken[0] ?? null;
    }

    public function takeMany(int $most): array
    {
        return $this->claim($most);
    }

    public function clear(): void
    {
        $this->run('DELETE FROM message');
        $this->run('PRAGMA wal_checkpoint(TRUNCATE)');
    }

    /** @return list<string> */
    private function claim(int $most): array
    {
        $this->run('BEGIN IMMEDIATE');
        $bodies = [];
        while (\count($bodies) < $most) {
            $this->run('DELETE FROM message WHERE id = ?', $this->taken);
            $row = $this->run('UPDATE message SET state = 1 WHERE id = (SELECT id FROM message WHERE state = 0 ORDER BY id LIMIT 1) RETURNING id, body');
            $this->taken = \is_int($row[0] ?? null) ? $row[0] : 0;
            if (!\is_string($row[1] ?? null)) {
                break;
            }
            $bodies[] = $row[1];
        }
        $this->run('COMMIT');

        return $bodies;
    }

    /** @return list<mixed> the first row */
    private function run(string $sql, int|string ...$values): array
    {
        $statement = $this->statements[$sql] ??= $this->pdo->prepare($sql);
        $statement->execute(\array_values($values));

        /** @var list<list<mixed>> $rows */
        $rows = $statement->fetchAll(\PDO::FETCH_NUM);

        return $rows[0] ?? [];
    }
}
