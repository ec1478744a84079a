<?php

declare(strict_types=1);

namespace Larder\Lab\Plan;

/** What is measured: an engine, the way to it and the form its values take; and what it takes to measure it. */
final readonly class Subject
{
    /**
     * @param string                    $name       parts joined by colons, the engine first; what --subjects takes, whole or its first parts
     * @param list<Need>                $needs
     * @param class-string              $driver     what the measuring process makes of it: a Subject\Driver
     * @param array<string, string|int> $parameters for the driver
     * @param ?string                   $service    the name of the server it needs (Service\Services::get()), whose address the driver is given as well
     * @param array<string, string|int> $ini        settings that the measuring process is started with (php -d)
     */
    public function __construct(
        public string $name,
        public string $engine,
        public string $connection,
        public string $serializer,
        public string $compressor,
        public array $needs,
        public string $driver,
        public array $parameters = [],
        public ?string $service = null,
        public array $ini = [],
    ) {}

    /** @return list<Need> what is not there */
    public function missing(): array
    {
        return \array_values(\array_filter($this->needs, static fn(Need $need): bool => !$need->met));
    }

    /** @param mixed ...$changed of the constructor's parameters, by name */
    public function with(mixed ...$changed): self
    {
        return (new \ReflectionClass($this))->newInstanceArgs($changed + \get_object_vars($this));
    }

    public function isLarder(): bool
    {
        return \str_starts_with($this->engine, 'larder-');
    }

    /** Whether a word of --subjects means this one. */
    public function answersTo(string $word): bool
    {
        return $this->name === $word || \str_starts_with($this->name, $word . ':');
    }
}
