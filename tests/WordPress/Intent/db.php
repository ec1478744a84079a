<?php

/**
 * Drop-in of the tests: a database whose user dies right after a statement, before WordPress can say anything to the
 * cache.
 */

declare(strict_types=1);

$wpdb = new class (DB_USER, DB_PASSWORD, DB_NAME, DB_HOST) extends wpdb {
    /** The number of the statement, from 1 on, after which it ends; 0: none. */
    public int $last = 0;

    /** Only these are counted: those that write, or all. */
    public bool $every = false;

    /** What ends it. */
    public ?Closure $end = null;

    public function query($query)
    {
        $done = parent::query($query);
        if ($this->end !== null && ($this->every || preg_match('/^\s*(?:insert|update|delete|replace)\b/i', $query) === 1) && --$this->last === 0) {
            ($this->end)();
        }

        return $done;
    }
};
