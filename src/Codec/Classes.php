<?php

declare(strict_types=1);

namespace Larder\Codec;

/**
 * Judges the classes in what PHP's serialize() has written: whether they are allowed (the option `classes`), and whether they
 * are still declared as they were when the value was stored (the option `fingerprint`).
 *
 * Only of these bytes can one tell which classes are in them before any object is made. igbinary and msgpack can neither tell
 * nor be told which ones are allowed.
 */
final class Classes
{
    /** Bytes of a fingerprint. */
    public const LENGTH = 8;

    /** @var ?list<string> null: all */
    private readonly ?array $allowed;

    /** @var array<string, string> what is declared in a class, by its name */
    private array $declared = [];

    /**
     * @param bool|list<string> $allowed      true: all; false: none
     * @param bool              $fingerprints whether a value is missed if one of its classes is declared otherwise than when it was stored
     */
    public function __construct(bool|array $allowed, private readonly bool $fingerprints)
    {
        $this->allowed = $allowed === true ? null : \array_map(\strtolower(...), $allowed === false ? [] : $allowed);
    }

    /** Whether some classes are not allowed: then nothing is decoded that may hold them unseen. */
    public function restricts(): bool
    {
        return $this->allowed !== null;
    }

    /**
     * The fingerprint to be stored with these bytes; '': they need none.
     *
     * @throws NotStorable
     */
    public function seal(string $bytes): string
    {
        try {
            $names = self::in($bytes);
            $wrong = $this->disallowed($names);
            if ($wrong === null) {
                return $this->fingerprints && self::needOne($names) ? $this->fingerprint($names) : '';
            }
        } catch (Undecodable $e) {
            // Of what a class has serialized itself.
            throw NotStorable::at('', 'could not be read again (' . $e->getMessage() . ')', $e);
        }
        throw NotStorable::disallowed($wrong);
    }

    /**
     * Unserializes what PHP's serialize() has written.
     *
     * @param ?string $print stored with it; null: none was
     *
     * @throws \Throwable
     */
    public function unserialize(string $bytes, ?string $print): mixed
    {
        $names = self::in($bytes);
        $wrong = $this->disallowed($names);
        if ($wrong !== null) {
            throw Undecodable::because("the option \"classes\" does not allow the class $wrong.");
        }
        if ($this->fingerprints && self::needOne($names) && $print !== $this->fingerprint($names)) {
            throw Undecodable::outdated($print === null ? 'it was stored without a fingerprint of its classes.' : 'a class in it is declared otherwise than when it was stored.');
        }

        // PHP looks too, should it ever read these bytes otherwise than in() does.
        return \unserialize($bytes, ['allowed_classes' => $this->allowed ?? true]);
    }

    /** @param list<string> $names */
    private function disallowed(array $names): ?string
    {
        if ($this->allowed !== null) {
            foreach ($names as $name) {
                if (!\in_array(\strtolower($name), $this->allowed, true)) {
                    return $name;
                }
            }
        }

        return null;
    }

    /**
     * Nothing is declared in stdClass.
     *
     * @param list<string> $names
     */
    private static function needOne(array $names): bool
    {
        return $names !== [] && $names !== ['stdClass'];
    }

    /** @param list<string> $names */
    private function fingerprint(array $names): string
    {
        $all = '';
        foreach ($names as $name) {
            $all .= "$name\n" . ($this->declared[$name] ??= self::declared($name)) . "\n";
        }

        return \hash('xxh3', $all, true);
    }

    /** The names and types of the properties of a class and its parents. Private ones of a parent belong to the parent. */
    private static function declared(string $name): string
    {
        if (!\class_exists($name)) {
            throw Undecodable::outdated("the class $name is not loaded here.");
        }
        $lines = [];
        for ($class = new \ReflectionClass($name); $class !== false; $class = $class->getParentClass()) {
            foreach ($class->getProperties() as $property) {
                if (!$property->isStatic()) {
                    $lines[] = ($property->isPrivate() ? $property->class : ($property->isProtected() ? '*' : '')) . " $property->name {$property->getType()}";
                }
            }
        }
        $lines = \array_unique($lines);
        // Their order changes nothing of what unserialize() does.
        \sort($lines);

        return \implode("\n", $lines);
    }

    /**
     * The names of all classes and enums in what serialize() has written, each once, in their order. What an object of the old
     * interface Serializable has written itself is not looked at.
     *
     * @return list<string>
     *
     * @throws Undecodable
     */
    public static function in(string $bytes): array
    {
        $names = [];
        // In these bytes a quotation mark stands only around what has its type and length before it: s:3:"abc".
        for ($at = 0; ($quote = \strpos($bytes, '"', $at)) !== false;) {
            $head = \substr($bytes, \max($at, $quote - 24), \min(24, $quote - $at));
            if (\preg_match('/([sSOCE]):(\d{1,18}):$/D', $head, $match) !== 1) {
                throw self::damaged();
            }
            $at = $quote + 1 + (int) $match[2];
            if ($match[1] === 'S') {
                // With escapes, which only older versions of PHP wrote, the length says nothing of the bytes.
                throw self::damaged();
            }
            if (($bytes[$at] ?? '') !== '"') {
                throw self::damaged();
            }
            if ($match[1] !== 's') {
                $name = \substr($bytes, $quote + 1, (int) $match[2]);
                $names[$match[1] === 'E' ? \explode(':', $name, 2)[0] : $name] = true;
            }
            $at++;
            if ($match[1] === 'C') {
                if (\preg_match('/\G:(\d{1,18}):{/', $bytes, $length, 0, $at) !== 1) {
                    throw self::damaged();
                }
                $at += \strlen($length[0]) + (int) $length[1];
                if (($bytes[$at] ?? '') !== '}') {
                    throw self::damaged();
                }
            }
        }

        return \array_map(\strval(...), \array_keys($names));
    }

    private static function damaged(): Undecodable
    {
        return Undecodable::because('its bytes are damaged.');
    }
}
