<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Payload;

use Larder\Lab\Payload\Payloads;
use PHPUnit\Framework\TestCase;

final class PayloadsTest extends TestCase
{
    /** Bytes serialized, and their hash: written down, so that figures of two versions of the lab are of the same values. */
    private const WRITTEN = [
        'short' => [22, '7fe5209c'],
        '20kB' => [20_011, '87a172aa'],
        'integers' => [14_899, '4d5a361d'],
        '50x50' => [55_697, '90894a23'],
        'objects' => [7_715, '2876f897'],
    ];

    public function testTheyAreTheSameEverywhere(): void
    {
        self::assertSame([], \array_diff(Payloads::PUBLISHED, Payloads::MEMORY));
        foreach (Payloads::MEMORY as $name) {
            $bytes = \serialize(Payloads::get($name));
            self::assertSame(self::WRITTEN[$name], [\strlen($bytes), \hash('crc32b', $bytes)], $name);
        }
    }

    public function testTheTableHasFiftyRowsOfFiftyDifferentStrings(): void
    {
        $table = Payloads::get('50x50');

        self::assertSame(\array_fill(0, 50, 50), \array_map(\count(...), $table));
        self::assertCount(2_500, \array_unique(\array_merge(...$table)));
    }
}
