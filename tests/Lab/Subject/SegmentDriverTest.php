<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Payload\Payloads;
use Larder\Lab\Subject\SegmentDriver;
use Larder\Lab\Subject\SegmentFormDriver;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

#[RequiresPhpExtension('larder')]
final class SegmentDriverTest extends TestCase
{
    private ?TemporaryDirectory $directory = null;

    protected function tearDown(): void
    {
        $this->directory?->remove();
    }

    /** Seen to fail: with nothing in SharedFile::clear(). */
    public function testTheNextProcessFindsNothingOfTheLast(): void
    {
        $parameters = $this->parameters();
        $driver = new SegmentDriver($parameters);
        $driver->connect();
        $driver->write(['lab:a' => 'something']);
        $driver->disconnect();
        SegmentDriver::clear($parameters);

        self::assertSame([], \glob("$parameters[shared]/*"));
        $driver->connect();
        self::assertNull($driver->read(['lab:a']));
        self::assertSame(0, $driver->stats()['entries']);
    }

    /** Seen to fail: a size() that measures the segment, without what was there before; or only of what it has written itself. */
    public function testTheSizeOfAValueIsWhatItTakes(): void
    {
        [$driver, $other] = [new SegmentFormDriver($this->parameters()), new SegmentFormDriver($this->parameters())];
        $driver->connect();
        $other->connect();
        self::assertSame(0, $driver->size());
        $sizes = [];
        foreach (['short', '20kB', '50x50'] as $name) {
            $driver->write(\array_fill_keys(['a', 'b', 'c'], Payloads::get($name)));
            $sizes[$name] = $driver->size();
            self::assertSame($sizes[$name], $driver->size(), 'asking does not change it');
            self::assertSame($sizes[$name], $other->size(), 'the one that is asked need not have written it');
            self::assertSame(Payloads::get($name), $driver->read(['a', 'b']));
        }

        // The value itself is in it, and what is around it is less than half as much again; of short ones, a hundred bytes.
        self::assertGreaterThan(14, $sizes['short']);
        self::assertLessThan(200, $sizes['short']);
        self::assertGreaterThan(20_000, $sizes['20kB']);
        self::assertLessThan(30_000, $sizes['20kB']);
        // 2,500 strings of 32 bytes and as many places of 16 in arrays.
        self::assertGreaterThan(2_500 * 48, $sizes['50x50']);
        self::assertLessThan(2_500 * 72, $sizes['50x50']);
    }

    /** @return array<string, string|int> */
    private function parameters(): array
    {
        $this->directory ??= new TemporaryDirectory('larder-l', \is_dir('/dev/shm') ? '/dev/shm' : null);

        return ['shared' => $this->directory->path . '/subject'];
    }
}
