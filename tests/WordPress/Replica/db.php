<?php

declare(strict_types=1);

// As HyperDB: a statement that reads goes to a copy of the database, unless this request has written to one of its tables.
// The copy is another database, which changes only when a test copies the first one.

namespace Larder\Tests\WordPress\Replica;

final class Database extends \wpdb
{
    private bool $isMaster = false;

    /** @var array<string, true> */
    private array $written = [];
    private ?\mysqli $master = null;
    private ?\mysqli $replica = null;

    public function send_reads_to_masters(): void
    {
        $this->isMaster = true;
    }

    /** @param string $query */
    public function query($query): int|bool
    {
        $this->master ??= $this->dbh;
        $isRead = \preg_match('/^\s*(?:SELECT|SHOW|DESC)/i', $query) === 1;
        \preg_match_all('/\bwp_\w+/', $query, $tables);
        if (!$isRead) {
            $this->written += \array_fill_keys($tables[0], true);
        }
        if ($isRead && !$this->isMaster && \array_intersect_key($this->written, \array_flip($tables[0])) === [] && \is_file(WP_CONTENT_DIR . '/lagging')) {
            if ($this->replica === null) {
                $this->replica = new \mysqli();
                [$host, $port, $socket] = $this->parse_db_host($this->dbhost);
                $this->replica->real_connect($host, $this->dbuser, $this->dbpassword, 'replica', (int) $port, $socket);
                $this->replica->set_charset('utf8mb4');
            }
            $this->dbh = $this->replica;
        } else {
            $this->dbh = $this->master;
        }

        return parent::query($query);
    }
}

$GLOBALS['wpdb'] = new Database(DB_USER, DB_PASSWORD, DB_NAME, DB_HOST);
