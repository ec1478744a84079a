<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Payload\Payloads;
use Larder\Lab\Subject\ApcuDriver;
use Larder\Lab\Subject\EngineFailure;
use Larder\Tests\Support\Process;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** In processes of their own, since apc.serializer is set when PHP starts. */
#[RequiresPhpExtension('apcu')]
#[RequiresPhpExtension('igbinary')]
#[RequiresPhpExtension('msgpack')]
final class ApcuDriverTest extends TestCase
{
    /** A driver, connected, and what a child says at its end. */
    private const CHILD = '
        use Larder\Lab\Payload\Payloads;
        use Larder\Lab\Subject\ApcuDriver;
        set_error_handler(static fn(int $level, string $message) => throw new RuntimeException($message));
        $driver = new ApcuDriver(["serializer" => $argv[1]]);
        $driver->connect();
        $said = [];
        ';
    private const SAY = '
        echo json_encode($said), "\n";';

    /** The memory that APCu says an entry takes is the serialized string's and a little. */
    #[TestWith(['php'])]
    #[TestWith(['igbinary'])]
    public function testAnArrayIsKeptAsTheSerializerMakesIt(string $serializer): void
    {
        $size = self::memory($serializer, '50x50');
        $serialized = \strlen(Serialized::by($serializer, Payloads::get('50x50')));

        self::assertGreaterThan($serialized, $size);
        self::assertLessThan($serialized + 400, $size);
    }

    #[TestWith(['php'])]
    #[TestWith(['igbinary'])]
    #[TestWith(['none'])]
    public function testAStringGoesThroughNoSerializer(string $serializer): void
    {
        $said = self::child($serializer, '
            $driver->write(["lab:a" => "a:0:{}"]);
            $said = [apcu_fetch("lab:a")];');
        self::assertSame(['a:0:{}'], $said);
        self::assertSame(self::memory('php', '20kB'), self::memory($serializer, '20kB'));
    }

    /** What the docblock says of "default". */
    public function testWithoutSerializerAnArrayIsCopiedAsItIs(): void
    {
        self::assertGreaterThan(2 * self::memory('php', '50x50'), self::memory('none', '50x50'));
    }

    public function testMsgpackIsPackedByItsFunctionsWhereApcuDoesNotKnowIt(): void
    {
        $known = \in_array('msgpack', ApcuDriver::serializers(), true);
        $said = self::child('msgpack', '
            foreach (["20kB", "50x50"] as $payload) {
                $value = Payloads::get($payload);
                $driver->write(["lab:a" => $value]);
                $raw = apcu_fetch("lab:a");
                $said[] = $raw === $value;
                $said[] = $raw === msgpack_pack($value);
            }');

        self::assertSame($known ? [true, false, true, false] : [false, true, false, true], $said);
        if ($known) {
            self::assertLessThan(\strlen(Serialized::by('msgpack', Payloads::get('50x50'))) + 400, self::memory('msgpack', '50x50'));
        }
    }

    public function testFullMemoryThrows(): void
    {
        $said = self::child('php', '
            try {
                $driver->write(["lab:a" => str_repeat("x", 2_000_000)]);
            } catch (Larder\Lab\Subject\EngineFailure $failure) {
                $said = [$failure->getMessage()];
            }', [], ['apc.shm_size' => '1M']);

        self::assertSame(['APCu does not store it: is its memory of 1M full (apc.shm_size)?'], $said);
    }

    public function testAnotherSerializerThanTheOneSetIsRefused(): void
    {
        self::assertSame('php', \ini_get('apc.serializer'), 'These tests are run with APCu\'s default');

        $this->expectException(EngineFailure::class);
        $this->expectExceptionMessage('-d apc.serializer=igbinary');
        (new ApcuDriver(['serializer' => 'igbinary']))->connect();
    }

    private static function memory(string $serializer, string $payload): int
    {
        $said = self::child($serializer, '
            $driver->write(["lab:a" => Payloads::get($argv[2])]);
            $said = [apcu_key_info("lab:a") !== null ? (new APCUIterator("/^lab:a$/", APC_ITER_MEM_SIZE))->current()["mem_size"] : 0];', [$payload]);
        self::assertIsInt($said[0] ?? null);

        return $said[0];
    }

    /**
     * @param list<string>          $arguments
     * @param array<string, string> $ini
     *
     * @return array<mixed>
     */
    private static function child(string $serializer, string $code, array $arguments = [], array $ini = []): array
    {
        return Process::said(self::CHILD . $code . self::SAY, [$serializer, ...$arguments], $ini + ['apc.serializer' => $serializer === 'none' ? 'default' : $serializer, 'apc.shm_size' => '64M']);
    }
}
