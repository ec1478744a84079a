<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

use Larder\Lab\Payload\Recording;
use Larder\Lab\Subject\Driver;

/** The sizes of all recorded objects, a sample each: the population of a real site's object cache. */
final class Population
{
    /** Its payload's name. */
    public const NAME = 'population';

    private const KEYS = ['object'];

    /**
     * @return list<float>
     *
     * @throws WrongValue
     */
    public static function sizes(Driver $driver): array
    {
        $driver->connect();
        $sizes = [];
        foreach (Recording::objects() as $name => $object) {
            $driver->write([self::KEYS[0] => $object]);
            // An object comes back as another of the same class, and everything else as it was.
            if (\serialize($driver->read(self::KEYS)) !== \serialize($object)) {
                throw new WrongValue("$name came back as something else");
            }
            $sizes[] = (float) ($driver->size() ?? throw new \LogicException($driver::class . ' does not know what a value takes.'));
        }
        $driver->disconnect();

        return $sizes;
    }
}
