<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/** Another driver, whose operations take some percent longer: what the lab has to find. */
final class SlowedDriver extends Driver
{
    private readonly Driver $driver;
    private readonly float $factor;

    /** @param array<string, string|int> $parameters "slowed" driver, "percent", and what that driver takes */
    public function __construct(array $parameters)
    {
        $class = (string) $parameters['slowed'];
        \assert(\is_subclass_of($class, Driver::class));
        $this->driver = new $class($parameters);
        $this->factor = 1 + (int) $parameters['percent'] / 100;
    }

    public function connect(): void
    {
        $this->driver->connect();
    }

    public function disconnect(): void
    {
        $this->driver->disconnect();
    }

    public function begin(): void
    {
        $this->driver->begin();
    }

    public function write(array $values): void
    {
        $start = \hrtime(true);
        $this->driver->write($values);
        $this->wait($start);
    }

    public function read(array $keys): mixed
    {
        $start = \hrtime(true);
        $value = $this->driver->read($keys);
        $this->wait($start);

        return $value;
    }

    private function wait(int $start): void
    {
        $end = $start + (\hrtime(true) - $start) * $this->factor;
        while (\hrtime(true) < $end);
    }
}
