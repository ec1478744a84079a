<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Payload\Payloads;
use Larder\Lab\Subject\Driver;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** What every driver must do, against the real engine. */
abstract class DriverTestCase extends TestCase
{
    /** @return array<string, array{array<string, string|int>}> the parameters that it is tested with, by a name */
    abstract public static function kinds(): array;

    /**
     * Of one engine: two drivers with the same parameters work on the same data.
     *
     * @param array<string, string|int> $parameters
     */
    abstract protected function driver(array $parameters): Driver;

    /** @return iterable<string, array{array<string, string|int>, string}> */
    final public static function kindsAndPayloads(): iterable
    {
        foreach (static::kinds() as $name => [$parameters]) {
            foreach (Payloads::names() as $payload) {
                yield "$name, $payload" => [$parameters, $payload];
            }
        }
    }

    /** @param array<string, string|int> $parameters */
    #[DataProvider('kindsAndPayloads')]
    public function testWhatIsWrittenIsReadAndNothingElse(array $parameters, string $payload): void
    {
        $value = Payloads::get($payload);
        $driver = $this->driver($parameters);
        $driver->connect();

        $driver->begin();
        $driver->write(\array_fill_keys(['lab:a:0', 'lab:a:1', 'lab:a:2'], $value));
        foreach (['lab:a:2', 'lab:a:0', 'lab:a:1'] as $key) {
            $driver->begin();
            self::assertSame($value, $driver->read([$key]));
            // The second time in the same request.
            self::assertSame($value, $driver->read([$key]));
        }
    }

    /** @param array<string, string|int> $parameters */
    #[DataProvider('kinds')]
    public function testReadGivesTheLastKeysValue(array $parameters): void
    {
        $driver = $this->driver($parameters);
        $driver->connect();
        $driver->write(['lab:a' => 'first']);
        $driver->write(['lab:b' => 'second']);
        $driver->begin();

        self::assertSame('second', $driver->read(['lab:a', 'lab:b']));
        self::assertSame('first', $driver->read(['lab:b', 'lab:a']));
    }

    /** @param array<string, string|int> $parameters */
    #[DataProvider('kinds')]
    public function testWhatIsWrittenAgainIsSeen(array $parameters): void
    {
        $table = Payloads::get('50x50');
        $driver = $this->driver($parameters);
        $driver->connect();
        foreach (['first', $table, 'third', $table] as $value) {
            $driver->begin();
            $driver->write(['lab:a' => $value]);
            $driver->begin();
            self::assertSame($value, $driver->read(['lab:a']));
        }
    }

    /** @param array<string, string|int> $parameters */
    #[DataProvider('kinds')]
    public function testWhatWasNeverWrittenIsNullOrFalse(array $parameters): void
    {
        $driver = $this->driver($parameters);
        $driver->connect();
        $driver->write(['lab:a' => 'something']);
        $driver->begin();

        self::assertContains($driver->read(['lab:a', 'lab:nothing']), [null, false]);
        self::assertSame('something', $driver->read(['lab:nothing', 'lab:a']));
    }

    /** @param array<string, string|int> $parameters */
    #[DataProvider('kinds')]
    public function testItConnectsAgainAfterItHasGone(array $parameters): void
    {
        $driver = $this->driver($parameters);
        for ($i = 0; $i < 3; ++$i) {
            $driver->connect();
            $driver->write(['lab:a' => "value $i"]);
            $driver->begin();
            self::assertSame("value $i", $driver->read(['lab:a']));
            $driver->disconnect();
        }
    }
}
