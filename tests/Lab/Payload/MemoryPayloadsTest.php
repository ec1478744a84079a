<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Payload;

use Larder\Lab\Payload\MemoryPayloads;
use PHPUnit\Framework\TestCase;

final class MemoryPayloadsTest extends TestCase
{
    /** Bytes serialized, and their hash. */
    private const WRITTEN = [
        'short' => [22, '7fe5209c'],
        '20kB' => [20_011, '87a172aa'],
        'integers' => [14_899, '4d5a361d'],
        '50x50' => [55_697, '90894a23'],
        'objects' => [7_715, '2876f897'],
    ];

    /** Written down, so that figures of two versions of the lab are of the same values. */
    public function testTheyAreTheSameEverywhere(): void
    {
        $found = [];
        foreach (MemoryPayloads::names() as $name) {
            $bytes = \serialize(MemoryPayloads::get($name));
            $found[$name] = [\strlen($bytes), \hash('crc32b', $bytes)];
        }

        self::assertSame(self::WRITTEN, $found);
    }

    public function testAThousandIntegersOfWhichNoTwoAreTheSame(): void
    {
        $integers = MemoryPayloads::get('integers');

        self::assertIsList($integers);
        self::assertCount(1_000, \array_unique(\array_filter($integers, \is_int(...))));
        self::assertNotSame(\range($integers[0], $integers[0] + 999), $integers);
    }

    /** Parts with objects and parts without: the latter can be shared. */
    public function testObjectsAreAmongWhatHasNone(): void
    {
        $value = MemoryPayloads::get('objects');

        self::assertIsArray($value);
        self::assertIsArray($value['posts']);
        self::assertContainsOnlyInstancesOf(\stdClass::class, $value['posts']);
        self::assertCount(10, $value['posts']);
        self::assertSame(\range(1, 10), $value['ids']);
        self::assertEquals($value, \unserialize(\serialize($value)));
    }

    public function testThereIsNoOther(): void
    {
        $this->expectException(\InvalidArgumentException::class);
        $this->expectExceptionMessage('There is no payload "40kB"; there are short, 20kB, integers, 50x50, objects.');

        MemoryPayloads::get('40kB');
    }
}
