<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/**
 * Redis or Valkey by the extension "redis" (phpredis).
 *
 * The extension serializes by itself (OPT_SERIALIZER), strings too, by what its build has: php always, igbinary and
 * msgpack where they were there when it was built. Where one is missing (msgpack in Debian's build) the functions of
 * that serializer are called in the same place. Its own compression stays off.
 */
final class PhpRedisDriver extends Driver
{
    /** Seconds: to connect, and for each answer. */
    private const TIMEOUT = 2.0;

    private readonly Parameters $parameters;
    private readonly ?int $option;
    /** In the place of an option that this build does not have. */
    private readonly ?Functions $functions;
    private ?\Redis $redis = null;

    /** @param array<string, string|int> $parameters serializer; connection with socket, or host and port */
    public function __construct(array $parameters)
    {
        $this->parameters = new Parameters($parameters);
        $serializer = $this->parameters->serializer();
        $this->option = self::option($serializer);
        $this->functions = $this->option === null ? Functions::ofSerializer($serializer) : null;
    }

    /** What setOption(\Redis::OPT_SERIALIZER) takes for a serializer; null where this build does not have it. */
    public static function option(string $serializer): ?int
    {
        $name = 'Redis::SERIALIZER_' . \strtoupper($serializer);
        $option = \defined($name) ? \constant($name) : null;

        return \is_int($option) ? $option : null;
    }

    public function connect(): void
    {
        $socket = $this->parameters->socket();
        $redis = new \Redis();
        $connected = $socket !== null
            ? $redis->connect($socket, 0, self::TIMEOUT, null, 0, self::TIMEOUT)
            : $redis->connect($this->parameters->host(), $this->parameters->port(), self::TIMEOUT, null, 0, self::TIMEOUT);
        if (!$connected) {
            throw EngineFailure::refused('Redis', 'let us connect', (string) $redis->getLastError());
        }
        // By itself it would try again, up to ten times (library.c, redis_check_eof): a server that died would look slow.
        $redis->setOption(\Redis::OPT_MAX_RETRIES, 0);
        if ($this->option !== null) {
            $redis->setOption(\Redis::OPT_SERIALIZER, $this->option);
        }
        $this->redis = $redis;
    }

    public function disconnect(): void
    {
        $this->redis?->close();
        $this->redis = null;
    }

    public function write(array $values): void
    {
        $redis = $this->redis ?? throw EngineFailure::notConnected();
        if ($this->functions === null) {
            foreach ($values as $key => $value) {
                if (!$redis->set($key, $value)) {
                    throw self::failed($redis);
                }
            }

            return;
        }
        $serialize = $this->functions->there;
        foreach ($values as $key => $value) {
            if (!$redis->set($key, $serialize($value))) {
                throw self::failed($redis);
            }
        }
    }

    public function read(array $keys): mixed
    {
        $redis = $this->redis ?? throw EngineFailure::notConnected();
        $value = null;
        if ($this->functions === null) {
            foreach ($keys as $key) {
                $value = $redis->get($key);
            }

            return $value;
        }
        $unserialize = $this->functions->back;
        foreach ($keys as $key) {
            $data = $redis->get($key);
            $value = \is_string($data) ? $unserialize($data) : false;
        }

        return $value;
    }

    private static function failed(\Redis $redis): EngineFailure
    {
        return EngineFailure::refused('Redis', 'store it', (string) $redis->getLastError());
    }
}
