<?php

declare(strict_types=1);

namespace Larder\WordPress\Intent;

/**
 * What a statement does to the database's transaction.
 *
 * An end that is not certain is none: a request that takes a transaction for open for too long stores less, one that takes it
 * for ended too early stores what is old. A beginning that is not certain is one, for the same reason.
 *
 * @see https://dev.mysql.com/doc/refman/8.4/en/commit.html
 * @see https://dev.mysql.com/doc/refman/8.4/en/implicit-commit.html
 */
enum Control
{
    case Begin;
    /** Its view of the database is of this very statement, not of the first one that reads. */
    case BeginWithSnapshot;
    case Commit;
    /** The next one begins at once. */
    case CommitAndChain;
    case RollBack;
    case RollBackAndChain;
    case RollBackToSavepoint;
    /** From now on each statement is a transaction of its own; what is open is committed. */
    case AutocommitOn;
    /** From now on one is always open. */
    case AutocommitOff;
    /** From now on every COMMIT and ROLLBACK chains (completion_type). */
    case ChainsOn;
    case ChainsOff;
    /** Commits, like all other statements that do so by the way; and until they are unlocked, so does that. */
    case Lock;
    case Unlock;
    case CommitByTheWay;

    private const TABLES = ['TABLE', 'TABLES', 'VIEW'];
    private const QUIETLY = ['NO_WRITE_TO_BINLOG', 'LOCAL'];

    /** @return list<self> mostly one, or none; SET does several things at once */
    public static function of(string $sql): array
    {
        $lexer = new Lexer($sql);
        $lexer->next();
        $verb = $lexer->kind === Lexer::WORD ? \strtoupper($lexer->text) : '';
        $lexer->next();
        $found = match ($verb) {
            'START' => $lexer->is('TRANSACTION') ? self::begun($lexer) : self::CommitByTheWay,
            'BEGIN' => $lexer->is('NOT') ? self::within($lexer) : self::Begin,
            'IF', 'CASE', 'LOOP', 'WHILE', 'REPEAT', 'FOR' => self::within($lexer),
            'COMMIT' => self::ended($lexer, self::Commit, self::CommitAndChain),
            'ROLLBACK' => self::ended($lexer, self::RollBack, self::RollBackAndChain),
            'XA' => match (true) {
                $lexer->is('START', 'BEGIN') => self::Begin,
                $lexer->is('COMMIT') => self::Commit,
                $lexer->is('ROLLBACK') => self::RollBack,
                default => null,
            },
            'LOCK' => $lexer->is(...self::TABLES) ? self::Lock : null,
            'UNLOCK' => $lexer->is(...self::TABLES) ? self::Unlock : null,
            'CREATE' => self::isTemporary($lexer) ? null : self::CommitByTheWay,
            // DROP PREPARE is another word for DEALLOCATE.
            'DROP' => self::isTemporary($lexer) || $lexer->is('PREPARE') ? null : self::CommitByTheWay,
            'ALTER', 'RENAME', 'TRUNCATE', 'GRANT', 'REVOKE', 'INSTALL', 'UNINSTALL', 'FLUSH', 'CHANGE', 'STOP' => self::CommitByTheWay,
            'RESET' => $lexer->is('PERSIST') ? null : self::CommitByTheWay,
            'ANALYZE', 'CHECK', 'OPTIMIZE', 'REPAIR' => $lexer->is(...self::TABLES, ...self::QUIETLY) ? self::CommitByTheWay : null,
            'CACHE', 'LOAD' => $lexer->is('INDEX') ? self::CommitByTheWay : null,
            default => null,
        };
        $all = match (true) {
            // MariaDB's, around another statement.
            ($verb === 'SET' && $lexer->is('STATEMENT')) => $lexer->find('FOR') ? self::of($lexer->rest()) : [],
            ($verb === 'EXECUTE' && $lexer->skip('IMMEDIATE')) => $lexer->kind === Lexer::STRING ? self::of($lexer->text) : [],
            $verb === 'SET' => self::assigned($lexer),
            default => $found === null ? [] : [$found],
        };

        return $lexer->conditional ? \array_values(\array_filter($all, static fn(self $control): bool => $control->begins())) : $all;
    }

    public function rollsBack(): bool
    {
        return $this === self::RollBack || $this === self::RollBackAndChain || $this === self::RollBackToSavepoint;
    }

    /** Whether it can only make a transaction longer. */
    private function begins(): bool
    {
        return \in_array($this, [self::Begin, self::BeginWithSnapshot, self::AutocommitOff, self::ChainsOn, self::RollBackToSavepoint], true);
    }

    /** MariaDB's compound statements: any of those in it may begin a transaction and leave it open. */
    private static function within(Lexer $lexer): ?self
    {
        do {
            if ($lexer->is('TRANSACTION', 'AUTOCOMMIT')) {
                return self::Begin;
            }
        } while ($lexer->next());

        return null;
    }

    private static function begun(Lexer $lexer): self
    {
        while ($lexer->next()) {
            if ($lexer->is('SNAPSHOT')) {
                return self::BeginWithSnapshot;
            }
        }

        return self::Begin;
    }

    private static function ended(Lexer $lexer, self $end, self $chained): self
    {
        $lexer->skip('WORK');
        if ($lexer->is('TO')) {
            return self::RollBackToSavepoint;
        }

        return $lexer->skip('AND') && $lexer->is('CHAIN') ? $chained : $end;
    }

    private static function isTemporary(Lexer $lexer): bool
    {
        $lexer->skip('OR');
        $lexer->skip('REPLACE');

        return $lexer->is('TEMPORARY');
    }

    /** @return list<self> */
    private static function assigned(Lexer $lexer): array
    {
        if ($lexer->is('PASSWORD')) {
            return [self::CommitByTheWay];
        }
        $found = [];
        $isGlobal = false;
        while ($lexer->kind !== Lexer::END) {
            // A word before a variable counts for all that follow, one that is part of its name for this one.
            if ($lexer->is('GLOBAL', 'PERSIST', 'PERSIST_ONLY', 'SESSION', 'LOCAL')) {
                $isGlobal = !$lexer->is('SESSION', 'LOCAL');
                $lexer->next();
            }
            $isThisGlobal = $isGlobal;
            $name = \strtolower(\ltrim($lexer->text, '@'));
            if (\str_starts_with($lexer->text, '@@')) {
                $isThisGlobal = \in_array($name, ['global', 'persist', 'persist_only'], true);
            }
            $isVariable = $lexer->kind === Lexer::NAME || \str_starts_with($lexer->text, '@@') || !\str_starts_with($lexer->text, '@');
            $lexer->next();
            if ($lexer->at('.') && $lexer->next()) {
                $name = \strtolower($lexer->text);
                $lexer->next();
            }
            $value = self::value($lexer);
            if ($isVariable && !$isThisGlobal) {
                match ($name) {
                    'autocommit' => $found[] = \in_array($value, ['1', 'ON', 'TRUE'], true) ? self::AutocommitOn : self::AutocommitOff,
                    'completion_type' => $found[] = \in_array($value, ['0', 'NO_CHAIN', 'DEFAULT'], true) ? self::ChainsOff : self::ChainsOn,
                    default => null,
                };
            }
        }

        return $found;
    }

    /** Reads up to the next assignment. '' for what is more than one word. */
    private static function value(Lexer $lexer): string
    {
        $depth = $count = 0;
        $value = '';
        while ($lexer->kind !== Lexer::END && ($depth > 0 || !$lexer->at(','))) {
            $depth += $lexer->depth();
            if ($count++ > 0) {
                $value = $count === 2 ? \strtoupper($lexer->text) : '';
            }
            $lexer->next();
        }
        $lexer->next();

        return $value;
    }
}
