<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Subject\ArrayLookup;
use Larder\Lab\Subject\Driver;
use Larder\Lab\Subject\LookupDriver;

final class LookupDriverTest extends DriverTestCase
{
    public static function kinds(): array
    {
        return ['an array' => [[]]];
    }

    protected function driver(array $parameters): Driver
    {
        return new LookupDriver($parameters);
    }

    public function testWhatIsMissingIsTheDefault(): void
    {
        $lookup = new ArrayLookup();
        $lookup->set('a', 'something');

        self::assertSame('something', $lookup->get('a', 'default'));
        self::assertSame('default', $lookup->get('b', 'default'));
        self::assertNull($lookup->get('b'));
    }
}
