<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Payload\Payloads;
use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Subject\EngineFailure;
use Larder\Lab\Subject\EngineSubjects;
use Larder\Lab\Subject\LarderDriver;
use PHPUnit\Framework\Attributes\DataProvider;

final class LarderDriverTest extends EngineTestCase
{
    /** @return iterable<string, array{Subject, string}> */
    public static function subjects(): iterable
    {
        foreach (EngineSubjects::all() as $subject) {
            // The segment is this process's own, or not there.
            if ($subject->driver === LarderDriver::class && $subject->connection !== Cell::NETWORK && !isset($subject->parameters['shared'])) {
                foreach (Payloads::PUBLISHED as $payload) {
                    yield "$subject->name, $payload" => [$subject, $payload];
                }
            }
        }
    }

    /** Of the request tier from the second read on; of the others the first of each request. */
    #[DataProvider('subjects')]
    public function testEachReadIsAnsweredByTheTierOfThatName(Subject $subject, string $payload): void
    {
        $value = Payloads::get($payload);
        $driver = $this->driver($subject);
        self::assertInstanceOf(LarderDriver::class, $driver);
        $driver->connect();
        $keys = ['lab:0', 'lab:1', 'lab:2', 'lab:3'];
        $driver->write(\array_fill_keys($keys, $value));
        // What a set did not leave in the near tier, the first get puts there.
        $driver->begin();
        $driver->read($keys);

        for ($i = 1; $i <= 3; ++$i) {
            $before = self::hits($driver);
            $driver->begin();
            self::assertSame($value, $driver->read($keys));
            $expected = $before;
            $expected[(string) $subject->parameters['tier']] += 4;
            self::assertSame($expected, self::hits($driver));
        }
    }

    /** In its place lies something else, or the extension is not there. Seen to fail: without the look at the near tier. */
    public function testWithoutItsSegmentItIsRefused(): void
    {
        $this->directory->write('segment', 'something else');
        $driver = new LarderDriver(['scheme' => 'sqlite', 'directory' => $this->directory->file('disk'), 'shared' => $this->directory->path, 'tier' => 'near']);
        $driver->connect();
        $driver->write(['lab:a' => 'something']);
        self::assertSame('something', $driver->read(['lab:a']), 'Larder goes on without it');

        $this->expectException(EngineFailure::class);
        $this->expectExceptionMessage('Larder does not use segment as its near tier');
        $driver->inspect();
    }

    /** @return array<string, int> by tier */
    private static function hits(LarderDriver $driver): array
    {
        return \array_map(\intval(...), \array_filter(\array_map(
            static fn(array $stats): mixed => $stats['hits'] ?? null,
            $driver->cache()->stats(),
        ), \is_int(...)));
    }
}
