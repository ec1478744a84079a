<?php

declare(strict_types=1);

// As HyperDB: a statement that reads goes to a copy of the database, unless this request has written to one of its tables, and
// which connection it takes is chosen behind the filter `query`. The copy is another database, which changes only when a test
// copies the first one.

namespace Larder\Tests\WordPress\Replica;

final class Database extends \wpdb
{
    private bool $isMaster = false;

    /** @var array<string, true> */
    private array $written = [];
    private mixed $master = null;
    private ?\mysqli $replica = null;

    public function send_reads_to_masters(): void
    {
        $this->isMaster = true;
    }

    public function choose(mixed $query): mixed
    {
        $this->master ??= $this->dbh;
        $isRead = \is_string($query) && \preg_match('/^\s*(?:SELECT|SHOW|DESC)/i', $query) === 1;
        \preg_match_all('/\bwp_\w+/', \is_string($query) ? $query : '', $tables);
        if (!$isRead) {
            $this->written += \array_fill_keys($tables[0], true);
        }
        $isCopied = $isRead && !$this->isMaster && \array_intersect_key($this->written, \array_flip($tables[0])) === [] && \is_file(WP_CONTENT_DIR . '/lagging');
        $this->dbh = $isCopied ? $this->replica() : $this->master;

        return $query;
    }

    private function replica(): \mysqli
    {
        if ($this->replica === null) {
            $this->replica = new \mysqli();
            [$host, $port, $socket] = $this->parse_db_host($this->dbhost) ?: ['', null, null];
            $this->replica->real_connect($host, $this->dbuser, $this->dbpassword, 'replica', (int) $port, $socket);
            $this->replica->set_charset('utf8mb4');
        }

        return $this->replica;
    }
}

$GLOBALS['wpdb'] = new Database(DB_USER, DB_PASSWORD, DB_NAME, DB_HOST);
\add_action('muplugins_loaded', static fn() => \add_filter('query', $GLOBALS['wpdb']->choose(...), \PHP_INT_MAX));
