<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

/**
 * Writes the rows of changes from the change log, several by one statement where there are many: SQLite's work for each
 * statement is a quarter of what a row takes. A held record keeps its row (Writing::HELD).
 */
final class LateRows
{
    private const PUT = 'INSERT INTO e(k, pos, writer, kind, expiry, used, sum, body) VALUES(?, ?, ?, ?, ?, 0, ?, ?)';

    private const ANOTHER = ', (?, ?, ?, ?, ?, 0, ?, ?)';

    private const UNLESS_HELD = ' ON CONFLICT(k) DO UPDATE SET pos = excluded.pos, writer = excluded.writer, kind = excluded.kind,'
        . ' expiry = excluded.expiry, used = 0, sum = excluded.sum, body = excluded.body WHERE used != ' . Writing::HELD . ' OR body IS NULL';

    private const PLACE = 'SELECT pos FROM e WHERE k = ?';

    private const TYPES = [\PDO::PARAM_LOB, \PDO::PARAM_INT, \PDO::PARAM_STR, \PDO::PARAM_STR, \PDO::PARAM_INT, \PDO::PARAM_INT, \PDO::PARAM_LOB];

    private const COLUMNS = 7;

    /** Rows by one statement. */
    private const AT_ONCE = 8;

    /** Changes from which on that statement saves more than its preparation takes. */
    private const MANY = 128;

    private readonly int $size;

    private readonly \PDOStatement $put;

    /** @var array<int, mixed> bound to the statement by reference: the rows that wait, one after the other */
    private array $values = [];

    /** @var list<int> what put() was given with each of these rows */
    private array $ids = [];

    /** @param int $count how many rows there will be, about */
    public function __construct(private readonly Database $database, int $count)
    {
        $this->size = $count < self::MANY ? 1 : self::AT_ONCE;
        $this->put = $this->statement($this->size);
        for ($i = 0; $i < $this->size * self::COLUMNS; $i++) {
            $this->put->bindParam($i + 1, $this->values[$i], self::TYPES[$i % self::COLUMNS]);
        }
    }

    /** @return list<int> the ids of those rows, of all that were written now, that stay as they were, since their records are held */
    public function put(int $id, string $key, int $position, string $writer, string $kind, int $expiry, ?string $body): array
    {
        $at = \count($this->ids) * self::COLUMNS;
        $this->ids[] = $id;
        $values = &$this->values;
        $values[$at] = $key;
        $values[$at + 1] = $position;
        $values[$at + 2] = $writer;
        $values[$at + 3] = $kind;
        $values[$at + 4] = $expiry;
        $values[$at + 5] = $body === null ? 0 : \crc32($body);
        $values[$at + 6] = $body;
        if (!isset($this->ids[$this->size - 1])) {
            return [];
        }
        $this->put->execute();

        return $this->written($this->put->rowCount());
    }

    /** @return list<int> as put() */
    public function flush(): array
    {
        if ($this->ids === []) {
            return [];
        }
        $put = $this->statement(1);
        $count = 0;
        foreach ($this->ids as $row => $_) {
            foreach (self::TYPES as $column => $type) {
                $put->bindValue($column + 1, $this->values[$row * self::COLUMNS + $column], $type);
            }
            $put->execute();
            $count += $put->rowCount();
        }

        return $this->written($count);
    }

    private function statement(int $rows): \PDOStatement
    {
        return $this->database->statement(self::PUT . \str_repeat(self::ANOTHER, $rows - 1) . self::UNLESS_HELD);
    }

    /** @return list<int> */
    private function written(int $count): array
    {
        $ids = $this->ids;
        $this->ids = [];
        if ($count === \count($ids)) {
            return [];
        }
        $held = [];
        foreach ($ids as $row => $id) {
            $place = $this->database->statement(self::PLACE);
            $place->bindValue(1, $this->values[$row * self::COLUMNS], \PDO::PARAM_LOB);
            $place->execute();
            if ($place->fetchAll(\PDO::FETCH_COLUMN)[0] !== $this->values[$row * self::COLUMNS + 1]) {
                $held[] = $id;
            }
        }

        return $held;
    }
}
