<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

/** Address and credentials of a Redis or Valkey server. */
final class Endpoint
{
    /**
     * @param ?string $socket   absolute path of a unix socket; host, port and tls are then not used
     * @param ?string $user     an ACL user (Redis 6); null: the password alone
     * @param bool    $tls      use TLS; the server's certificate must be valid for $host (PHP's openssl.cafile names the authorities)
     * @param float   $timeout  seconds, above zero, for a call, connecting included: see RedisConnection::begin()
     * @param bool    $isKept   whether PHP keeps the connection for its process's next request, where phpredis can
     */
    public function __construct(
        public readonly string $host = '127.0.0.1',
        public readonly int $port = 6379,
        public readonly ?string $socket = null,
        public readonly int $db = 0,
        public readonly ?string $user = null,
        #[\SensitiveParameter]
        public readonly ?string $password = null,
        public readonly bool $tls = false,
        public readonly float $timeout = 0.25,
        public readonly bool $isKept = false,
    ) {}

    /** The address for messages, without the password. */
    public function name(): string
    {
        return ($this->socket ?? $this->host . ':' . $this->port) . ($this->db === 0 ? '' : ' db ' . $this->db);
    }

    /** A server's text without the password: a server that does not know AUTH repeats its arguments. */
    public function withoutPassword(#[\SensitiveParameter] string $text): string
    {
        return $this->password === null ? $text : \str_replace($this->password, '***', $text);
    }

    /** @return array<mixed> for print_r() and var_dump() */
    public function __debugInfo(): array
    {
        return ['password' => $this->password === null ? null : '***'] + \get_object_vars($this);
    }

    /**
     * The first commands on each new connection.
     *
     * @return list<non-empty-list<string>>
     */
    public function greeting(): array
    {
        $commands = [];
        if ($this->password !== null) {
            $commands[] = $this->user === null ? ['AUTH', $this->password] : ['AUTH', $this->user, $this->password];
        }
        if ($this->db !== 0) {
            $commands[] = ['SELECT', (string) $this->db];
        }

        return $commands;
    }
}
