<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

/**
 * A payload in as many forms as there are keys and samples: each of the same length, and marked with a number.
 *
 * So an engine that hands out another key's value, an older one or another process's is found.
 */
final readonly class Values
{
    private const DIGITS = 7;

    private string $frozen;

    public function __construct(private mixed $value)
    {
        $this->frozen = \serialize($value);
    }

    /** @param int $number 0: the payload as it is */
    public function of(int $number): mixed
    {
        $value = $this->value;
        $number === 0 || self::mark($value, $number);

        return $value;
    }

    /** The same in memory that was not used yet. */
    public function fresh(int $number): mixed
    {
        $value = \unserialize($this->frozen);
        self::mark($value, $number);

        return $value;
    }

    /**
     * By type and value; objects by their classes and serialized form, for they come back as others.
     *
     * @throws WrongValue
     */
    public function check(int $number, mixed $got): void
    {
        $written = $this->of($number);
        if ($got !== $written && \serialize($got) !== \serialize($written)) {
            throw new WrongValue(\sprintf('%s was written, but %s came back', self::describe($written), self::describe($got)));
        }
    }

    /** Puts a number in the place of the first integer, or into the first text that is long enough. */
    private static function mark(mixed &$value, int $number): bool
    {
        if (\is_int($value)) {
            $value += $number;

            return true;
        }
        if (\is_string($value) && \strlen($value) >= self::DIGITS) {
            $value = \substr($value, 0, -self::DIGITS) . \sprintf('%0' . self::DIGITS . 'd', $number % 10 ** self::DIGITS);

            return true;
        }
        if (\is_array($value)) {
            foreach ($value as $key => $member) {
                if (self::mark($member, $number)) {
                    $value[$key] = $member;

                    return true;
                }
            }
        }
        if (\is_object($value)) {
            foreach (\get_object_vars($value) as $name => $member) {
                if (self::mark($member, $number)) {
                    $value = clone $value;
                    $value->$name = $member;

                    return true;
                }
            }
        }

        return false;
    }

    private static function describe(mixed $value): string
    {
        return match (true) {
            \is_string($value) => \sprintf('a string of %d bytes (crc %s)', \strlen($value), \hash('crc32b', $value)),
            \is_array($value) => \sprintf('an array of %d (crc %s)', \count($value), \hash('crc32b', \serialize($value))),
            default => \get_debug_type($value),
        };
    }
}
