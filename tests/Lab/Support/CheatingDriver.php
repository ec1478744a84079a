<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Support;

use Larder\Lab\Subject\Driver;

/** An engine that does less than it should, in the way that its parameter "cheat" says. */
final class CheatingDriver extends Driver
{
    public const KEEPS_THREE = 'keeps three keys of 10,000';
    public const FALSE_IN_TIME = 'answers false whenever many keys are asked for';
    public const STRINGS = 'makes strings of all scalars';
    public const ANOTHER_KEY = 'gives another key\'s value whenever many are asked for';
    public const STOPS_WRITING = 'writes nothing more once two writes have been looked at';
    public const OF_THE_PROCESS_BEFORE = 'has what the process before has left, and keeps it';

    private readonly string $cheat;
    private readonly string $directory;
    /** @var array<string, mixed> */
    private array $values = [];
    /** @var array<mixed> of the process before */
    private array $old = [];
    private ?string $file = null;
    private bool $written = false;
    private int $looks = 0;

    public function __construct(array $parameters)
    {
        $this->cheat = (string) $parameters['cheat'];
        $this->directory = (string) $parameters['directory'];
    }

    public function disconnect(): void
    {
        if ($this->cheat === self::OF_THE_PROCESS_BEFORE && $this->file !== null) {
            \file_put_contents($this->file, \serialize($this->values));
        }
    }

    public function write(array $values): void
    {
        if ($this->file === null && $this->cheat === self::OF_THE_PROCESS_BEFORE) {
            $this->file = $this->directory . '/' . \md5(\array_key_first($values) ?? '');
            $old = \is_file($this->file) ? \unserialize((string) \file_get_contents($this->file)) : [];
            $this->old = $this->values = \is_array($old) ? $old : [];
        }
        $this->written = true;
        foreach ($values as $key => $value) {
            $keeps = match ($this->cheat) {
                self::KEEPS_THREE => \preg_match('/:(0|4999|9999)$/', $key) === 1,
                self::STOPS_WRITING => $this->looks < 2,
                self::OF_THE_PROCESS_BEFORE => !\array_key_exists($key, $this->old),
                default => true,
            };
            if ($keeps) {
                $this->values[$key] = $this->cheat === self::STRINGS ? self::strings($value) : $value;
            }
        }
    }

    public function read(array $keys): mixed
    {
        $this->looks += $this->written ? 1 : 0;
        $this->written = false;
        $value = $this->values[$keys[\count($keys) - 1]] ?? null;
        if (\count($keys) === 1) {
            return $value;
        }

        return match ($this->cheat) {
            self::FALSE_IN_TIME => false,
            self::ANOTHER_KEY => $this->values[$keys[0]] ?? null,
            default => $value,
        };
    }

    private static function strings(mixed $value): mixed
    {
        return \is_array($value) ? \array_map(self::strings(...), $value) : (\is_scalar($value) ? (string) $value : $value);
    }
}
