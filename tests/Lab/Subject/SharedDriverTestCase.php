<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Payload\Payloads;
use PHPUnit\Framework\Attributes\DataProvider;

/** Of engines that more than one connection reaches. */
abstract class SharedDriverTestCase extends DriverTestCase
{
    /** @param array<string, string|int> $parameters */
    #[DataProvider('kindsAndPayloads')]
    public function testAnotherConnectionReadsWhatThisOneWrote(array $parameters, string $payload): void
    {
        $value = Payloads::get($payload);
        $one = $this->driver($parameters);
        $one->connect();
        $one->write(['lab:a' => $value]);
        $another = $this->driver($parameters);
        $another->connect();
        $another->begin();

        self::assertSame($value, $another->read(['lab:a']));

        $one->begin();
        $one->write(['lab:a' => 'another value']);
        $another->begin();
        self::assertSame('another value', $another->read(['lab:a']));
    }

    /** @param array<string, string|int> $parameters */
    #[DataProvider('kinds')]
    public function testItIsStillThereAfterDisconnecting(array $parameters): void
    {
        $driver = $this->driver($parameters);
        $driver->connect();
        $driver->write(['lab:a' => 'something']);
        $driver->disconnect();
        $driver->connect();
        $driver->begin();

        self::assertSame('something', $driver->read(['lab:a']));
    }
}
