<?php

declare(strict_types=1);

namespace Larder\Tests\Reentrancy;

/** A value that does something when it is stored and when it is read. */
final class Waking
{
    /** @var ?\Closure(): void */
    public static ?\Closure $does = null;

    public function __construct(public string $text) {}

    /** @return array{string} */
    public function __serialize(): array
    {
        self::$does === null || (self::$does)();

        return [$this->text];
    }

    /** @param array{string} $data */
    public function __unserialize(array $data): void
    {
        self::$does === null || (self::$does)();
        $this->text = $data[0];
    }
}
