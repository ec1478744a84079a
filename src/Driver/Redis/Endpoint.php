<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

use Larder\System\Failure;
use Larder\System\Secret;

/** Address and credentials of a Redis or Valkey server. */
final class Endpoint
{
    /** Bytes from which on a password is not part of a word by chance, and from which on it is no word by chance. */
    private const LONG = 16;
    private const WORD = 4;

    // PHP shows what such an object holds in no dump, export or cast.
    public readonly ?\SensitiveParameterValue $password;

    /** The password that $credentials has given last. */
    private ?\SensitiveParameterValue $given = null;

    /**
     * @param ?string $socket   absolute path of a unix socket; host, port and tls are then not used
     * @param ?string $user     an ACL user (Redis 6); null: the password alone
     * @param bool    $tls      use TLS; the server's certificate must be valid for $peerName, by an authority in $cafile
     * @param float   $timeout  seconds, above zero, for a call, connecting included: see RedisConnection::begin()
     * @param ?\Closure(): mixed $credentials asked for [user or null, password] or a password at each connection; null: $user and $password
     * @param bool    $persists whether a server is refused that loses what it acknowledged when it restarts
     * @param bool    $isSingle whether it is a single endpoint, which hides the servers behind it and wants each key of a script declared
     * @param string  $cafile   '': those that PHP trusts (its openssl.cafile)
     * @param string  $peerName '': $host
     * @param bool    $isKept   whether PHP keeps the connection for its process's next request, where phpredis can
     */
    public function __construct(
        public readonly string $host = '127.0.0.1',
        public readonly int $port = 6379,
        public readonly ?string $socket = null,
        public readonly int $db = 0,
        public readonly ?string $user = null,
        #[\SensitiveParameter]
        \SensitiveParameterValue|string|null $password = null,
        public readonly bool $tls = false,
        public readonly float $timeout = 0.25,
        public readonly bool $isKept = false,
        private readonly ?\Closure $credentials = null,
        public readonly bool $persists = false,
        public readonly bool $isSingle = false,
        public readonly string $cafile = '',
        public readonly string $peerName = '',
    ) {
        $this->password = \is_string($password) ? new \SensitiveParameterValue($password) : $password;
    }

    /**
     * The same at another address.
     *
     * @param ?float $timeout seconds; null: the same
     */
    public function at(string $host, int $port, ?float $timeout = null): self
    {
        return new self($host, $port, null, $this->db, $this->user, $this->password, $this->tls, $timeout ?? $this->timeout, $this->isKept, $this->credentials, $this->persists, $this->isSingle, $this->cafile, $this->peerName);
    }

    /** The same with other credentials, outside of any database. */
    public function with(?string $user, ?\SensitiveParameterValue $password): self
    {
        return new self($this->host, $this->port, $this->socket, 0, $user, $password, $this->tls, $this->timeout, cafile: $this->cafile, peerName: $this->peerName);
    }

    /** @return array<string, string> PHP's options of a TLS connection */
    public function security(): array
    {
        return ['peer_name' => $this->peerName === '' ? $this->host : $this->peerName] + ($this->cafile === '' ? [] : ['cafile' => $this->cafile]);
    }

    /** For messages. */
    public function title(): string
    {
        return 'Redis at ' . $this->name();
    }

    /** The address for messages, without the password. */
    public function name(): string
    {
        return ($this->socket ?? $this->host . ':' . $this->port) . ($this->db === 0 ? '' : ' db ' . $this->db);
    }

    /**
     * A server's text without the password: a server that does not know AUTH repeats its arguments, in quotes. A word that has the
     * password within it is none; a short password without quotes may be any word.
     */
    public function withoutPassword(#[\SensitiveParameter] string $text): string
    {
        foreach ([$this->password, $this->given] as $secret) {
            $password = $secret === null ? '' : Secret::text($secret);
            $quoted = \preg_quote($password, '/');
            $text = $password === '' ? $text : (string) \preg_replace(match (true) {
                \strlen($password) >= self::LONG => "/$quoted/",
                \strlen($password) >= self::WORD => "/(?<![\\w-])$quoted(?![\\w-])/",
                default => "/(?<=['\"`])$quoted(?=['\"`])/",
            }, '***', $text);
        }

        return $text;
    }

    /** @return array<mixed> for print_r() and var_dump(), which show what a closure has */
    public function __debugInfo(): array
    {
        return ['credentials' => $this->credentials === null ? null : '***'] + \get_object_vars($this);
    }

    /**
     * The first commands on each new connection.
     *
     * @return list<non-empty-list<string>>
     *
     * @throws Failure the credentials cannot be had
     */
    public function greeting(): array
    {
        $commands = [];
        [$user, $password] = $this->credentials === null ? [$this->user, $this->password === null ? null : Secret::text($this->password)] : $this->ask($this->credentials);
        if ($password !== null) {
            $commands[] = $user === null ? ['AUTH', $password] : ['AUTH', $user, $password];
        }
        if ($this->db !== 0) {
            $commands[] = ['SELECT', (string) $this->db];
        }

        return $commands;
    }

    /**
     * @param \Closure(): mixed $credentials
     *
     * @return array{?string, string} user and password
     *
     * @throws Failure
     */
    private function ask(\Closure $credentials): array
    {
        try {
            $told = $credentials();
        } catch (\Throwable $error) {
            // Its message may tell a secret.
            throw Failure::because($this->title(), 'the closure of the option "credentials" threw ' . $error::class . ' in ' . $error->getFile() . ' on line ' . $error->getLine());
        }
        $isPair = \is_array($told) && \array_is_list($told) && \count($told) === 2;
        [$user, $password] = $isPair ? $told : [null, $told];
        if (!\is_string($password) || ($user !== null && !\is_string($user))) {
            throw Failure::because($this->title(), 'the closure of the option "credentials" must return [user or null, password] or a password, not ' . (\is_array($told) ? 'an array of ' . (\array_is_list($told) ? '' : 'named elements: ') . (\implode(' and ', \array_map(\get_debug_type(...), \array_slice($told, 0, 3))) ?: 'nothing') : \get_debug_type($told)));
        }
        $this->given = new \SensitiveParameterValue($password);

        return [$user === '' ? null : $user, $password];
    }
}
