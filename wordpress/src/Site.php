<?php

declare(strict_types=1);

namespace Larder\WordPress;

use Larder\Config\Dsn;

/**
 * What this site's owner has configured, by constants in wp-config.php or by the environment, and what follows where
 * nothing is said: a directory that web and command line both find.
 *
 * This folder holds the plugin: ObjectCache is what WordPress calls, Intents what tells it that the database is about to
 * change, Plugin the rest of WordPress. What a cache is lies in the library below.
 */
final class Site
{
    /** By which WordPress tells sites apart: what an attacker does not know of this one. */
    private const SALTS = ['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'];

    private static ?self $current = null;

    private readonly string $dsn;
    private readonly string $secret;
    private readonly string $salt;
    private ?string $directory = null;

    /** @var ?array<string, string> */
    private ?array $source = null;

    private function __construct()
    {
        $this->dsn = self::setting('DSN');
        $secret = self::setting('SECRET');
        foreach ($secret === '' ? self::SALTS : [] as $name) {
            $secret .= self::constant($name);
        }
        if ($secret === '') {
            // A site that has none is told apart by its database at least.
            $secret = self::constant('DB_HOST') . self::constant('DB_PASSWORD');
        }
        $this->secret = $secret;
        // For names that must not be guessed, and that prove nothing: each request makes some, and SHA-256 takes six times as long.
        $this->salt = \hash('md5', $secret, true);
    }

    public static function current(): self
    {
        return self::$current ??= new self();
    }

    /** @return array<string, string> what Larder\Cache::open() gets */
    public function source(): array
    {
        if ($this->source !== null) {
            return $this->source;
        }
        $dsn = $this->dsn;
        // The object cache asks it before the database was asked.
        $source = ['lazy' => '1'];
        if ($dsn === '') {
            $directory = $this->directory() ?? '';
            $source['dsn'] = Presence::engine($directory) . '://' . \strtr(\rawurlencode($directory), ['%2F' => '/']);
        } else {
            $source['dsn'] = $dsn;
        }
        if (!\str_contains($dsn, 'prefix=') || self::setting('PREFIX') !== '') {
            $source['prefix'] = $this->prefix();
        }
        $near = self::setting('NEAR');
        if ($near !== '') {
            $source['near'] = $near;
        }
        // A program that can write to a server could make objects here; to a private directory only this user can.
        if ($this->isFar()) {
            $source['secret'] = $this->key('values');
        }

        return $this->source = $source;
    }

    /**
     * @return ?array<string, string> what Larder\Queue\Queue::open() gets; null: the place of the cache cannot hold a queue
     */
    public function queue(): ?array
    {
        $dsn = $this->dsn;
        $directory = $this->directory();
        if ($directory !== null) {
            return $directory === '' || !\extension_loaded('pdo_sqlite') ? null : ['dsn' => 'sqlite://' . \strtr(\rawurlencode("$directory/queue"), ['%2F' => '/'])];
        }

        return \preg_match('~^(?:rediss?|predis(?:\+tls)?)://[^?]*~', $dsn, $match) === 1 ? ['dsn' => $match[0], 'secret' => $this->key('queue')] : null;
    }

    /** The data directory; null where the DSN names another place, '' where none can be made. */
    public function directory(): ?string
    {
        $dsn = $this->dsn;
        if ($dsn !== '') {
            return \preg_match('~^(?:sqlite|file)://(/[^?]*)~', $dsn, $match) === 1 ? \rawurldecode($match[1]) : null;
        }
        if ($this->directory === null) {
            $this->directory = self::setting('DIRECTORY');
            if ($this->directory === '') {
                // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- the server's own, not the client's
                $root = $_SERVER['DOCUMENT_ROOT'] ?? null;
                $this->directory = DataDirectory::find(self::constant('ABSPATH'), self::constant('WP_CONTENT_DIR'), \is_string($root) ? $root : null, $this->salt);
            }
        }

        return $this->directory;
    }

    /**
     * Where a directory that was found may lie, now or formerly.
     *
     * @return list<string>
     */
    public function directories(): array
    {
        return Quietly::call(fn(): array => DataDirectory::places(self::constant('ABSPATH'), self::constant('WP_CONTENT_DIR'), $this->salt));
    }

    /** Tells this site's keys from all others' on the same server: the same on all its web servers. */
    public function prefix(): string
    {
        $prefix = self::setting('PREFIX');
        if ($prefix !== '') {
            return $prefix;
        }
        $table = $GLOBALS['table_prefix'] ?? '';

        $site = self::constant('DB_NAME') . ' ' . (\is_string($table) ? $table : '') . ' ' . self::constant('WP_CACHE_KEY_SALT');
        if ($this->isFar()) {
            // A copy of the site, for trials, often has all of that too, and its database elsewhere.
            $site .= ' ' . self::host(self::setting('DB_HOST') ?: self::constant('DB_HOST'));
        }

        return 'wp-' . \substr(\hash_hmac('md5', $site, $this->salt), 0, 12);
    }

    /** A database's host as wpdb takes it, one text for all that mean the same. */
    public static function host(string $host): string
    {
        // p: asks for a connection that stays, and 3306 is the port anyway.
        $host = (string) \preg_replace(['~^p:~', '~^\[(.*)\]~', '~:(3306)?$~', '~^/var/run/~', '~:/var/run/~'], ['', '$1', '', '/run/', ':/run/'], \strtolower(\trim($host)));
        $host = (string) \preg_replace('~\.(?=:|$)~', '', $host);

        return (string) \preg_replace('~^(?:|127\.\d+\.\d+\.\d+|::1|localhost)(?=:[/\d]|$)|^(?=/)~', 'localhost', $host);
    }

    /** Whether the cache is on a server, which others can write to. */
    public function isFar(): bool
    {
        $dsn = $this->dsn;

        return $dsn !== '' && \preg_match('~^(sqlite|file|apcu|segment|memory)://~', $dsn) !== 1 || \str_contains($dsn, 'far=');
    }

    public static function isDisabled(): bool
    {
        $value = self::setting('DISABLED');

        return $value !== '' && $value !== '0' && $value !== 'false';
    }

    /** A constant LARDER_$name, or the environment's; '' for none. */
    public static function setting(string $name): string
    {
        $value = self::constant('LARDER_' . $name);
        if ($value === '') {
            $value = \getenv('LARDER_' . $name);
        }

        return \is_string($value) ? $value : '';
    }

    /** What the document root is called for people: the DSN without its password, or the directory. */
    public function describe(): string
    {
        $dsn = $this->dsn;

        return $dsn === '' ? (string) $this->directory() : Dsn::parse($dsn)->toString();
    }

    private function key(string $for): string
    {
        return \hash_hmac('sha256', 'larder ' . $for, $this->secret);
    }

    private static function constant(string $name): string
    {
        $value = \defined($name) ? \constant($name) : '';

        return \is_scalar($value) ? (string) $value : '';
    }
}
