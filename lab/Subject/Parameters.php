<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/** What a driver was made with. */
final readonly class Parameters
{
    /** @param array<string, string|int> $values */
    public function __construct(private array $values) {}

    /** @throws EngineFailure where it is missing and there is no default */
    public function text(string $name, ?string $default = null): string
    {
        return isset($this->values[$name]) ? (string) $this->values[$name] : $default ?? throw EngineFailure::missing($name);
    }

    /** Whether it is there and not 0. */
    public function flag(string $name): bool
    {
        return (int) ($this->values[$name] ?? 0) !== 0;
    }

    /** A directory's path without a slash at its end. */
    public function directory(): string
    {
        return \rtrim($this->text('directory'), '/');
    }

    /** @return 'php'|'igbinary'|'msgpack'|'none' what values go through; none: strings as they are */
    public function serializer(): string
    {
        $serializer = $this->text('serializer', 'php');

        return match ($serializer) {
            'php', 'igbinary', 'msgpack', 'none' => $serializer,
            default => throw EngineFailure::unknown('serializer', $serializer, 'php, igbinary, msgpack or none'),
        };
    }

    /** The path of the server's socket; null where it is to be reached by host and port. A server may have both. */
    public function socket(): ?string
    {
        $connection = $this->text('connection', isset($this->values['socket']) ? 'socket' : 'tcp');

        return match ($connection) {
            'socket' => $this->text('socket'),
            'tcp', 'network' => null,
            default => throw EngineFailure::unknown('connection', $connection, 'socket, tcp or network'),
        };
    }

    public function host(): string
    {
        return $this->text('host');
    }

    public function port(): int
    {
        return (int) $this->text('port');
    }
}
