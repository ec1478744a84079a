<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

use Larder\Lab\Payload\Recording;
use Larder\Lab\Subject\Sized;

/** The sizes of all recorded objects, a sample each: the population of a real site's object cache. */
final class Population implements Measurable
{
    /** Its payload's name. */
    public const NAME = 'population';

    private const KEYS = ['object'];

    /** @var list<float> */
    private array $sizes = [];
    private int $next = 0;

    public function __construct(private readonly Sized $driver) {}

    public static function effort(): Effort
    {
        $all = \max(1, \count(Recording::objects()));

        return new Effort($all, 0.0, 0.0, 0, $all);
    }

    public function prepare(): ?string
    {
        $this->driver->connect();
        foreach (Recording::objects() as $name => $object) {
            $this->driver->write(self::KEYS, $object);
            // An object comes back as another of the same class, and everything else as it was.
            if (\serialize($this->driver->read(self::KEYS)) !== \serialize($object)) {
                return "$name came back as something else";
            }
            $this->sizes[] = (float) $this->driver->size();
        }

        return null;
    }

    public function sample(): float
    {
        return $this->sizes[$this->next++ % \count($this->sizes)];
    }

    public function average(): float
    {
        return \array_sum($this->sizes) / \count($this->sizes);
    }

    public function rate(): float
    {
        return 0.0;
    }

    public function close(): void
    {
        $this->driver->disconnect();
    }
}
