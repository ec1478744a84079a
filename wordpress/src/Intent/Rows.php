<?php

declare(strict_types=1);

namespace Larder\WordPress\Intent;

/**
 * The rows that a statement is about to write, where it does not name them itself: asked from the database with the
 * statement's own condition.
 *
 * By the connection itself: a query by wpdb, which stands before its own, would change what it knows of that.
 */
final readonly class Rows
{
    /** More than these have no intents: they would not be put within their life. */
    private const MOST = 1000;

    public function __construct(
        private Statement $statement,
        private \wpdb $database,
    ) {}

    /**
     * @param string ...$by the columns that the condition may begin with instead: those that have an index
     *
     * @return list<string>
     */
    public function ids(string $column, string ...$by): array
    {
        if ($this->statement->verb === 'INSERT') {
            $id = $this->statement->value($column);

            return $id !== null && \ctype_digit($id) ? [$id] : [];
        }
        $ids = $this->statement->numbers($column);

        return $ids === [] ? \array_column($this->all([$column], $column, ...$by), 0) : $ids;
    }

    /**
     * @param non-empty-list<string> $columns
     *
     * @return list<list<string>>
     */
    public function all(array $columns, string ...$by): array
    {
        if ($this->statement->verb === 'INSERT' || !$this->statement->isBy(...$by)) {
            return [];
        }

        return $this->select(\sprintf('SELECT DISTINCT `%s` FROM `%s` WHERE %s', \implode('`, `', $columns), $this->statement->table, $this->statement->where()));
    }

    /** @return ?list<string> of the terms in a statement on relationships; null: it names none */
    public function taxonomies(): ?array
    {
        $given = $this->statement->value('term_taxonomy_id');
        $terms = $given !== null && \ctype_digit($given) ? [$given] : [...$this->statement->numbers('term_taxonomy_id')];
        if ($terms === []) {
            return null;
        }

        return \array_column($this->select(\sprintf(
            'SELECT DISTINCT taxonomy FROM `%s` WHERE term_taxonomy_id IN (%s)',
            $this->database->term_taxonomy,
            \implode(',', $terms),
        )), 0);
    }

    /** @return list<list<string>> */
    private function select(string $query): array
    {
        // wpdb lets read it, by __get(), though it is declared protected.
        $connection = $this->database->__get('dbh');
        $result = $connection instanceof \mysqli ? \mysqli_query($connection, $query . ' LIMIT ' . self::MOST) : false;
        $rows = [];
        foreach ($result instanceof \mysqli_result ? $result->fetch_all(\MYSQLI_NUM) : [] as $row) {
            $rows[] = \array_map(static fn(mixed $value): string => \is_scalar($value) ? (string) $value : '', \array_values((array) $row));
        }

        return $rows;
    }
}
