<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Payload\Payloads;
use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Service\Place;
use Larder\Lab\Service\Services;
use Larder\Lab\Subject\EngineSubjects;
use Larder\Lab\Subject\FilesDriver;
use Larder\Lab\Subject\LarderDriver;
use Larder\Lab\Subject\MemcachedDriver;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\TestWith;

/** An engine holds what its subject's name says: that serializer's bytes, compressed or not, by that connection. */
final class FormsTest extends EngineTestCase
{
    /** @return iterable<string, array{Subject, string}> */
    public static function subjects(): iterable
    {
        foreach (EngineSubjects::all() as $subject) {
            $isFar = \in_array($subject->connection, [Cell::SOCKET, Cell::TCP], true) && !\str_starts_with($subject->engine, 'valkey');
            if ($isFar || \in_array($subject->engine, ['files', 'larder-sqlite', 'larder-files'], true)) {
                foreach ($subject->serializer === 'none' ? ['short', '20kB'] : Payloads::PUBLISHED as $payload) {
                    yield "$subject->name, $payload" => [$subject, $payload];
                }
            }
        }
    }

    #[DataProvider('subjects')]
    public function testTheEngineHoldsWhatTheSerializerMakes(Subject $subject, string $payload): void
    {
        $value = Payloads::get($payload);
        $driver = $this->driver($subject);
        $driver->connect();
        $driver->write(['lab:a' => $value]);
        $bytes = Serialized::by($subject->serializer, $value);

        if ($driver instanceof LarderDriver) {
            // Codec puts a mark before a string, and a checksum too before what was serialized; nothing is compressed.
            $rows = $driver->cache()->inspect('lab:a');
            $size = $rows[\array_key_last($rows)]['size'] ?? null;
            self::assertSame(\is_string($value) ? 1 + \strlen($value) : 5 + \strlen($bytes), $size);
        } elseif ($driver instanceof FilesDriver) {
            self::assertSame(['lab:a'], \array_values(\array_diff((array) \scandir($this->directory->path), ['.', '..'])));
            self::assertStringEqualsFile($this->directory->file('lab:a'), $bytes);
        } elseif ($driver instanceof MemcachedDriver) {
            // A string goes through no serializer.
            $plain = \is_string($value) ? $value : $bytes;
            self::assertSame(1, \preg_match('/^VALUE \S+ (\d+) (\d+)\r$/m', $this->answer($subject, "get lab:a\r\nquit\r\n"), $match));
            // Below 2,000 bytes nothing is; php_memcached.c, MEMC_VAL_COMPRESSED and MEMC_VAL_COMPRESSION_FASTLZ.
            $isCompressed = $subject->compressor === 'fastlz' && \strlen($plain) >= 2_000;
            self::assertSame($isCompressed ? 1 << 4 | 1 << 6 : 0, (int) $match[1] & (1 << 4 | 1 << 6));
            self::assertSame(!$isCompressed, \strlen($plain) === (int) $match[2]);
            self::assertLessThanOrEqual(\strlen($plain) / ($isCompressed ? 1.3 : 1), (int) $match[2]);
        } else {
            self::assertStringContainsString("\r\n$bytes\r\n", $this->answer($subject, "GET lab:a\r\nQUIT\r\n"));
        }
    }

    /** And to nothing before it connects, nor after it disconnects. */
    #[TestWith(['redis:socket:php', 0])]
    #[TestWith(['redis:tcp:php', 1])]
    #[TestWith(['predis:socket:php', 0])]
    #[TestWith(['predis:tcp:php', 1])]
    public function testItTakesTheConnectionThatItIsTold(string $name, int $byTcp): void
    {
        $subject = self::subject($name);
        $driver = $this->driver($subject);
        $clients = fn(): array => [
            \preg_match_all('/ addr=127\.0\.0\.1:/', $said = $this->answer($subject, "CLIENT LIST\r\nQUIT\r\n")),
            // Who asks is one by the socket itself.
            \preg_match_all('/ addr=\/[^ ]*socket:0/', $said),
        ];

        self::assertSame([0, 1], $clients());
        $driver->connect();
        self::assertSame([$byTcp, 2 - $byTcp], $clients());
        $driver->disconnect();
        // One that has hung up is noticed at the server's next turn.
        Wait::until(static fn(): bool => $clients() === [0, 1], 'the end of the connection');
    }

    /** @return iterable<string, array{string, string, string}> */
    public static function refusals(): iterable
    {
        yield 'phpredis throws' => ['redis:socket:php', 'CONFIG SET maxmemory 100kb', 'OOM'];
        yield 'Predis throws' => ['predis:socket:php', 'CONFIG SET maxmemory 100kb', 'OOM'];
        yield 'phpredis returns false where a reply begins with ERR' => ['redis:socket:php', 'CONFIG SET min-replicas-to-write 1', 'NOREPLICAS'];
        yield 'more than its items can be' => ['memcached_nocompression:socket:php', '', 'Memcached does not store it: '];
    }

    #[DataProvider('refusals')]
    public function testARefusalOfTheServerIsThrown(string $name, string $command, string $says): void
    {
        $services = new Services();
        $subject = self::subject($name);
        $driver = $this->driver($subject, $services);
        $driver->connect();
        $command === '' || $this->answer($subject, "$command\r\nQUIT\r\n", $services);

        $this->expectException(\Exception::class);
        $this->expectExceptionMessage($says);
        $driver->write(['lab:a' => \str_repeat('x', 9_000_000)]);
    }

    /** By the socket, where the server has one. */
    private function answer(Subject $subject, string $question, ?Services $services = null): string
    {
        $address = self::address($subject, $services);

        return Place::answer(isset($address['socket']) ? "unix://{$address['socket']}" : "tcp://{$address['host']}:{$address['port']}", $question);
    }

    private static function subject(string $name): Subject
    {
        return \array_column(EngineSubjects::all(), null, 'name')[$name];
    }
}
