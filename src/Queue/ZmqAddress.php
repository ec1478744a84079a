<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Config\InvalidConfiguration;

/**
 * Where a broker listens: zmq+ipc:///run/q.sock or zmq+tcp://host:port.
 */
final readonly class ZmqAddress
{
    /** Bytes of a socket's path (unix(7), sun_path, with its NUL). */
    private const PATH = 107;

    /** @param array<array-key, string> $query */
    private function __construct(public string $scheme, public string $path, public string $host, public int $port, public array $query) {}

    /** @throws InvalidConfiguration also where the extension is missing */
    public static function parse(string $dsn): self
    {
        if (\preg_match('~^zmq\+(?:ipc://(/[^?\x00-\x1f]+)|tcp://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5}))(?:\?(.*))?$~D', $dsn, $match) !== 1) {
            throw new InvalidConfiguration('This is not the address of a ZeroMQ broker. Write zmq+ipc:///run/q.sock or zmq+tcp://127.0.0.1:5555.');
        }
        if (!\extension_loaded('zmq')) {
            throw InvalidConfiguration::missingExtension('zmq', \strstr($dsn, '://', true) . '://');
        }
        $query = [];
        foreach (\array_filter(\explode('&', $match[4] ?? ''), static fn(string $pair): bool => $pair !== '') as $pair) {
            [$name, $value] = \explode('=', $pair, 2) + ['', ''];
            $query[\rawurldecode($name)] = \rawurldecode($value);
        }
        $path = \rawurldecode($match[1] ?? '');
        if (\strlen($path) > self::PATH || \str_contains($path, "\0")) {
            throw new InvalidConfiguration('A socket\'s path has at most ' . self::PATH . ' bytes. Write a shorter one, as in zmq+ipc:///run/q.sock.');
        }

        return new self($path === '' ? 'zmq+tcp' : 'zmq+ipc', $path, $match[2] ?? '', (int) ($match[3] ?? 0), $query);
    }

    public function endpoint(): string
    {
        return $this->path === '' ? 'tcp://' . ($this->host === 'localhost' ? '127.0.0.1' : $this->host) . ":$this->port" : "ipc://$this->path";
    }

    /** Whether only this machine reaches it. */
    public function isLocal(): bool
    {
        return $this->path !== '' || $this->host === 'localhost' || $this->host === '[::1]' || \preg_match('/^127(\.[0-9]{1,3}){3}$/D', $this->host) === 1;
    }

    public function toString(): string
    {
        return $this->path === '' ? "zmq+tcp://$this->host:$this->port" : "zmq+ipc://$this->path";
    }
}
