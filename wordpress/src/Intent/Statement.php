<?php

declare(strict_types=1);

namespace Larder\WordPress\Intent;

/**
 * An SQL statement on one table, as wpdb::insert(), update() and delete() make them and WordPress by hand.
 *
 * Not a parser of SQL: what it does not understand it does not have (no value, no condition).
 */
final class Statement
{
    private const HEAD = '~\A\s*+(INSERT|REPLACE|UPDATE|DELETE|SELECT(?=\s+\w+\s+FROM\s))\s+'
        . '(?:(?:LOW_PRIORITY|HIGH_PRIORITY|DELAYED|QUICK|IGNORE|INTO|FROM|(?<=SELECT\s)\w+)\s+)*+`?([^\s`(,;]++)`?~i';

    /** Inside of a string in quotes: wpdb escapes with backslashes only. */
    private const INSIDE = '(?:[^\'\\\\]++|\\\\.)*+';

    /** @var ?array<string, string> by column */
    private ?array $values = null;
    private ?string $where = null;

    private function __construct(
        /** INSERT (also REPLACE), UPDATE, DELETE; or SELECT, of one column. */
        public readonly string $verb,
        public readonly string $table,
        private readonly string $sql,
        /** In $sql, behind the table's name. */
        private readonly int $offset,
    ) {}

    public static function parse(string $sql): ?self
    {
        if (\preg_match(self::HEAD, $sql, $found) !== 1) {
            return null;
        }
        $verb = \strtoupper($found[1]);

        return new self($verb === 'REPLACE' ? 'INSERT' : $verb, $found[2], $sql, \strlen($found[0]));
    }

    /** What a column is set to: by an UPDATE, or in the first row of an INSERT. Null: it is not, or to an expression. */
    public function value(string $column): ?string
    {
        $this->values ??= match ($this->verb) {
            'INSERT' => $this->inserted(),
            'UPDATE' => $this->assigned(),
            default => [],
        };

        return $this->values[$column] ?? null;
    }

    /** The condition with all that follows it; '' if there is none. */
    public function where(): string
    {
        if ($this->where === null) {
            $found = \preg_match('~\'' . self::INSIDE . '\'(*SKIP)(*FAIL)|\sWHERE\s~is', $this->sql, $match, \PREG_OFFSET_CAPTURE, $this->offset);
            $this->where = $found === 1 ? \substr($this->sql, $match[0][1] + 7) : '';
        }

        return $this->where;
    }

    /** @return list<string> where the condition is that a column is one of these numbers */
    public function numbers(string $column): array
    {
        if (\preg_match("~\\A\\s*+`?$column`?\\s*=\\s*'?(\\d+)(?![\\w.])~", $this->where(), $found) === 1) {
            return [$found[1]];
        }
        $list = "~(?:\\A\\s*+|\\sAND\\s+)`?$column`?\\s+IN\\s*\\(([\\d\\s,']++)\\)~i";
        if (\preg_match($list, $this->where(), $found) === 1 && \preg_match_all('~\d+~', $found[1], $numbers) !== false) {
            return $numbers[0];
        }

        return [];
    }

    /** The string (or number) that the condition has a column equal to. */
    public function equal(string $column): ?string
    {
        $found = \preg_match("~(?:\\A\\s*+|\\sAND\\s+)`?$column`?\\s*=\\s*(?:'(" . self::INSIDE . ")'|(\\d+))~is", $this->where(), $match, \PREG_UNMATCHED_AS_NULL);

        return $found === 1 ? $match[2] ?? self::plain($match[1] ?? '') : null;
    }

    /** @return list<string> all strings in the condition */
    public function strings(): array
    {
        \preg_match_all('~\'(' . self::INSIDE . ')\'~s', $this->where(), $found);

        return \array_map(self::plain(...), $found[1]);
    }

    /** Whether the condition begins with one of these columns. */
    public function isBy(string ...$columns): bool
    {
        return \preg_match('~\A\s*+`?(?:' . \implode('|', $columns) . ')\b~', $this->where()) === 1;
    }

    /** @return array<string, string> */
    private function inserted(): array
    {
        if (\preg_match('~\G\s*\(([^)\']*)\)\s*VALUES\s*\(~i', $this->sql, $head, 0, $this->offset) !== 1) {
            return [];
        }
        \preg_match_all('~\w+~', $head[1], $columns);
        $value = '~\G\s*+(?:\'(' . self::INSIDE . ')\'|([^,)\'\s]++))\s*+[,)]~s';
        \preg_match_all($value, $this->sql, $rows, \PREG_SET_ORDER, $this->offset + \strlen($head[0]));
        $values = [];
        foreach ($columns[0] as $place => $column) {
            if (isset($rows[$place])) {
                $values[$column] = $rows[$place][2] ?? self::plain($rows[$place][1] ?? '');
            }
        }

        return $values;
    }

    /** @return array<string, string> */
    private function assigned(): array
    {
        $inside = self::INSIDE;
        $where = $this->where();
        $length = \strlen($this->sql) - $this->offset - ($where === '' ? 0 : \strlen($where) + 7);
        // What is no assignment of a literal is passed over, strings as a whole.
        $literal = "~`?\\b(\\w+)`?\\s*=\\s*(?:'($inside)'|(-?\\w++)(?=\\s*(?:,|\\z)))|'$inside'~s";
        \preg_match_all($literal, \substr($this->sql, $this->offset, $length), $found, \PREG_SET_ORDER);
        $values = [];
        foreach ($found as $match) {
            if (isset($match[1])) {
                $values[$match[1]] = $match[3] ?? self::plain($match[2] ?? '');
            }
        }

        return $values;
    }

    /** @see https://dev.mysql.com/doc/refman/8.4/en/string-literals.html table 11.1 */
    private static function plain(string $string): string
    {
        return \strtr($string, ['\\\\' => '\\', '\\\'' => '\'', '\\"' => '"', '\\n' => "\n", '\\r' => "\r", '\\0' => "\0", '\\Z' => "\x1a"]);
    }
}
