<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Payload\Payloads;
use Larder\Lab\Payload\Recording;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Scenario\Serializers;
use Larder\Lab\Subject\EngineFailure;
use Larder\Lab\Subject\SerializerDriver;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

final class SerializerDriverTest extends TestCase
{
    /** @return iterable<string, array{Subject}> */
    public static function subjects(): iterable
    {
        foreach ((new Serializers())->subjects() as $subject) {
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
        foreach ((new Serializers())->subjects() as $subject) {
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

    /** In a PHP without a php.ini, which loads nothing that is not built into it. */
    public function testAMissingExtensionIsToldWithAdvice(): void
    {
        $script = 'require ' . \var_export(\dirname(__DIR__, 3) . '/vendor/autoload.php', true) . ';'
            . 'foreach ((new ' . Serializers::class . '())->subjects() as $s) { foreach ($s->missing() as $n) { echo "$s->name|$n->what|$n->advice\n"; } }';
        \exec(\escapeshellarg(\PHP_BINARY) . ' -n -r ' . \escapeshellarg($script), $lines, $status);
        self::assertSame(0, $status);

        $missing = [];
        foreach ($lines as $line) {
            [$subject, $what, $advice] = \explode('|', $line);
            $missing[$subject][$what] = $advice;
        }
        $php = \PHP_MAJOR_VERSION . '.' . \PHP_MINOR_VERSION;
        self::assertArrayNotHasKey('php:none', $missing);
        self::assertSame(['the PHP extension igbinary' => "apt-get install php$php-igbinary"], $missing['igbinary:none']);
        self::assertSame(['the PHP extension msgpack', 'the PHP extension zstd'], \array_keys($missing['msgpack:zstd']));
        self::assertStringContainsString('pecl install zstd', $missing['php:zstd']['the PHP extension zstd']);
        self::assertStringContainsString('php8.4-zstd', $missing['php:zstd']['the PHP extension zstd']);
        self::assertStringContainsString('pie install kjdev/lz4', $missing['php:lz4']['the PHP extension lz4 or horde_lz4']);
    }

    /** @return array<string, mixed> */
    private static function values(): array
    {
        $values = [
            'objects in an array' => ['one' => (object) ['id' => '1', 'parent' => null, 'sub' => (object) []], 'list' => [1, 1.5, true, false, null, '']],
            'keys like numbers' => (object) ['12' => 'twelve', '-3' => 'minus three', 'a' => ['007' => 7, 7 => 'seven']],
        ];
        foreach (Payloads::PUBLISHED as $name) {
            $values[$name] = Payloads::get($name);
        }
        foreach (Recording::NAMES as $name) {
            $values[$name] = Recording::get($name);
        }

        return $values;
    }
}
