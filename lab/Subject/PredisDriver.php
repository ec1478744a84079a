<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

use Predis\Client;

/**
 * Redis or Valkey by Predis 3, in plain PHP, as `new Predis\Client()` has it: without TCP_NODELAY, and with its
 * greeting (HELLO, CLIENT SETINFO) at each connection.
 *
 * It knows no serializers; the functions are called where phpredis calls its own, for strings too.
 */
final class PredisDriver extends Driver
{
    /** Seconds: to connect, and for each answer. */
    private const TIMEOUT = 2.0;

    private readonly Parameters $parameters;
    private readonly ?Functions $functions;
    private ?Client $client = null;

    /** @param array<string, string|int> $parameters serializer; connection with socket, or host and port */
    public function __construct(array $parameters)
    {
        $this->parameters = new Parameters($parameters);
        $this->functions = Functions::ofSerializer($this->parameters->serializer());
    }

    public function connect(): void
    {
        $socket = $this->parameters->socket();
        $place = $socket !== null
            ? ['scheme' => 'unix', 'path' => $socket]
            : ['scheme' => 'tcp', 'host' => $this->parameters->host(), 'port' => $this->parameters->port()];
        $client = new Client($place + ['timeout' => self::TIMEOUT, 'read_write_timeout' => self::TIMEOUT]);
        $client->connect();
        $this->client = $client;
    }

    public function disconnect(): void
    {
        $this->client?->disconnect();
        $this->client = null;
    }

    // A refusal of the server is thrown by Predis itself (Predis\Response\ServerException), so nothing is checked.
    public function write(array $values): void
    {
        $client = $this->client ?? throw EngineFailure::notConnected();
        if ($this->functions === null) {
            foreach ($values as $key => $value) {
                $client->set($key, $value);
            }

            return;
        }
        $serialize = $this->functions->there;
        foreach ($values as $key => $value) {
            $client->set($key, $serialize($value));
        }
    }

    public function read(array $keys): mixed
    {
        $client = $this->client ?? throw EngineFailure::notConnected();
        $value = null;
        if ($this->functions === null) {
            foreach ($keys as $key) {
                $value = $client->get($key);
            }

            return $value;
        }
        $unserialize = $this->functions->back;
        foreach ($keys as $key) {
            $data = $client->get($key);
            $value = $data === null ? null : $unserialize($data);
        }

        return $value;
    }
}
