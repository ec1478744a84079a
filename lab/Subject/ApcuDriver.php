<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/**
 * APCu, the shared memory of one PHP and its children.
 *
 * What becomes of a value depends on the ini setting apc.serializer (apc_persist.c, apc_persist() and
 * apc_persist_calc_zval()):
 *
 * - A string is copied into the memory and out of it, whatever the setting.
 * - An array goes through the serializer that is set, whole, also when there is no object in it; at each fetch it is
 *   unserialized. So with php (the default since 5.1.15) and with igbinary.
 * - With "default" an array without objects is copied as it is, table by table and string by string, three times the
 *   memory here, and so it is at each fetch; only what holds objects is serialized, by php.
 * - A name that APCu does not know is taken for "default", without a word. It knows those that an extension has
 *   registered (`php --ri apcu`, "Serialization Support"). Builds of msgpack without APCu's header, Debian's among
 *   them, do not; there this driver packs by the functions, as an application would have to: strings too, since what
 *   comes back does not say what it was.
 */
final class ApcuDriver extends Driver
{
    private readonly string $serializer;
    private readonly bool $registered;

    /** @param array<string, string|int> $parameters serializer: php, igbinary, msgpack, or none for "default" */
    public function __construct(array $parameters)
    {
        $this->serializer = (new Parameters($parameters))->serializer();
        $this->registered = $this->serializer === 'none' || \in_array($this->serializer, self::serializers(), true);
    }

    /** @return list<string> what apc.serializer can be here, besides "default" */
    public static function serializers(): array
    {
        if (!\extension_loaded('apcu')) {
            return [];
        }
        // There is no function that tells.
        \ob_start();
        (new \ReflectionExtension('apcu'))->info();
        $found = \preg_match('/Serialization Support\W+((?:\w+, )*\w+)/', \strip_tags((string) \ob_get_clean()), $match) === 1;

        return $found ? \explode(', ', $match[1]) : [];
    }

    public function connect(): void
    {
        if (!\extension_loaded('apcu') || !\apcu_enabled()) {
            throw EngineFailure::off('APCu is off here', 'start PHP with -d apc.enable_cli=1');
        }
        if (!$this->registered) {
            if ($this->serializer !== 'msgpack') {
                throw EngineFailure::off("APCu does not know the serializer $this->serializer", "install the extension $this->serializer");
            }

            return;
        }
        $needed = $this->serializer === 'none' ? 'default' : $this->serializer;
        $set = \ini_get('apc.serializer');
        if ($set !== $needed) {
            throw EngineFailure::off("APCu's serializer is $set", "start PHP with -d apc.serializer=$needed");
        }
    }

    public function write(array $values): void
    {
        if ($this->registered) {
            foreach ($values as $key => $value) {
                if (!\apcu_store($key, $value)) {
                    throw self::full();
                }
            }
        } else {
            foreach ($values as $key => $value) {
                if (!\apcu_store($key, \msgpack_pack($value))) {
                    throw self::full();
                }
            }
        }
    }

    public function read(array $keys): mixed
    {
        $value = null;
        if ($this->registered) {
            foreach ($keys as $key) {
                $value = \apcu_fetch($key);
            }
        } else {
            foreach ($keys as $key) {
                $data = \apcu_fetch($key);
                $value = \is_string($data) ? \msgpack_unpack($data) : false;
            }
        }

        return $value;
    }

    public function increment(string $key, int $times): mixed
    {
        $count = false;
        for ($i = 0; $i < $times; ++$i) {
            $count = \apcu_inc($key);
        }

        return $count;
    }

    private static function full(): EngineFailure
    {
        return EngineFailure::refused('APCu', 'store it', \sprintf('is its memory of %s full (apc.shm_size)?', \ini_get('apc.shm_size')));
    }
}
