<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Payload\Payloads;
use Larder\Lab\Payload\Recording;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Subject\EngineFailure;
use Larder\Lab\Subject\SerializerDriver;
use Larder\Lab\Subject\SerializerSubjects;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

final class SerializerDriverTest extends TestCase
{
    /** @return iterable<string, array{Subject}> */
    public static function subjects(): iterable
    {
        foreach (SerializerSubjects::all() as $subject) {
            if ($subject->driver !== SerializerDriver::class) {
                continue;
            }
            yield $subject->name => [$subject];
        }
    }

    /** Those whose extensions are here; of the others that connect() says what to do. */
    #[DataProvider('subjects')]
    public function testEveryValueComesBackOrItIsSaidWhatIsMissing(Subject $subject): void
    {
        $driver = new SerializerDriver($subject->parameters);
        if ($subject->missing() !== []) {
            $this->expectException(EngineFailure::class);
            $this->expectExceptionMessage($subject->missing()[0]->advice);
            $driver->connect();
        }
        $driver->connect();
        foreach (self::values() as $name => $value) {
            $driver->begin();
            $driver->write(\array_fill_keys(['a', 'b', 'c'], $value));
            $got = $driver->read(['a', 'b']);

            // Equal alone would let "1" pass for 1; objects are never identical.
            self::assertEquals($value, $got, $name);
            self::assertSame(\serialize($value), \serialize($got), $name);
            $got = \is_object($value) ? $driver->read(['c']) : null;
            self::assertTrue($got === null || $got !== $value);
        }
    }

    /** Each must be the combination that it is named after. */
    #[RequiresPhpExtension('igbinary')]
    #[RequiresPhpExtension('msgpack')]
    public function testNoTwoCombinationsMakeTheSameSize(): void
    {
        $sizes = [];
        foreach (SerializerSubjects::all() as $subject) {
            if ($subject->driver !== SerializerDriver::class) {
                continue;
            }
            if ($subject->missing() === []) {
                $driver = new SerializerDriver($subject->parameters);
                $driver->write(['a' => Recording::get('feed')]);
                $sizes[$subject->name] = $driver->size();
            }
        }

        self::assertGreaterThanOrEqual(6, \count($sizes));
        self::assertSame($sizes, \array_unique($sizes));
        foreach ($sizes as $name => $size) {
            [$serializer, $compressor] = \explode(':', $name);
            self::assertTrue($compressor === 'none' || $size * 1.5 < $sizes["$serializer:none"], $name);
        }
    }

    /** What the value is afterwards is no matter of what was written. */
    public function testTheBytesAreMadeWhenItWrites(): void
    {
        $driver = new SerializerDriver(['serializer' => 'php']);
        $value = new \stdClass();
        $value->changes = 'before';
        $driver->write(['a' => $value]);
        $value->changes = 'after';

        self::assertEquals((object) ['changes' => 'before'], $driver->read(['a']));
    }

    /** @return array<string, mixed> */
    private static function values(): array
    {
        $values = [
            'objects in an array' => ['one' => (object) ['id' => '1', 'parent' => null, 'sub' => (object) []], 'list' => [1, 1.5, true, false, null, '']],
            'keys like numbers' => (object) ['12' => 'twelve', '-3' => 'minus three', 'a' => ['007' => 7, 7 => 'seven']],
        ];
        foreach (Payloads::names() as $name) {
            $values[$name] = Payloads::get($name);
        }
        foreach (Recording::names() as $name) {
            $values[$name] = Recording::get($name);
        }

        return $values;
    }
}
