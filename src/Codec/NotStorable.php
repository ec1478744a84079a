<?php

declare(strict_types=1);

namespace Larder\Codec;

/** A value that cannot be stored without changing it: closures, resources, objects that refuse to be serialized. */
final class NotStorable extends \InvalidArgumentException
{
    /** Characters of the path and of what is said, at most: a value may be nested thousands of levels deep. */
    private const LONGEST = 200;

    /** The class that the option "classes" does not allow, if that is why. */
    public ?string $class = null;

    /** @param string $path where in the value, as it would be written in PHP: "['user']['file']"; '' for the value itself */
    public static function at(string $path, string $what, ?\Throwable $cause = null): self
    {
        return new self(
            'This value cannot be stored: ' . ($path === '' ? 'it' : self::short($path)) . ' ' . self::short($what)
            . '. Store what it was made from instead, or take it out first.',
            0,
            $cause,
        );
    }

    public static function disallowed(string $class): self
    {
        $refusal = self::at('', "holds an object of the class $class, which the option \"classes\" does not allow");
        $refusal->class = $class;

        return $refusal;
    }

    /** The same of one of several values. */
    public function under(string $key): self
    {
        $refusal = new self('The value of "' . \addcslashes(self::short($key), "\0..\37\177..\377\"\\") . '"' . \substr($this->getMessage(), \strlen('This value')), 0, $this);
        $refusal->class = $this->class;

        return $refusal;
    }

    private static function short(string $text): string
    {
        return \strlen($text) <= self::LONGEST ? $text : \substr($text, 0, self::LONGEST >> 1) . '…' . \substr($text, -(self::LONGEST >> 1));
    }
}
