<?php

declare(strict_types=1);

namespace Larder\WordPress;

use Larder\WordPress\Intent\Keys;
use Larder\WordPress\Intent\Statement;

/**
 * Says of every write to the database, just before it, which cached values it is about to make old.
 *
 * The one hook is the `query` filter, which wpdb::query() applies to each statement before it is sent. WordPress's
 * actions would not do: none is fired before a network option changes (their hooks carry the option's name), nor before
 * a post's guid, the suffix of a post in the trash, or wp_set_option_autoload_values(); of many writes in one function
 * only the first is announced; and forty hooks cost every page more than this one, which looks at one letter of a query
 * that reads.
 *
 * An intent ends when WordPress sets or deletes the key, with the request, or here: where the statement changed no row
 * WordPress calls no cache.
 */
final class Intents
{
    /** How update_option() and delete_option() ask whether an option is autoloaded. */
    private const ASKED = 'SELECT autoload FROM ';

    /** @var ?\Closure(mixed): mixed the callback of the filter */
    private static ?\Closure $watch = null;

    /** The last statement whose result is wanted. */
    private string $statement = '';

    /** @var array<string, list<string>> by group: the keys of that write */
    private array $keys = [];

    /** Made by the first write: a page that writes nothing loads none of this. */
    private ?Keys $changes = null;

    private function __construct(private readonly ObjectCache $cache) {}

    /** From now on, until the request's end. */
    public static function watch(ObjectCache $cache): void
    {
        if (self::$watch !== null) {
            // A network starts its cache twice (ms-settings.php).
            \remove_filter('query', self::$watch, \PHP_INT_MAX);
        }
        self::$watch = (new self($cache))->before(...);
        // The last of all callbacks sees the statement as it is sent.
        \add_filter('query', self::$watch, \PHP_INT_MAX);
    }

    /** @param mixed $query what other callbacks have made of it; given back as it is */
    private function before(mixed $query): mixed
    {
        try {
            if ($this->statement !== '') {
                $this->after();
            }
            if (\is_string($query) && \stripos('IUDR', $query[\strspn($query, " \t\r\n")] ?? '-') !== false) {
                $this->announce($query);
            } elseif (\is_string($query) && \str_starts_with($query, self::ASKED)) {
                $this->statement = $query;
            }
        } catch (\Throwable) {
            // Whatever it is, the query goes on.
        }

        return $query;
    }

    private function announce(string $query): void
    {
        $database = $GLOBALS['wpdb'] ?? null;
        $statement = $database instanceof \wpdb ? Statement::parse($query) : null;
        if ($database === null || $statement === null) {
            return;
        }
        $this->statement = $query;
        foreach ($this->changes()->of($statement, $database) as $group => $names) {
            $names = \array_values(\array_unique(\array_filter($names, static fn(string $name): bool => \trim($name) !== '')));
            if ($names !== []) {
                $this->keys[(string) $group] = $names;
                $this->cache->intend((string) $group, ...$names);
            }
        }
    }

    /** The next statement comes, so the last one is done. */
    private function after(): void
    {
        [$statement, $keys] = [$this->statement, $this->keys];
        $this->statement = '';
        $this->keys = [];
        $database = $GLOBALS['wpdb'] ?? null;
        if (!$database instanceof \wpdb || $database->last_query !== $statement || $database->last_error !== '') {
            // It was changed by a later callback, or it failed: nobody knows what it has done.
            return;
        }
        if (\str_starts_with($statement, self::ASKED)) {
            $this->changes()->learn($statement, $database->last_result[0]->autoload ?? null);
        } elseif ($database->rows_affected === 0) {
            foreach ($keys as $group => $names) {
                $this->cache->relent((string) $group, ...$names);
            }
        }
    }

    private function changes(): Keys
    {
        return $this->changes ??= new Keys($this->cache);
    }
}
