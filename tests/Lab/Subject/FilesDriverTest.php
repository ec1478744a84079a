<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Payload\Payloads;
use Larder\Lab\Subject\Driver;
use Larder\Lab\Subject\EngineFailure;
use Larder\Lab\Subject\FilesDriver;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;

#[RequiresPhpExtension('igbinary')]
#[RequiresPhpExtension('msgpack')]
final class FilesDriverTest extends SharedDriverTestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory('larder-l');
    }

    public static function kinds(): array
    {
        return \array_combine(
            ['php', 'igbinary', 'msgpack'],
            \array_map(static fn(string $serializer): array => [['serializer' => $serializer]], ['php', 'igbinary', 'msgpack']),
        );
    }

    protected function driver(array $parameters): Driver
    {
        return new FilesDriver($parameters + ['directory' => $this->directory->path]);
    }

    /** @param array<string, string|int> $parameters */
    #[DataProvider('kindsAndPayloads')]
    public function testTheFileHoldsWhatTheSerializerMakesAndNoOtherFileIsLeft(array $parameters, string $payload): void
    {
        $value = Payloads::get($payload);
        $driver = $this->driver($parameters);
        $driver->connect();
        $driver->write(['lab:a' => $value]);

        self::assertSame(['lab:a'], \array_values(\array_diff((array) \scandir($this->directory->path), ['.', '..'])));
        self::assertStringEqualsFile($this->directory->file('lab:a'), Serialized::by((string) $parameters['serializer'], $value));
    }

    public function testARawStringIsStoredAsItIs(): void
    {
        $driver = $this->driver(['serializer' => 'php', 'raw' => 1]);
        $driver->connect();
        $driver->write(['lab:a' => 'a:1:{']);

        self::assertStringEqualsFile($this->directory->file('lab:a'), 'a:1:{');
        self::assertSame('a:1:{', $driver->read(['lab:a']));
        self::assertFalse($driver->read(['lab:nothing']));
    }

    /**
     * A reader that has the old file open goes on with the old value: the new one is another file.
     *
     * @param array<string, string|int> $parameters
     */
    #[DataProvider('kinds')]
    #[DataProvider('raw')]
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

    /** @return array<string, array{array<string, string|int>}> */
    public static function raw(): array
    {
        return ['raw' => [['raw' => 1]]];
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
}
