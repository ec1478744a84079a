<?php

declare(strict_types=1);

namespace Larder\WordPress;

use Larder\WordPress\Intent\Control;
use Larder\WordPress\Intent\Keys;
use Larder\WordPress\Intent\Statement;
use Larder\WordPress\Intent\Tables;

/**
 * Says of every write to the database, just before it, which cached values it is about to make old; and of every
 * transaction when it begins and how it has ended.
 *
 * The one hook is the `query` filter, which wpdb::query() applies to each statement before it is sent. WordPress's
 * actions would not do: none is fired before a network option changes (their hooks carry the option's name), nor before
 * a post's guid, the suffix of a post in the trash, or wp_set_option_autoload_values(); of many writes in one function
 * only the first is announced; and forty hooks cost every page more than this one, which looks at one letter of a query
 * that reads.
 *
 * An intent ends when WordPress sets or deletes the key, with the request, or here: where the statement changed no row
 * WordPress calls no cache. In a transaction all of them stand until its end, which is seen when the next statement
 * comes: so at the latest at the request's end, when the database rolls back what is open.
 */
final class Intents
{
    private const READS = '/^[\s(]*(?:SELECT|SHOW|SET|DESC|DESCRIBE|EXPLAIN)\b/i';

    /** Statements whose rows wpdb::query() counts. Behind a comment, or in another statement, it counts none. */
    private const COUNTED = '/^\s*(?:insert|delete|update|replace)\s/i';

    /** How update_option() and delete_option() ask whether an option is autoloaded. */
    private const ASKED = 'SELECT autoload FROM ';

    /** A statement that met another's locks: the whole transaction is gone. */
    private const DEADLOCK = 1213;

    /** The server has not answered, and may still do what it was sent: those from 2000 to 2999 are the client's own. */
    private const CLIENT = [2000, 2999];

    /** @var ?\Closure(mixed): mixed the callback of the filter */
    private static ?\Closure $watch = null;

    private static ?self $current = null;

    /** Whether this request has sent a statement that may write; true: or this was not looked at. */
    private static bool $wrote = true;

    /** The last statement whose result is wanted. */
    private string $statement = '';

    /** @var array<string, list<string>> by group: the keys of that write */
    private array $keys = [];

    /** @var list<Control> what that statement has done, if it was done */
    private array $controls = [];

    /** The cache has been told of a transaction: */
    private bool $open = false;

    /** of the database, or else of the one statement whose rows are not known. */
    private bool $isReal = false;

    /** Whether it was one before this statement. */
    private bool $wasReal = false;

    private bool $autocommit = true;
    private bool $chains = false;
    private bool $locked = false;

    /** @var ?\WeakReference<object> the connection that the transaction is of: with it, it goes */
    private ?\WeakReference $connection = null;

    /** Made by the first write: a page that writes nothing loads none of this. */
    private ?Keys $changes = null;
    private ?Tables $tables = null;
    private string $prefix = '';

    private function __construct(private readonly ObjectCache $cache) {}

    /** Whether this request has sent a statement that may have changed something. */
    public static function wrote(): bool
    {
        return self::$wrote;
    }

    /** The request ends. */
    public static function finish(): void
    {
        if (!self::$wrote || self::$current === null) {
            return;
        }
        try {
            self::$current->statement !== '' && self::$current->after();
            Page\Written::settle();
        } catch (\Throwable) {
            // Whatever it is, the request ends.
        }
    }

    /** From now on, until the request's end. */
    public static function watch(ObjectCache $cache): void
    {
        self::$wrote = self::$watch !== null && self::$wrote;
        if (self::$watch !== null) {
            // A network starts its cache twice (ms-settings.php).
            \remove_filter('query', self::$watch, \PHP_INT_MAX);
        }
        self::$current = new self($cache);
        self::$watch = self::$current->before(...);
        // The last of all callbacks sees the statement as it is sent.
        \add_filter('query', self::$watch, \PHP_INT_MAX);
    }

    /** @param mixed $query what other callbacks have made of it; given back as it is */
    private function before(mixed $query): mixed
    {
        try {
            if ($this->statement !== '' || $this->open) {
                $this->after();
            }
            self::$wrote && Page\Written::wait();
            FailedReads::look();
            if (\is_string($query)) {
                $at = \strspn($query, " \t\r\n");
                $letter = $query[$at] ?? '';
                if ($letter === 'S' && ($query[$at + 2] ?? '') === 'L') {
                    // Nearly all statements are a SELECT.
                    if ($at === 0 && \str_starts_with($query, self::ASKED)) {
                        $this->statement = $query;
                        $this->controls = [];
                    }
                } else {
                    self::$wrote = self::$wrote || \preg_match(self::READS, $query) !== 1;
                    $letter !== '' && $this->announce($query);
                }
            }
        } catch (\Throwable) {
            // Whatever it is, the query goes on.
        }

        return $query;
    }

    private function announce(string $query): void
    {
        $database = $GLOBALS['wpdb'] ?? null;
        if (!$database instanceof \wpdb) {
            return;
        }
        $controls = Control::of($query);
        $statement = Statement::parse($query);
        if ($statement === null && $controls === []) {
            return;
        }
        $this->statement = $query;
        // Before the first write, so that pages which write nothing have none of its hooks.
        Page\Purge::watch();
        $this->controls = $controls;
        $this->wasReal = $this->isReal;
        foreach ($controls as $control) {
            if ($control === Control::Begin || $control === Control::BeginWithSnapshot || $control === Control::AutocommitOff) {
                $this->begin($database);
            } elseif ($this->isReal && $control->rollsBack()) {
                // At once: what comes first after it may be a look into the cache.
                $this->cache->rollBackToSavepoint();
            }
        }
        $statement === null || $this->write($statement, $database);
    }

    private function write(Statement $statement, \wpdb $database): void
    {
        if ($this->tables === null || $this->prefix !== $database->prefix) {
            $this->tables = new Tables($database);
            $this->prefix = $database->prefix;
        }
        $groups = [];
        foreach ($statement->tables as $name) {
            [$table, $blog] = $this->tables->find($name) ?? ['', 0];
            $keys = $table === '' ? [] : ($statement->verb === '' || $blog !== 0 ? null : $this->changes()->of($statement, $table, $database, $this->isReal));
            try {
                // Before the cache forgets what the rows were.
                Page\Written::note($statement, $table, $name, $keys, $blog);
            } catch (\Throwable) {
                // The values count for more than the pages do.
            }
            foreach ($keys ?? [] as $group => $names) {
                $names = \array_values(\array_unique(\array_filter($names, static fn(string $name): bool => \trim($name) !== '')));
                if ($names !== []) {
                    $this->keys[(string) $group] = $names;
                    $this->cache->intend((string) $group, ...$names);
                }
            }
            foreach ($keys === null ? Tables::groups($table) : [] as $group) {
                $groups[$blog][$group] = true;
            }
        }
        if ($groups !== [] && !$this->open) {
            // Until the statement is done no process may store what it is about to change.
            $this->cache->beginTransaction();
            $this->open = true;
        }
        foreach ($groups as $blog => $names) {
            foreach (\array_keys($names) as $group) {
                $this->cache->outdate((string) $group, $blog);
            }
        }
    }

    private function begin(\wpdb $database): void
    {
        if (!$this->open) {
            $this->cache->beginTransaction();
        }
        $this->open = $this->isReal = true;
        $connection = $database->__get('dbh');
        $this->connection = \is_object($connection) ? \WeakReference::create($connection) : null;
    }

    /** The next statement comes, so the last one is done; unless this one is part of what wpdb does before it sends the last one. */
    private function after(): void
    {
        $database = $GLOBALS['wpdb'] ?? null;
        if (!$database instanceof \wpdb) {
            return;
        }
        $isSent = $this->statement !== '' && $database->last_query === $this->statement;
        $connection = $database->__get('dbh');
        // phpcs:ignore WordPress.DB.RestrictedFunctions -- $wpdb keeps the text of an error only, which is in the server's language
        $error = $database->last_error === '' || !$connection instanceof \mysqli ? 0 : \mysqli_errno($connection);
        if ($this->isReal && $this->connection !== null && $this->connection->get() === null) {
            // A new connection has other settings too.
            $this->autocommit = true;
            $this->locked = $this->chains = false;
            $this->end(false, false, $database);
        } elseif ($this->isReal && $error === self::DEADLOCK) {
            $this->end(false, false, $database);
        } elseif ($isSent && ($error < self::CLIENT[0] || $error > self::CLIENT[1])) {
            foreach ($this->controls as $control) {
                $database->last_error === '' && $this->done($control, $database);
            }
            if ($this->open && !$this->isReal) {
                $this->close(true);
            }
        }
        if ($isSent && $database->last_error === '') {
            if (\str_starts_with($this->statement, self::ASKED)) {
                $this->changes()->learn($this->statement, $database->last_result[0]->autoload ?? null);
            } elseif (!$this->open && $this->controls === [] && $database->rows_affected === 0 && \preg_match(self::COUNTED, $this->statement) === 1) {
                foreach ($this->keys as $group => $names) {
                    $this->cache->relent((string) $group, ...$names);
                }
                Page\Written::undo();
            } elseif ($database->rows_affected === 1 && \preg_match(self::COUNTED, $this->statement) === 1) {
                Page\Written::inserted((int) $database->insert_id);
            }
        }
        $this->cache->written(!$this->open);
        // Else it was changed by a later callback, or it failed: what it has done is not known.
        $this->keys = [];
        if ($isSent || !$this->open) {
            $this->statement = '';
            $this->controls = [];
        }
    }

    private function done(Control $control, \wpdb $database): void
    {
        switch ($control) {
            case Control::Begin:
                // What was open it has committed; its own view of the database is that of the statement which comes now.
                $this->locked = false;
                $this->wasReal && $this->end(true, true, $database);
                break;
            case Control::BeginWithSnapshot:
                // It has its view already, so this is one with what was open before.
                $this->locked = false;
                break;
            case Control::Commit:
            case Control::RollBack:
                $this->end($control === Control::Commit, $this->chains, $database);
                break;
            case Control::CommitAndChain:
            case Control::RollBackAndChain:
                $this->end($control === Control::CommitAndChain, true, $database);
                break;
            case Control::AutocommitOff:
                $this->autocommit = false;
                break;
            case Control::AutocommitOn:
                if (!$this->autocommit) {
                    $this->autocommit = true;
                    $this->end(true, false, $database);
                }
                break;
            case Control::ChainsOn:
            case Control::ChainsOff:
                $this->chains = $control === Control::ChainsOn;
                break;
            case Control::Unlock:
                $this->locked && $this->end(true, false, $database);
                $this->locked = false;
                break;
            case Control::Lock:
            case Control::CommitByTheWay:
                $this->end(true, false, $database);
                $this->locked = $this->locked || $control === Control::Lock;
        }
    }

    /** @param bool $goesOn another one has begun with the end of this one */
    private function end(bool $isCommitted, bool $goesOn, \wpdb $database): void
    {
        if (!$this->isReal) {
            return;
        }
        $this->close($isCommitted);
        if ($goesOn || !$this->autocommit) {
            $this->begin($database);
        }
    }

    private function close(bool $isCommitted): void
    {
        $this->open = $this->isReal = false;
        $this->connection = null;
        $isCommitted ? $this->cache->commitTransaction() : $this->cache->rollBack();
    }

    private function changes(): Keys
    {
        return $this->changes ??= new Keys($this->cache);
    }
}
