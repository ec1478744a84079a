<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/**
 * Memcached by the extension "memcached" (libmemcached), in its text protocol, which is its default.
 *
 * Strings are stored as they are, whatever the serializer; arrays go through it (php_memcached.c, s_zval_to_payload).
 *
 * Compression is on by default, by fastlz (newer builds can also do zlib and zstd, and still take fastlz where
 * nothing is said: memcached.compression_type). It is tried on what has at least 2,000 bytes when serialized
 * (memcached.compression_threshold), and kept where the result is smaller by a factor of 1.3
 * (memcached.compression_factor). Here it is fastlz or nothing, so that the name in the report is true.
 */
final class MemcachedDriver extends Driver
{
    /** Milliseconds: to connect, and for each answer. */
    private const TIMEOUT = 2_000;

    private readonly Parameters $parameters;
    private readonly string $serializer;
    private readonly bool $compression;
    private ?\Memcached $memcached = null;

    /** @param array<string, string|int> $parameters serializer; compression 1 or 0; connection with socket, or host and port */
    public function __construct(array $parameters)
    {
        $this->parameters = new Parameters($parameters);
        $this->serializer = $this->parameters->serializer();
        $this->compression = $this->parameters->flag('compression');
    }

    /** Whether this build of the extension can serialize so. */
    public static function has(string $serializer): bool
    {
        return match ($serializer) {
            'igbinary' => \defined('Memcached::HAVE_IGBINARY') && (bool) \constant('Memcached::HAVE_IGBINARY'),
            'msgpack' => \defined('Memcached::HAVE_MSGPACK') && (bool) \constant('Memcached::HAVE_MSGPACK'),
            default => true,
        };
    }

    /** It says nothing to the server yet: libmemcached connects with the first command, in an application too. */
    public function connect(): void
    {
        if (!self::has($this->serializer)) {
            throw EngineFailure::off("This build of the extension memcached has no $this->serializer", 'take another serializer');
        }
        $memcached = new \Memcached();
        $socket = $this->parameters->socket();
        $set = $memcached->setOptions([
            \Memcached::OPT_SERIALIZER => match ($this->serializer) {
                'igbinary' => \Memcached::SERIALIZER_IGBINARY,
                'msgpack' => \Memcached::SERIALIZER_MSGPACK,
                default => \Memcached::SERIALIZER_PHP,
            },
            \Memcached::OPT_COMPRESSION => $this->compression,
            \Memcached::OPT_COMPRESSION_TYPE => \Memcached::COMPRESSION_FASTLZ,
            \Memcached::OPT_TCP_NODELAY => true,
            \Memcached::OPT_CONNECT_TIMEOUT => self::TIMEOUT,
            \Memcached::OPT_POLL_TIMEOUT => self::TIMEOUT,
            \Memcached::OPT_SEND_TIMEOUT => self::TIMEOUT * 1_000,
            \Memcached::OPT_RECV_TIMEOUT => self::TIMEOUT * 1_000,
        ]);
        $set = $set && ($socket !== null
            ? $memcached->addServer($socket, 0)
            : $memcached->addServer($this->parameters->host(), $this->parameters->port()));
        if (!$set) {
            throw EngineFailure::refused('The extension memcached', 'take its options', $memcached->getResultMessage());
        }
        $this->memcached = $memcached;
    }

    public function disconnect(): void
    {
        $this->memcached?->quit();
        $this->memcached = null;
    }

    public function write(array $values): void
    {
        $memcached = $this->memcached ?? throw EngineFailure::notConnected();
        foreach ($values as $key => $value) {
            if (!$memcached->set($key, $value)) {
                throw EngineFailure::refused('Memcached', 'store it', $memcached->getResultMessage());
            }
        }
    }

    public function read(array $keys): mixed
    {
        $memcached = $this->memcached ?? throw EngineFailure::notConnected();
        $value = null;
        foreach ($keys as $key) {
            $value = $memcached->get($key);
        }
        // It never throws; a server that has gone answers nothing from then on, so looking at the last is enough.
        if ($value === false && !\in_array($memcached->getResultCode(), [\Memcached::RES_SUCCESS, \Memcached::RES_NOTFOUND], true)) {
            throw EngineFailure::refused('Memcached', 'answer', $memcached->getResultMessage());
        }

        return $value;
    }
}
