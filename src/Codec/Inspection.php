<?php

declare(strict_types=1);

namespace Larder\Codec;

use Larder\System\Quiet;

/**
 * Inspects a value before it is serialized. serialize() and igbinary silently turn a resource into 0, and two readers must
 * not share a value with objects or references.
 */
final class Inspection
{
    public const PLAIN = 0;
    /** The value holds objects. */
    public const OBJECTS = 1;
    /** thorough() must check the value: it holds resources, or is very deep or large, perhaps circular. */
    public const DOUBTFUL = 2;

    /** Nested arrays: unserialize() stops at a depth of 4,096 (unserialize_max_depth); the rest is a margin. */
    private const DEEPEST = 4000;

    /** Depth and number of arrays at which glance() gives up, since a circular array has no end. */
    private const GLANCE_DEPTH = 200;
    private const GLANCE_ARRAYS = 1_000_000;

    /** Number of values at which thorough() gives up: serialized, they would take more than 512 MB. */
    private const MOST = 100_000_000;

    /**
     * Objects by id, references by ReflectionReference's id, already seen. With what an object has chosen: objects that it has
     * made for that must live on, so that no other gets the id of one.
     *
     * @var array<int|string, true|array<mixed>>
     */
    private array $seen = [];
    /** @var array<class-string, int> where serialize() takes the content of this class's objects from: one of those below */
    private array $classes = [];
    private int $values = 0;
    private string $what = '';

    /** From their properties. */
    private const PROPERTIES = 0;
    /** From PHP's own code, which may as well be asked twice. */
    private const INTERNAL = 1;
    /** From the application's code. */
    private const APPLICATION = 2;
    /** There is nothing but a time in them. */
    private const TIME = 3;

    private function __construct() {}

    /**
     * The fast check, for every array that is stored. Only type checks, which are single opcodes.
     *
     * @param array<mixed> $array
     *
     * @return int PLAIN, or OBJECTS and DOUBTFUL, or-ed
     */
    public static function glance(array $array, int &$arrays, int $depth = 0): int
    {
        if (++$arrays > self::GLANCE_ARRAYS || $depth > self::GLANCE_DEPTH) {
            return self::DOUBTFUL;
        }
        $found = self::PLAIN;
        foreach ($array as $value) {
            if (\is_string($value) || \is_int($value)) {
                continue;
            }
            if (\is_array($value)) {
                if ($value !== []) {
                    $found |= self::glance($value, $arrays, $depth + 1);
                    if ($found >= self::DOUBTFUL) {
                        return $found;
                    }
                }
            } elseif (\is_object($value)) {
                $found |= self::OBJECTS;
            } elseif ($value !== null && !\is_scalar($value)) {
                // Not is_resource(), which is false for a closed resource.
                return $found | self::DOUBTFUL;
            }
        }

        return $found;
    }

    /**
     * The thorough check, for values with objects and for doubtful ones.
     *
     * @return list<class-string> the classes of its objects, except of some inside one that serializes itself
     *
     * @throws NotStorable
     */
    public static function thorough(mixed $value): array
    {
        $inspection = new self();
        $path = $inspection->problem($value, 0);
        if ($path !== null) {
            throw NotStorable::at($path, $inspection->what);
        }

        return \array_keys($inspection->classes);
    }

    /**
     * Whether any element of a plain array, at any depth, is a PHP reference.
     *
     * @param array<mixed> $array
     */
    public static function holdsReference(array $array): bool
    {
        foreach ($array as $key => $value) {
            if (\ReflectionReference::fromArrayElement($array, $key) !== null || (\is_array($value) && self::holdsReference($value))) {
                return true;
            }
        }

        return false;
    }

    /** The exception for one that serialize() threw, with the path to the object that threw it. */
    public static function refusal(mixed $value, \Throwable $cause): NotStorable
    {
        $inspection = new self();
        $path = $inspection->culprit($value) ?? '';

        return NotStorable::at($path, 'does not let itself be serialized (' . $cause->getMessage() . ')', $cause);
    }

    /** The path to a part that cannot be stored, which $what then names; null: there is none. */
    private function problem(mixed $value, int $depth): ?string
    {
        if ($value === null || \is_scalar($value)) {
            return null;
        }
        if (\is_object($value)) {
            $id = \spl_object_id($value);
            if (isset($this->seen[$id])) {
                return null;
            }
            $this->seen[$id] = true;
            if ($value instanceof \Closure || $value instanceof \Generator) {
                $this->what = 'is a ' . $value::class;

                return '';
            }
            if ($value instanceof \__PHP_Incomplete_Class) {
                // It could be stored but not read: decode() refuses a value whose class is missing.
                $class = ((array) $value)['__PHP_Incomplete_Class_Name'] ?? '';
                $this->what = 'is an object whose class' . (\is_string($class) ? " $class" : '') . ' was not loaded when it was unserialized';

                return '';
            }
            $from = $this->classes[$value::class] ??= self::from($value);
            if ($from !== self::PROPERTIES) {
                $chosen = $from === self::TIME ? [] : self::chosen($value, $from);
                $this->seen[$id] = $chosen;
                if ($chosen === [] || $this->problem($chosen, $depth + 1) === null) {
                    return null;
                }
                $this->what = 'serializes itself with something in it that ' . $this->what;

                return '';
            }
            $values = (array) $value;
        } elseif (\is_array($value)) {
            $values = $value;
        } else {
            $this->what = 'is a ' . \get_debug_type($value);

            return '';
        }
        if ($depth > self::DEEPEST) {
            $this->what = 'is nested deeper than ' . self::DEEPEST . ' levels';

            return '';
        }
        foreach ($values as $key => $inner) {
            if (++$this->values > self::MOST) {
                $this->what = 'has more than ' . self::MOST . ' elements';

                return '';
            }
            if ($inner === null || \is_scalar($inner)) {
                continue;
            }
            if (\is_array($inner)) {
                // An array can only hold itself through a reference.
                $reference = \ReflectionReference::fromArrayElement($values, $key)?->getId();
                if ($reference !== null) {
                    if (isset($this->seen[$reference])) {
                        continue;
                    }
                    $this->seen[$reference] = true;
                }
            }
            $path = $this->problem($inner, $depth + 1);
            if ($path !== null) {
                return self::step($value, $key) . $path;
            }
        }

        return null;
    }

    /** The path, through arrays, to the first object that cannot be serialized. */
    private function culprit(mixed $value): ?string
    {
        if (\is_object($value)) {
            try {
                \serialize($value);
            } catch (\Throwable) {
                return '';
            }
        } elseif (\is_array($value)) {
            foreach ($value as $key => $inner) {
                $reference = \ReflectionReference::fromArrayElement($value, $key)?->getId();
                if ($reference !== null) {
                    if (isset($this->seen[$reference])) {
                        continue;
                    }
                    $this->seen[$reference] = true;
                }
                $path = $this->culprit($inner);
                if ($path !== null) {
                    return self::step($value, $key) . $path;
                }
            }
        }

        return null;
    }

    /**
     * One step of a path.
     *
     * @param array<mixed>|object $in
     */
    private static function step(array|object $in, int|string $key): string
    {
        if (\is_array($in)) {
            return \is_int($key) ? "[{$key}]" : "['{$key}']";
        }
        return '->' . self::property((string) $key);
    }

    /** A property's name: casting an object to an array puts "\0class\0" or "\0*\0" before private and protected ones. */
    private static function property(string $key): string
    {
        $end = \strrpos($key, "\0");

        return $end === false ? $key : \substr($key, $end + 1);
    }

    /** PROPERTIES, INTERNAL, APPLICATION or TIME. */
    private static function from(object $object): int
    {
        if ($object instanceof \stdClass) {
            return self::PROPERTIES;
        }
        if (\in_array($object::class, [\DateTimeImmutable::class, \DateTime::class, \DateTimeZone::class, \DateInterval::class], true)) {
            return self::TIME;
        }
        if (\method_exists($object, '__serialize')) {
            return (new \ReflectionMethod($object, '__serialize'))->isInternal() ? self::INTERNAL : self::APPLICATION;
        }
        if (\method_exists($object, '__sleep') || $object instanceof \Serializable) {
            return self::APPLICATION;
        }

        return (new \ReflectionClass($object))->isUserDefined() ? self::PROPERTIES : self::INTERNAL;
    }

    /**
     * What serialize() stores of an object whose class chooses that. The application's code is asked only if a property holds
     * a resource: it may do more than to choose, and serialize() asks it too.
     *
     * @return array<mixed>
     */
    private static function chosen(object $object, int $from): array
    {
        $arrays = 0;
        $properties = (array) $object;
        if ($from === self::APPLICATION && (self::glance($properties, $arrays) & self::DOUBTFUL) === 0) {
            return [];
        }
        Quiet::begin();
        try {
            if (\method_exists($object, '__serialize')) {
                return (array) $object->__serialize();
            }
            if (\method_exists($object, '__sleep')) {
                $names = (array) $object->__sleep();

                return \array_filter($properties, static fn(int|string $key): bool => \in_array(self::property((string) $key), $names, true), \ARRAY_FILTER_USE_KEY);
            }

            return $from === self::INTERNAL ? $properties : [];
        } catch (\Throwable) {
            // serialize() will meet the same.
            return [];
        } finally {
            Quiet::end();
        }
    }
}
