<?php

declare(strict_types=1);

namespace Larder\WordPress\Intent;

use Larder\WordPress\Replicas;

/**
 * The rows that a statement is about to write, where it does not name them itself: asked from the database with the
 * statement's own condition.
 *
 * By the connection itself: a query by wpdb, which stands before its own, would change what it knows of that. In a
 * transaction the answer may be of an older view than what the statement will find; so there only rows that are named
 * are asked for, all of which must be found.
 */
final readonly class Rows
{
    public function __construct(
        private Statement $statement,
        private \wpdb $database,
        private bool $inTransaction,
    ) {}

    /**
     * What a column is in the rows, and what it becomes.
     *
     * @param bool         $isNew  the database itself gives one to a new row
     * @param list<string> $unique the columns that the condition may name rows by instead
     * @param list<string> $by     the columns that the condition may begin with instead: those that have an index
     *
     * @return ?list<string> null: they are not known
     */
    public function ids(string $column, bool $isNew = false, array $unique = [], array $by = []): ?array
    {
        $set = $this->statement->values($column);
        foreach ($set ?? [] as $place => $value) {
            if ($isNew && \in_array($value, ['', '0', 'NULL', 'DEFAULT'], true)) {
                unset($set[$place]);
            } elseif (!\ctype_digit($value)) {
                return null;
            }
        }
        if ($set === null || $this->statement->verb === 'INSERT') {
            return $set === null ? null : \array_values($set);
        }
        $ids = $this->statement->numbers($column);
        if ($ids === null) {
            $rows = $this->all([$column], [$column, ...$unique], $by);
            $ids = $rows === null ? null : \array_column($rows, 0);
        }

        return $ids === null ? null : [...$ids, ...\array_values($set)];
    }

    /**
     * @param non-empty-list<string> $columns
     * @param list<string>           $unique
     * @param list<string>           $by
     *
     * @return ?list<list<string>>
     */
    public function all(array $columns, array $unique, array $by = []): ?array
    {
        if ($this->statement->verb === 'INSERT') {
            return [];
        }
        $named = \array_values(\array_filter(\array_map($this->statement->numbers(...), $unique), \is_array(...)))[0] ?? null;
        if ($this->inTransaction ? $named === null : !$this->statement->isBy(...$unique, ...$by)) {
            return null;
        }
        $rows = $this->select(\sprintf('SELECT DISTINCT `%s` FROM `%s` WHERE %s', \implode('`, `', $columns), $this->statement->tables[0], $this->statement->where()));

        return $named !== null && $this->inTransaction && \count($rows ?? []) !== \count(\array_unique($named)) ? null : $rows;
    }

    /** @return ?list<string> of the terms in a statement on relationships; null: it does not name all of them */
    public function taxonomies(): ?array
    {
        $terms = $this->statement->verb === 'INSERT' ? $this->statement->values('term_taxonomy_id') : $this->statement->numbers('term_taxonomy_id');
        if ($terms === null || $terms === [] || \array_filter($terms, static fn(string $term): bool => !\ctype_digit($term)) !== []) {
            return null;
        }
        $rows = $this->select(\sprintf('SELECT term_taxonomy_id, taxonomy FROM `%s` WHERE term_taxonomy_id IN (%s)', $this->database->term_taxonomy, \implode(',', $terms)));

        return \count($rows ?? []) < \count(\array_unique($terms)) ? null : \array_values(\array_unique(\array_column($rows ?? [], 1)));
    }

    /** @return ?list<list<string>> */
    private function select(string $query): ?array
    {
        if (Replicas::lag() > 0.0) {
            // The last connection may be to a copy of the database, which may not have the rows yet.
            return null;
        }
        // wpdb lets read it, by __get(), though it is declared protected.
        $connection = $this->database->__get('dbh');
        try {
            // phpcs:ignore WordPress.DB.RestrictedFunctions -- the statement is the caller's own, read before it runs; $wpdb would count it, and run the filter that this is called by
            $result = $connection instanceof \mysqli ? \mysqli_query($connection, $query . ' LIMIT ' . (Statement::MOST + 1)) : false;
        } catch (\mysqli_sql_exception) {
            return null;
        }
        $rows = [];
        foreach ($result instanceof \mysqli_result ? $result->fetch_all(\MYSQLI_NUM) : [] as $row) {
            $rows[] = \array_map(static fn(mixed $value): string => \is_scalar($value) ? (string) $value : '', \array_values((array) $row));
        }

        return $result instanceof \mysqli_result && \count($rows) <= Statement::MOST ? $rows : null;
    }
}
