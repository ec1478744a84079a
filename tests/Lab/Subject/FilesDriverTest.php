<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Subject\EngineFailure;
use Larder\Lab\Subject\FilesDriver;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

#[RequiresPhpExtension('igbinary')]
#[RequiresPhpExtension('msgpack')]
final class FilesDriverTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory('larder-l');
    }

    /** @return iterable<string, array{array<string, string|int>}> */
    public static function kinds(): iterable
    {
        foreach (['php', 'igbinary', 'msgpack'] as $serializer) {
            yield $serializer => [['serializer' => $serializer]];
        }
        yield 'raw' => [['raw' => 1]];
    }

    /**
     * A reader that has the old file open goes on with the old value: the new one is another file.
     *
     * @param array<string, string|int> $parameters
     */
    #[DataProvider('kinds')]
    public function testAValueIsReplacedWhole(array $parameters): void
    {
        $driver = $this->driver($parameters);
        $driver->connect();
        $driver->write(['lab:a' => 'the old value']);
        $written = \file_get_contents($this->directory->file('lab:a'));
        $before = \fopen($this->directory->file('lab:a'), 'r');
        self::assertIsResource($before);
        $driver->write(['lab:a' => 'new']);

        self::assertSame($written, \stream_get_contents($before));
        self::assertSame('new', $driver->read(['lab:a']));
    }

    /** @param array<string, string|int> $parameters */
    #[DataProvider('kinds')]
    public function testADirectoryThatHasGoneThrows(array $parameters): void
    {
        $driver = $this->driver($parameters);
        $driver->connect();
        $driver->write(['lab:a' => 'something']);
        $this->directory->remove();

        foreach ([static fn() => $driver->write(['lab:a' => 'something']), static fn() => $driver->read(['lab:a'])] as $do) {
            try {
                $do();
                self::fail('It did not notice that the directory has gone');
            } catch (EngineFailure $failure) {
                self::assertStringContainsString('No such file or directory', $failure->getMessage());
            }
        }
    }

    /** @param array<string, string|int> $parameters */
    private function driver(array $parameters): FilesDriver
    {
        return new FilesDriver($parameters + ['directory' => $this->directory->path]);
    }
}
