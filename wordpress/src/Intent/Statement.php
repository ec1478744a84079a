<?php

declare(strict_types=1);

namespace Larder\WordPress\Intent;

/**
 * An SQL statement that writes: to which tables, and as far as that can be read out of it, to which rows.
 *
 * Not a parser of SQL: where it does not understand, it says that it does not know. A condition is known by what it is
 * an AND of; of these only `column = literal` and `column IN (literals)` are understood, which is enough, since all
 * others make it narrower.
 *
 * @phpstan-type Token array{string, string}
 */
final class Statement
{
    /** More literals are not read: so many rows have no intents each. */
    public const MOST = 1_000;

    /** Tokens of a statement that is read in full. */
    private const LONGEST = 20_000;

    /** Bytes of the longest name, of 64 characters. */
    private const NAME = 256;

    private const MODIFIERS = ['LOW_PRIORITY', 'HIGH_PRIORITY', 'DELAYED', 'QUICK', 'IGNORE', 'INTO', 'FROM'];
    private const MAIN = ['SELECT', 'INSERT', 'REPLACE', 'UPDATE', 'DELETE', 'TABLE', 'VALUES'];
    /** Verbs of statements that change no row. */
    private const READ = [
        'SELECT', 'VALUES', 'TABLE', 'SHOW', 'DESCRIBE', 'DESC', 'EXPLAIN', 'HELP', 'USE', 'START', 'COMMIT', 'ROLLBACK', 'SAVEPOINT', 'RELEASE', 'XA',
        'LOCK', 'UNLOCK', 'FLUSH', 'CHECK', 'CHECKSUM', 'OPTIMIZE', 'HANDLER', 'PREPARE', 'DEALLOCATE', 'GRANT', 'REVOKE', 'KILL', 'RESET',
    ];
    private const AFTER = ['WHERE', 'ORDER', 'LIMIT', 'RETURNING'];
    private const CONSTANTS = ['NULL', 'DEFAULT', 'TRUE', 'FALSE'];

    /** @var array<string, list<?string>> by column in small letters, what it is given, in each row; null: not a literal */
    private array $given = [];

    /** What the columns are given is not known. */
    private bool $unknown = false;

    private string $where = '';
    private string $over = '';

    /** @var list<list<Token>> of which the condition is an AND */
    private array $terms = [];

    private function __construct(
        /** INSERT (also REPLACE), UPDATE, DELETE: of the rows of one table; '': anything else that writes. */
        public readonly string $verb,
        /** @var non-empty-list<string> the one; or else every name there is in the statement, in small letters */
        public readonly array $tables,
    ) {}

    /** @return ?self null: it writes nothing, or nothing that can be seen here */
    public static function parse(string $sql): ?self
    {
        $lexer = new Lexer($sql);
        do {
            $lexer->next();
        } while ($lexer->at('('));
        $verb = $lexer->kind === Lexer::WORD ? \strtoupper($lexer->text) : '';
        switch ($verb) {
            case 'INSERT':
            case 'REPLACE':
                return self::insert($lexer, $verb) ?? self::any($sql);
            case 'UPDATE':
                return self::update($lexer) ?? self::any($sql);
            case 'DELETE':
                return self::delete($lexer) ?? self::any($sql);
            case 'WITH':
                return self::main($lexer) === 'SELECT' ? null : self::any($sql);
            case 'SET':
                // MariaDB's SET STATEMENT … FOR a statement.
                $lexer->next();

                return $lexer->is('STATEMENT') && $lexer->find('FOR') ? self::parse($lexer->rest()) : null;
            case 'EXECUTE':
                // MariaDB's EXECUTE IMMEDIATE; the statement that a PREPARE has made is not known here.
                $lexer->next();
                if (!$lexer->skip('IMMEDIATE')) {
                    return null;
                }

                return $lexer->kind === Lexer::STRING ? self::parse($lexer->text) : self::any($sql);
            case 'ANALYZE':
                // MariaDB's does what it analyzes.
                $lexer->next();

                return $lexer->is('TABLE', 'TABLES', 'LOCAL', 'NO_WRITE_TO_BINLOG') || \in_array(self::main($lexer), ['SELECT', ''], true) ? null : self::any($sql);
            case 'BEGIN':
                $lexer->next();

                return $lexer->is('NOT') ? self::any($sql) : null;
            default:
                // TRUNCATE, LOAD DATA, and what may hold any statement: MariaDB's IF, CASE, FOR, LOOP, REPEAT, WHILE.
                return $lexer->kind === Lexer::END || \in_array($verb, self::READ, true) ? null : self::any($sql);
        }
    }

    /** A literal that a column is set to: by an UPDATE, or in the first row of an INSERT. Null: it is not, or to an expression. */
    public function value(string $column): ?string
    {
        return $this->given[\strtolower($column)][0] ?? null;
    }

    /** @return ?list<string> all literals that a column is set to; null: they are not known */
    public function values(string $column): ?array
    {
        $values = $this->given[\strtolower($column)] ?? [];
        if ($this->unknown || \in_array(null, $values, true)) {
            return null;
        }

        /** @var list<string> $values */
        return $values;
    }

    /** The condition with all that follows it; '' if there is none. */
    public function where(): string
    {
        return $this->where;
    }

    /** What an INSERT does to a row that it meets: "REPLACE", or what stands after its values: ON DUPLICATE KEY UPDATE …; '' nothing. */
    public function over(): string
    {
        return $this->over;
    }

    /** @return ?list<string> as equal(), of a column of text: a number there is equal to more than one text */
    public function texts(string $column): ?array
    {
        return $this->equal($column, Lexer::STRING);
    }

    /**
     * @param string ...$kinds of the literals
     *
     * @return ?list<string> the condition is that the column is one of these, and perhaps more than that; null: no such thing
     */
    private function equal(string $column, string ...$kinds): ?array
    {
        $kinds = $kinds === [] ? [Lexer::STRING, Lexer::NUMBER] : $kinds;
        foreach ($this->terms as $term) {
            // The table's name may stand before it.
            $at = ($term[1][1] ?? '') === '.' ? 2 : 0;
            if (!self::isName($term[$at] ?? ['', '']) || \strcasecmp($term[$at][1], $column) !== 0) {
                continue;
            }
            $rest = \array_slice($term, $at + 1);
            if (\count($rest) === 2 && $rest[0] === [Lexer::OTHER, '='] && \in_array($rest[1][0], $kinds, true)) {
                return [$rest[1][1]];
            }
            $last = \count($rest) - 1;
            if ($last >= 3 && $rest[0][0] === Lexer::WORD && \strtoupper($rest[0][1]) === 'IN' && $rest[1][1] === '(' && $rest[$last][1] === ')') {
                $list = [];
                for ($i = 2; $i < $last; $i += 2) {
                    if (!\in_array($rest[$i][0], $kinds, true) || $rest[$i + 1][1] !== ($i + 1 === $last ? ')' : ',')) {
                        continue 2;
                    }
                    $list[] = $rest[$i][1];
                }
                if (\count($list) <= self::MOST) {
                    return $list;
                }
            }
        }

        return null;
    }

    /** @return ?list<string> as equal(), where all are whole numbers */
    public function numbers(string $column): ?array
    {
        $values = $this->equal($column);
        foreach ($values ?? [] as $value) {
            if (!\ctype_digit($value)) {
                return null;
            }
        }

        return $values === null ? null : \array_map(static fn(string $value): string => \ltrim($value, '0') ?: '0', $values);
    }

    /** Whether the condition begins with one of these columns. */
    public function isBy(string ...$columns): bool
    {
        $first = $this->terms[0][0] ?? ['', ''];

        return self::isName($first) && \in_array(\strtolower($first[1]), \array_map(\strtolower(...), $columns), true);
    }

    private static function insert(Lexer $lexer, string $verb): ?self
    {
        $lexer->next();
        $table = self::table($lexer);
        if ($table === '') {
            return null;
        }
        $new = new self('INSERT', [$table]);
        $new->over = $verb === 'REPLACE' ? $verb : '';
        if ($lexer->skip('PARTITION')) {
            self::enclosed($lexer);
        }
        if ($lexer->skip('SET')) {
            $new->assigned(self::tokens($lexer, 'ON', 'AS'));
            $new->over .= $lexer->text . $lexer->rest();

            return $new;
        }
        $columns = [];
        if ($lexer->at('(')) {
            foreach (self::enclosed($lexer) as $part) {
                $columns[] = \strtolower($part[\count($part) - 1][1] ?? '');
            }
        }
        $new->unknown = $columns === [] || !$lexer->skip('VALUES', 'VALUE');
        $rows = 0;
        while (!$new->unknown && $lexer->at('(')) {
            $row = self::enclosed($lexer);
            $new->unknown = \count($row) !== \count($columns) || ++$rows > self::MOST;
            foreach ($columns as $place => $column) {
                $new->given[$column][] = self::literal($row[$place] ?? []);
            }
            if (!$lexer->at(',') || !$lexer->next()) {
                break;
            }
        }
        $new->unknown = $new->unknown || $rows === 0;
        $new->over .= $lexer->text . $lexer->rest();

        return $new;
    }

    /** @return ?self null: of more than one table, as far as can be seen */
    private static function update(Lexer $lexer): ?self
    {
        $lexer->next();
        $table = self::table($lexer);
        if ($table === '' || !$lexer->skip('SET')) {
            return null;
        }
        $new = new self('UPDATE', [$table]);
        $new->assigned(self::tokens($lexer, ...self::AFTER));
        $new->condition($lexer);

        return $new;
    }

    private static function delete(Lexer $lexer): ?self
    {
        $lexer->next();
        $table = self::table($lexer);
        if ($table === '' || ($lexer->kind !== Lexer::END && !$lexer->is(...self::AFTER))) {
            return null;
        }
        $new = new self('DELETE', [$table]);
        $new->condition($lexer);

        return $new;
    }

    /** All that could be a table. Under ANSI_QUOTES that may be written like a string. */
    private static function any(string $sql): ?self
    {
        $lexer = new Lexer($sql);
        $names = [];
        while ($lexer->next()) {
            if ($lexer->kind === Lexer::NAME || $lexer->kind === Lexer::WORD || ($lexer->kind === Lexer::STRING && \strlen($lexer->text) <= self::NAME)) {
                $names[\strtolower($lexer->text)] = true;
            }
        }
        $names = \array_map(\strval(...), \array_keys($names));

        return $names === [] ? null : new self('', $names);
    }

    /** What a statement that begins with something else is, from here on; '' if that is not found. */
    private static function main(Lexer $lexer): string
    {
        return $lexer->find(...self::MAIN) ? \strtoupper($lexer->text) : '';
    }

    /** The name of a table after its modifiers; the database's before it is passed over. '' there is none. */
    private static function table(Lexer $lexer): string
    {
        while ($lexer->skip(...self::MODIFIERS));
        $table = '';
        while ($lexer->kind === Lexer::NAME || $lexer->kind === Lexer::WORD) {
            $table = \strtolower($lexer->text);
            $lexer->next();
            if (!$lexer->at('.') || !$lexer->next()) {
                break;
            }
        }

        return $table;
    }

    /** @param ?list<Token> $tokens of a list of assignments; null: too many */
    private function assigned(?array $tokens): void
    {
        $this->unknown = $tokens === null;
        foreach (self::split($tokens ?? [], ',') as $part) {
            $at = ($part[1][1] ?? '') === '.' ? 2 : 0;
            if ($part === []) {
                continue;
            }
            if (!self::isName($part[$at] ?? ['', '']) || ($part[$at + 1] ?? null) !== [Lexer::OTHER, '=']) {
                $this->unknown = true;
                continue;
            }
            $this->given[\strtolower($part[$at][1])] = [self::literal(\array_slice($part, $at + 2))];
        }
    }

    private function condition(Lexer $lexer): void
    {
        if ($lexer->is('WHERE')) {
            $this->where = \trim($lexer->rest(), " \t\n\r;");
            $lexer->next();
            $this->terms = self::terms(self::tokens($lexer, ...self::AFTER) ?? []);
        }
    }

    /**
     * @param list<Token> $tokens of a condition
     *
     * @return list<list<Token>> none where it is not an AND, or may be none
     */
    private static function terms(array $tokens): array
    {
        $terms = [];
        foreach (self::split($tokens, 'AND') as $term) {
            $depth = 0;
            foreach ($term as [$kind, $text]) {
                $depth += self::depth($kind, $text);
                // In these an AND may mean something else.
                if ($depth === 0 && (($kind === Lexer::WORD && \in_array(\strtoupper($text), ['OR', 'XOR', 'BETWEEN', 'CASE'], true))
                    || ($kind === Lexer::OTHER && \str_contains($text, '|')))) {
                    return [];
                }
            }
            $last = \count($term) - 1;
            $isWhole = $last > 1 && $term[0] === [Lexer::OTHER, '('] && $term[$last] === [Lexer::OTHER, ')'];
            $inner = $isWhole ? \array_slice($term, 1, -1) : [];
            \array_push($terms, ...($isWhole && self::isClosed($inner) ? self::terms($inner) : [$term]));
        }

        return $terms;
    }

    /** @param list<Token> $tokens */
    private static function isClosed(array $tokens): bool
    {
        $depth = 0;
        foreach ($tokens as [$kind, $text]) {
            $depth += self::depth($kind, $text);
            if ($depth < 0) {
                return false;
            }
        }

        return true;
    }

    /**
     * Up to one of these words, or to the end; in parentheses they do not count.
     *
     * @return ?list<Token> null: they are too many
     */
    private static function tokens(Lexer $lexer, string ...$until): ?array
    {
        $tokens = [];
        $depth = 0;
        while ($lexer->kind !== Lexer::END && ($depth > 0 || !$lexer->is(...$until))) {
            $depth += $lexer->depth();
            $tokens[] = [$lexer->kind, $lexer->text];
            if (\count($tokens) > self::LONGEST) {
                return null;
            }
            $lexer->next();
        }

        return $tokens;
    }

    /**
     * What stands between an opening parenthesis, which has been read, and its closing one, between commas.
     *
     * @return list<list<Token>>
     */
    private static function enclosed(Lexer $lexer): array
    {
        $tokens = [];
        $depth = 0;
        do {
            $depth += $lexer->depth();
            $tokens[] = [$lexer->kind, $lexer->text];
        } while ($lexer->next() && $depth > 0);

        return self::split(\array_slice($tokens, 1, -1), ',');
    }

    /**
     * @param list<Token> $tokens
     *
     * @return list<list<Token>>
     */
    private static function split(array $tokens, string $at): array
    {
        $parts = $part = [];
        $depth = 0;
        foreach ($tokens as $token) {
            [$kind, $text] = $token;
            $depth += self::depth($kind, $text);
            if ($depth === 0 && ($kind === Lexer::OTHER || $kind === Lexer::WORD) && \strtoupper($text) === $at) {
                $parts[] = $part;
                $part = [];
            } else {
                $part[] = $token;
            }
        }
        $parts[] = $part;

        return $parts;
    }

    private static function depth(string $kind, string $text): int
    {
        return $kind === Lexer::OTHER ? ['(' => 1, ')' => -1][$text] ?? 0 : 0;
    }

    /** @param list<Token> $tokens */
    private static function literal(array $tokens): ?string
    {
        if (\count($tokens) === 2 && $tokens[0][1] === '-' && $tokens[1][0] === Lexer::NUMBER) {
            return '-' . $tokens[1][1];
        }
        if (\count($tokens) !== 1) {
            return null;
        }
        $word = \strtoupper($tokens[0][1]);

        return match (true) {
            self::isLiteral($tokens[0]) => $tokens[0][1],
            $tokens[0][0] === Lexer::WORD && \in_array($word, self::CONSTANTS, true) => $word,
            default => null,
        };
    }

    /** @param Token $token */
    private static function isLiteral(array $token): bool
    {
        return $token[0] === Lexer::STRING || $token[0] === Lexer::NUMBER;
    }

    /** @param Token $token */
    private static function isName(array $token): bool
    {
        return $token[0] === Lexer::NAME || $token[0] === Lexer::WORD;
    }
}
