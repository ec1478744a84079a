<?php

declare(strict_types=1);

namespace Larder\Config;

/**
 * A parsed DSN, which names one store.
 *
 *     sqlite:///dir                      file:///dir                 (without a directory: the user's own)
 *     redis://[[user]:password@]host[:port][/db]                     rediss:// for TLS; predis:// and predis+tls:// by Predis
 *     redis://[[user]:password@]/run/redis.sock[?db=1]
 *     redis+single://[[user]:password@]host[:port]                   rediss+single:// for TLS: an endpoint that hides its servers
 *     redis+cluster://[[user]:password@]host[:port][,host[:port]...]                      rediss+cluster:// for TLS
 *     redis+sentinel://[[user]:password@]host[:port][,host[:port]...]/master[?db=1&sentinel_password=...]
 *     each of these with TLS                                         [?cafile=/etc/ssl/own-authority.pem&peer_name=redis.internal]
 *     memcached://host[:port][,host[:port]...]                       memcached:///run/memcached.sock
 *     segment:///dev/shm/larder/segment[?bytes=64M]                  (without a file: the user's own)
 *     apcu://                            memory://
 *
 * Paths, users, passwords and query values are percent-decoded; `+` means itself. This class does not know the options in
 * the query: Options checks them.
 *
 * Parsed by hand and not by parse_url(), which refuses several hosts, loses `#` in passwords, and costs more: each web
 * request parses its DSN.
 */
final class Dsn
{
    /** Scheme to the extension that it needs ('': none); TIERS tells which tier it can be. */
    public const EXTENSIONS = [
        'sqlite' => 'pdo_sqlite',
        'file' => '',
        'redis' => 'redis',
        'rediss' => 'redis',
        'predis' => '',
        'predis+tls' => '',
        'redis+cluster' => 'redis',
        'rediss+cluster' => 'redis',
        'redis+single' => 'redis',
        'rediss+single' => 'redis',
        'redis+sentinel' => 'redis',
        'rediss+sentinel' => 'redis',
        'memcached' => '',
        'segment' => 'larder',
        'apcu' => 'apcu',
        'memory' => '',
    ];

    /** What queues and counters can lie in: it forgets nothing by itself. */
    public const KEEPING = ['sqlite', 'redis', 'rediss', 'predis', 'predis+tls', 'redis+cluster', 'rediss+cluster', 'redis+single', 'rediss+single', 'redis+sentinel', 'rediss+sentinel'];

    public const TIERS = [
        'sqlite' => 'disk',
        'file' => 'disk',
        'redis' => 'far',
        'rediss' => 'far',
        'predis' => 'far',
        'predis+tls' => 'far',
        'redis+cluster' => 'far',
        'rediss+cluster' => 'far',
        'redis+single' => 'far',
        'rediss+single' => 'far',
        'redis+sentinel' => 'far',
        'rediss+sentinel' => 'far',
        'memcached' => 'far',
        'segment' => 'near',
        'apcu' => 'near',
        'memory' => 'near',
    ];

    /** What most requests parse needs no look at each rule: a directory that means what it says; a server and nothing else, or a socket. */
    private const PLAIN = '~^sqlite://(/(?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_.-]+)$~D';
    private const PLAIN_REDIS = '~^redis://(?:(/[A-Za-z0-9_.-]*[A-Za-z_.-][A-Za-z0-9_./-]*)|([A-Za-z0-9.-]+)(?::([1-9]\d{0,3}))?(?:/(\d{0,5}))?)$~D';

    private const REDIS_PORT = 6379;
    private const SENTINEL_PORT = 26379;
    private const MEMCACHED_PORT = 11211;

    // Plain properties, which nothing changes after the constructor: each web request makes this object, and what it does not
    // set costs nothing.
    public string $path = '';
    public string $host = '';
    public int $port = 0;

    /** @var list<array{string, int}> */
    public array $servers = [];
    public int $db = 0;
    public ?string $user = null;
    // PHP shows what such an object holds in no dump, export or cast.
    public ?\SensitiveParameterValue $password = null;

    /** Of Sentinel: the name of the master, and what the sentinels ask for. */
    public string $master = '';
    public ?string $sentinelUser = null;
    public ?\SensitiveParameterValue $sentinelPassword = null;

    /** Of TLS: the file with the certificates of the authorities ('': PHP's), and the name in the servers' ('': the host). */
    public string $cafile = '';
    public string $peerName = '';

    /** @var array<array-key, string> */
    public array $query = [];
    public int $bytes = 0;

    /**
     * @param string                     $path     the directory of sqlite and file, the file of a segment ('': the
     *                                             user's own), or a server's socket ('': none)
     * @param string                     $host     of Redis, without the brackets of IPv6; '' with a socket
     * @param list<array{string, int}>   $servers  of Memcached: host and port, or a socket's path and 0; the nodes of a cluster, or the sentinels
     * @param array<array-key, string>   $query    names and values, for Options
     * @param int                        $bytes    size of a new segment; 0: the size in Options
     */
    public function __construct(
        public string $scheme,
        string $path = '',
        string $host = '',
        int $port = 0,
        array $servers = [],
        int $db = 0,
        ?string $user = null,
        #[\SensitiveParameter]
        ?string $password = null,
        #[\SensitiveParameter]
        array $query = [],
        int $bytes = 0,
    ) {
        $path === '' || $this->path = $path;
        $query === [] || $this->query = $query;
        $bytes === 0 || $this->bytes = $bytes;
        if (self::TIERS[$scheme] === 'far') {
            $this->host = $host;
            $this->port = $port;
            $this->servers = $servers;
            $this->db = $db;
            $this->user = $user;
            $this->password = $password === null ? null : new \SensitiveParameterValue($password);
        }
    }

    /**
     * @param ?list<string> $known schemes that the error of an unknown one names; null: those of a cache
     *
     * @throws InvalidConfiguration
     */
    public static function parse(#[\SensitiveParameter] string $text, ?array $known = null): self
    {
        if (\preg_match(self::PLAIN, $text, $plain) === 1) {
            return new self('sqlite', $plain[1]);
        }
        if (\preg_match(self::PLAIN_REDIS, $text, $plain) === 1) {
            return $plain[1] !== '' ? new self('redis', $plain[1]) : new self('redis', '', $plain[2], (int) ($plain[3] ?? '') ?: self::REDIS_PORT, [], (int) ($plain[4] ?? ''));
        }
        $colon = \strpos($text, '://');
        if ($colon === false || $colon === 0) {
            throw InvalidConfiguration::notADsn($text);
        }
        if (\preg_match('/[\x00-\x1f\x7f]/', $text) === 1) {
            throw InvalidConfiguration::malformed($text, 'it contains a control character', 'remove the line break or NUL byte from it');
        }
        $scheme = \substr($text, 0, $colon);
        $tier = self::TIERS[$scheme] ?? null;
        if ($tier === null) {
            $lower = \strtolower($scheme);
            if (!isset(self::TIERS[$lower])) {
                throw InvalidConfiguration::unknownScheme($text, $lower, $known ?? \array_keys(self::TIERS));
            }
            $scheme = $lower;
            $tier = self::TIERS[$lower];
        }

        $rest = \substr($text, $colon + 3);
        $mark = \strpos($rest, '?');
        $query = [];
        if ($mark !== false) {
            $query = self::query($text, \substr($rest, $mark + 1));
            $rest = \substr($rest, 0, $mark);
        }

        if ($tier === 'disk') {
            return new self($scheme, self::directory($text, $scheme, $rest), query: $query);
        }
        if ($scheme === 'segment') {
            $bytes = isset($query['bytes']) ? Options::size('bytes', $query['bytes']) : 0;
            unset($query['bytes']);

            return new self($scheme, self::file($text, $rest), query: $query, bytes: $bytes);
        }
        if ($tier === 'near') {
            if ($rest !== '' && $rest !== '/') {
                throw InvalidConfiguration::malformed($text, $scheme . ':// has no host and no path', 'write ' . $scheme . '://');
            }

            return new self($scheme, query: $query);
        }
        if ($scheme === 'memcached') {
            return new self($scheme, servers: self::memcached($text, $rest), query: $query);
        }

        [$cafile, $peerName] = [$query['cafile'] ?? '', $query['peer_name'] ?? ''];
        unset($query['cafile'], $query['peer_name']);
        $dsn = self::redis($text, $scheme, $rest, $query);
        [$dsn->cafile, $dsn->peerName] = [$cafile, $peerName];
        if (!$dsn->isTls() && ($dsn->cafile !== '' || $dsn->peerName !== '')) {
            throw InvalidConfiguration::malformed($text, "cafile and peer_name are for TLS, which $scheme:// does not use", 'write ' . ($scheme === 'predis' ? 'predis+tls' : 'rediss' . \substr($scheme, 5)) . ':// or leave them out');
        }
        if ($dsn->cafile !== '' && $dsn->cafile[0] !== '/') {
            throw InvalidConfiguration::malformed($text, 'its cafile is no absolute path', 'write for example ?cafile=/etc/ssl/redis-ca.pem');
        }

        return $dsn;
    }

    /**
     * The text of a DSN with further options.
     *
     * @param array<array-key, scalar|list<string>> $options
     */
    public static function with(#[\SensitiveParameter] string $text, #[\SensitiveParameter] array $options): string
    {
        return $options === [] ? $text : $text . (\str_contains($text, '?') ? '&' : '?')
            . \http_build_query(\array_map(static fn(mixed $value): mixed => \is_bool($value) ? (int) $value : $value, $options), '', '&', \PHP_QUERY_RFC3986);
    }

    /**
     * The text of a DSN without its query, and the options in that: for with(), when those that are a framework's own are taken out.
     *
     * @return array{string, array<string, string>}
     *
     * @throws InvalidConfiguration
     */
    public static function split(#[\SensitiveParameter] string $text): array
    {
        [$place, $query] = \explode('?', $text, 2) + [1 => ''];
        /** @var array<string, string> $options a name that is a number is no option's, and refused later */
        $options = self::query($text, $query);

        return [$place, $options];
    }

    /**
     * Checks that what the scheme needs is installed here.
     *
     * @throws InvalidConfiguration
     */
    public function needs(): void
    {
        $extension = self::EXTENSIONS[$this->scheme];
        if ($extension !== '' && $extension !== 'larder' && !\extension_loaded($extension)) {
            if ($extension !== 'redis') {
                throw InvalidConfiguration::missingExtension($extension, $this->scheme . '://');
            }
            if (!\class_exists(\Predis\Client::class)) {
                throw InvalidConfiguration::missingRedis($this->scheme . '://');
            }
        } elseif (($this->scheme === 'predis' || $this->scheme === 'predis+tls') && !\class_exists(\Predis\Client::class)) {
            throw InvalidConfiguration::missingPredis($this->scheme . '://');
        }
        if (!\function_exists('ini_get') || (string) \ini_get('disable_functions') !== '') {
            $this->scheme === 'apcu' && Functions::check(Functions::APCU);
            Functions::check(self::TIERS[$this->scheme] === 'far' && $extension === '' ? [...Functions::NEEDED, ...Functions::SOCKETS] : Functions::NEEDED);
        }
    }

    /** The DSN without password and options, for messages and to distinguish stores. */
    public function toString(): string
    {
        if (self::TIERS[$this->scheme] === 'disk') {
            return "$this->scheme://$this->path";
        }
        $text = $this->scheme . '://';
        if ($this->user !== null || $this->password !== null) {
            $text .= \rawurlencode($this->user ?? '') . ':***@';
        }
        if ($this->servers !== []) {
            $hosts = [];
            foreach ($this->servers as [$host, $port]) {
                $hosts[] = $port === 0 ? $host : self::bracketed($host) . ':' . $port;
            }

            return $text . \implode(',', $hosts) . ($this->master === '' ? '' : '/' . $this->master . ($this->db === 0 ? '' : "?db=$this->db"));
        }
        if ($this->host !== '') {
            return $text . self::bracketed($this->host) . ':' . $this->port . '/' . $this->db;
        }

        return $text . $this->path . ($this->db === 0 ? '' : '?db=' . $this->db);
    }

    /** Names the place of the data: the same for each client of one server, as long as the address is spelled alike. */
    public function place(): string
    {
        $text = $this->toString();

        return match (true) {
            \str_starts_with($text, 'predis://') => 'redis' . \substr($text, 6),
            \str_starts_with($text, 'predis+tls://') => 'rediss' . \substr($text, 10),
            default => $text,
        };
    }

    /** @return array<mixed> for print_r() and var_dump(): programs that collect errors print objects */
    public function __debugInfo(): array
    {
        return ['query' => \array_keys($this->query)] + \get_object_vars($this);
    }

    private static function bracketed(string $host): string
    {
        return \str_contains($host, ':') ? '[' . $host . ']' : $host;
    }

    /**
     * @return array<array-key, string>
     */
    private static function query(#[\SensitiveParameter] string $text, #[\SensitiveParameter] string $query): array
    {
        $result = [];
        foreach (\explode('&', $query) as $pair) {
            if ($pair === '') {
                continue;
            }
            $equals = \strpos($pair, '=');
            if ($equals === false || $equals === 0) {
                throw InvalidConfiguration::malformed($text, 'its query must be name=value pairs', 'write for example ?prefix=shop&budget=256M');
            }
            $name = \rawurldecode(\substr($pair, 0, $equals));
            if (isset($result[$name])) {
                throw InvalidConfiguration::malformed($text, 'it gives an option twice' . (\in_array($name, Options::NAMES, true) ? ', "' . $name . '"' : ''), 'keep one of the two');
            }
            $result[$name] = \rawurldecode(\substr($pair, $equals + 1));
        }

        return $result;
    }

    private static function file(#[\SensitiveParameter] string $text, #[\SensitiveParameter] string $rest): string
    {
        $path = $rest === '' ? '' : self::directory($text, 'segment', $rest);
        if ($path !== '' && ($rest[\strlen($rest) - 1] === '/' || \strrpos($path, '/') === 0)) {
            throw InvalidConfiguration::malformed($text, 'a segment is a file, in a directory of its own', 'write segment:///dev/shm/app/segment');
        }

        return $path;
    }

    private static function directory(#[\SensitiveParameter] string $text, string $scheme, #[\SensitiveParameter] string $rest): string
    {
        if ($rest === '') {
            return '';
        }
        if (($rest[0] !== '/' || ($rest[2] ?? '') === ':') && \preg_match('~^/?[A-Za-z]:[\\\\/]|^\\\\~', $rest) === 1) {
            throw InvalidConfiguration::windows($text);
        }
        if ($rest[0] !== '/') {
            throw InvalidConfiguration::malformed(
                $text,
                'its directory is not absolute',
                'write three slashes and the whole path, as in ' . $scheme . ':///' . (InvalidConfiguration::isHarmless($rest) && !\str_contains($text, '@') ? $rest : 'var/cache/app'),
            );
        }
        $path = \str_contains($rest, '%') ? \rawurldecode($rest) : $rest;
        if (\str_contains($path, "\0")) {
            throw InvalidConfiguration::malformed($text, 'its path contains a NUL byte', 'remove it');
        }
        // With a trailing slash lstat() follows a symbolic link (path_resolution(7)), and PrivateDirectory must not.
        $path = \rtrim($path, '/');
        if ($path === '') {
            throw InvalidConfiguration::malformed($text, 'it names the root directory', 'give Larder a directory of its own, as in ' . $scheme . ':///var/cache/app');
        }

        return $path;
    }

    /**
     * @param array<array-key, string> $query
     */
    private static function redis(#[\SensitiveParameter] string $text, string $scheme, #[\SensitiveParameter] string $rest, #[\SensitiveParameter] array $query): self
    {
        $slash = \strpos($rest, '/');
        $authority = $slash === false ? $rest : \substr($rest, 0, $slash);
        $path = $slash === false ? '' : \rawurldecode(\substr($rest, $slash));
        $user = $password = null;
        $at = \strrpos($authority, '@');
        if ($at !== false) {
            [$user, $password] = self::credentials($text, $scheme, \substr($authority, 0, $at));
            $authority = \substr($authority, $at + 1);
        } elseif (\str_contains($path, '@')) {
            throw InvalidConfiguration::malformed($text, 'its user or password contains a "/"', 'write %2F for "/", %40 for "@" and %3F for "?" in a user or password');
        }
        if (\str_ends_with($scheme, '+cluster') || \str_ends_with($scheme, '+sentinel')) {
            return self::several($text, $scheme, $authority, $path, $user, $password, $query);
        }
        if (\str_contains($authority, ',')) {
            throw InvalidConfiguration::cluster($text);
        }
        $db = null;
        if (isset($query['db'])) {
            $db = self::number($text, $query['db']);
            unset($query['db']);
        }

        if ($authority === '') {
            if ($path === '' || $path === '/') {
                throw InvalidConfiguration::malformed($text, 'it names no server', 'write ' . $scheme . '://127.0.0.1:6379/0, or ' . $scheme . ':///run/redis.sock for a socket');
            }
            if (\preg_match('/^\d+$/D', \substr($path, 1)) === 1) {
                throw InvalidConfiguration::malformed($text, 'it has a database number and no server', 'write ' . $scheme . '://127.0.0.1:6379' . $path);
            }
            if (\str_starts_with($scheme, 'rediss') || $scheme === 'predis+tls') {
                throw InvalidConfiguration::malformed($text, 'there is no TLS over a socket', 'write ' . \str_replace(['rediss', '+tls'], ['redis', ''], $scheme) . '://' . (InvalidConfiguration::isHarmless($path) ? $path : '/run/redis.sock'));
            }

            return new self($scheme, $path, db: $db ?? 0, user: $user, password: $password, query: $query);
        }

        [$host, $port] = self::address($text, $authority, self::REDIS_PORT);
        if ($path !== '' && $path !== '/') {
            if (\preg_match('/^\d+$/D', \substr($path, 1)) !== 1) {
                throw InvalidConfiguration::malformed(
                    $text,
                    'after the host comes the number of a database',
                    'write ' . $scheme . '://' . $authority . '/0, or for a socket three slashes: ' . $scheme . ':///' . (InvalidConfiguration::isHarmless($path) ? $authority . $path : 'run/redis.sock'),
                );
            }
            if ($db !== null) {
                throw InvalidConfiguration::malformed($text, 'it gives the database twice', 'keep either ' . $path . ' or ?db=' . $db);
            }
            $db = self::number($text, \substr($path, 1));
        }

        return new self($scheme, '', $host, $port, [], $db ?? 0, $user, $password, $query);
    }

    /**
     * Of a cluster, or of Sentinel.
     *
     * @param array<array-key, string> $query
     */
    private static function several(#[\SensitiveParameter] string $text, string $scheme, string $authority, string $path, ?string $user, #[\SensitiveParameter] ?string $password, #[\SensitiveParameter] array $query): self
    {
        $isCluster = \str_ends_with($scheme, '+cluster');
        if ($authority === '') {
            throw InvalidConfiguration::malformed($text, 'it names no server', 'write ' . $scheme . ($isCluster ? '://host1:6379,host2:6379' : '://host1:26379,host2:26379/mymaster'));
        }
        $servers = [];
        foreach (\explode(',', $authority) as $part) {
            $servers[] = $part === '' ? throw InvalidConfiguration::malformed($text, 'it has a comma too many', 'write its hosts with one comma between two')
                : self::address($text, $part, $isCluster ? self::REDIS_PORT : self::SENTINEL_PORT);
        }
        $master = \trim($path, '/');
        $db = 0;
        if ($isCluster) {
            if (($master !== '' && $master !== '0') || ($query['db'] ?? '0') !== '0') {
                throw InvalidConfiguration::malformed($text, 'a cluster has one database, 0', 'leave the database out');
            }
            $master = '';
        } else {
            if (\preg_match('/^[\w.-]+$/D', $master) !== 1) {
                throw InvalidConfiguration::malformed($text, 'it does not say which master Sentinel watches', 'write its name after the hosts, as in ' . $scheme . '://host1:26379,host2:26379/mymaster');
            }
            $db = isset($query['db']) ? self::number($text, $query['db']) : 0;
        }
        $dsn = new self($scheme, servers: $servers, db: $db, user: $user, password: $password);
        $dsn->master = $master;
        if (!$isCluster) {
            $dsn->sentinelUser = $query['sentinel_user'] ?? null;
            $dsn->sentinelPassword = isset($query['sentinel_password']) ? new \SensitiveParameterValue($query['sentinel_password']) : null;
            unset($query['sentinel_user'], $query['sentinel_password']);
        }
        unset($query['db']);
        $dsn->query = $query;

        return $dsn;
    }

    /** Whether all keys must lie in one slot. */
    public function hasSlots(): bool
    {
        return \str_ends_with($this->scheme, '+cluster') || $this->isSingle();
    }

    /** Whether the servers are hidden behind one endpoint. */
    public function isSingle(): bool
    {
        return \str_ends_with($this->scheme, '+single');
    }

    public function isTls(): bool
    {
        return \str_starts_with($this->scheme, 'rediss') || $this->scheme === 'predis+tls';
    }

    /**
     * @return array{?string, string}
     */
    private static function credentials(#[\SensitiveParameter] string $text, string $scheme, #[\SensitiveParameter] string $part): array
    {
        $colon = \strpos($part, ':');
        if ($colon === false) {
            throw InvalidConfiguration::malformed($text, 'it has one word before the "@"', 'write ' . $scheme . '://:password@host or ' . $scheme . '://user:password@host');
        }
        $password = \rawurldecode(\substr($part, $colon + 1));
        if ($password === '') {
            throw InvalidConfiguration::malformed($text, 'its password is empty', 'leave out everything up to the "@", or write the password (is the variable it comes from set?)');
        }
        $user = \rawurldecode(\substr($part, 0, $colon));

        return [$user === '' ? null : $user, $password];
    }

    /**
     * @return non-empty-list<array{string, int}>
     */
    private static function memcached(#[\SensitiveParameter] string $text, #[\SensitiveParameter] string $rest): array
    {
        if (\str_contains($rest, '@')) {
            throw InvalidConfiguration::malformed($text, 'Larder does not log in to Memcached', 'leave out the user and password, and let Memcached listen on a socket or a private network');
        }
        $servers = [];
        foreach (\explode(',', $rest) as $part) {
            if ($part !== '' && $part[0] === '/' && $part !== '/') {
                $server = [\rawurldecode($part), 0];
            } else {
                $slash = \strpos($part, '/');
                if ($slash !== false && $slash !== \strlen($part) - 1) {
                    throw InvalidConfiguration::malformed($text, 'Memcached has no databases', 'leave out what follows the host, or write three slashes for a socket: memcached:///run/memcached.sock');
                }
                $part = \rtrim($part, '/');
                if ($part === '') {
                    throw InvalidConfiguration::malformed($text, 'it names no server', 'write memcached://127.0.0.1:11211, or memcached:///run/memcached.sock for a socket');
                }
                $server = self::address($text, $part, self::MEMCACHED_PORT);
            }
            if (\in_array($server, $servers, true)) {
                throw InvalidConfiguration::malformed($text, 'it names a server twice', 'keep "' . $part . '" once');
            }
            $servers[] = $server;
        }

        return $servers;
    }

    /**
     * @return array{string, int} host without brackets, port
     */
    private static function address(#[\SensitiveParameter] string $text, #[\SensitiveParameter] string $address, int $port): array
    {
        if ($address[0] === '[') {
            $end = \strpos($address, ']');
            if ($end === false || \preg_match('/^[0-9A-Fa-f:.]+(?:%[\w.-]+)?$/', \substr($address, 1, $end - 1)) !== 1) {
                throw InvalidConfiguration::malformed($text, 'its IPv6 address is not one', 'write it in brackets, as in [::1]:' . $port);
            }
            $host = \substr($address, 1, $end - 1);
            $tail = \substr($address, $end + 1);
        } else {
            $colon = \strpos($address, ':');
            $host = $colon === false ? $address : \substr($address, 0, $colon);
            $tail = $colon === false ? '' : \substr($address, $colon);
            if (\strpos($tail, ':', 1 - (int) ($tail === '')) !== false) {
                throw InvalidConfiguration::malformed($text, 'it has two colons in its address', 'write an IPv6 address in brackets, as in [::1]:' . $port);
            }
            if (\preg_match('/^[\w.-]+$/', $host) !== 1) {
                throw InvalidConfiguration::malformed($text, 'its host is not a host name', 'write a name or an address, as in 127.0.0.1:' . $port);
            }
        }
        if ($tail !== '') {
            $digits = \substr($tail, 1);
            if ($tail[0] !== ':' || \preg_match('/^\d+$/D', $digits) !== 1 || \strlen($digits) > 5 || (int) $digits < 1 || (int) $digits > 65535) {
                throw InvalidConfiguration::malformed($text, 'its port is not a number from 1 to 65535', 'write for example 127.0.0.1:' . $port);
            }
            $port = (int) $digits;
        }

        return [$host, $port];
    }

    private static function number(#[\SensitiveParameter] string $text, #[\SensitiveParameter] string $digits): int
    {
        if (\preg_match('/^\d+$/D', $digits) !== 1 || \strlen($digits) > 5) {
            throw InvalidConfiguration::malformed($text, 'its database is not a number', 'write 0, the number Redis starts with, or another below its "databases" setting');
        }

        return (int) $digits;
    }
}
