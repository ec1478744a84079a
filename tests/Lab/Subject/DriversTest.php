<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Scenario\Loop;
use Larder\Lab\Scenario\Segment;
use Larder\Lab\Service\Services;
use Larder\Lab\Subject\EngineFailure;
use Larder\Lab\Subject\EngineSubjects;
use Larder\Lab\Subject\LarderDriver;
use Larder\Tests\Support\Process;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;

/** What every driver must do, with its subject's own settings, against the real engine. */
final class DriversTest extends EngineTestCase
{
    /** In a process like the one that measures; it prints what does not hold. */
    private const CONTRACT = '
        use Larder\Lab\Payload\Payloads;
        use Larder\Lab\Subject\{Driver, IncludeDriver};
        set_error_handler(static fn(int $level, string $message) => throw new RuntimeException($message));
        [$class, $parameters, $payloads, $shares, $stays, $forks] = json_decode($argv[1], true, 8, JSON_THROW_ON_ERROR);
        $class::clear($parameters);
        $wrong = [];
        $must = static function (string $what, bool $holds) use (&$wrong): void { $holds || $wrong[] = $what; };
        $open = static function () use ($class, $parameters): Driver { $driver = new $class($parameters); $driver->connect(); return $driver; };
        $write = static function (Driver $driver, array $values): void { $driver->begin(); $driver->write($values); };
        $read = static function (Driver $driver, string ...$keys): mixed {
            $driver->begin();
            return $driver->read($driver->names($keys));
        };
        $one = $open();
        foreach ($payloads as $payload) {
            $value = Payloads::get($payload);
            $write($one, array_fill_keys(["lab:a", "lab:b", "lab:c"], "something else"));
            $must("$payload: the first value is read", $read($one, "lab:a") === "something else");
            $write($one, array_fill_keys(["lab:a", "lab:b", "lab:c"], $value));
            foreach (["lab:c", "lab:a", "lab:b", "lab:b"] as $key) {
                $must("$payload: what was written is read", $read($one, $key) === $value);
                $must("$payload: and again in the same request", $one->read($one->names([$key])) === $value);
            }
            $write($one, ["lab:c" => "another"]);
            $must("$payload: a read gives the last key", $read($one, "lab:a", "lab:c") === "another" && $read($one, "lab:c", "lab:a") === $value);
            $must("$payload: what was never written is null or false", $one instanceof IncludeDriver || in_array($read($one, "lab:a", "lab:none"), [null, false], true));
            if ($shares) {
                $other = $open();
                $must("$payload: another connection reads it", $read($other, "lab:a") === $value);
                $write($other, ["lab:a" => "of the other"]);
                $must("$payload: and is read", $read($one, "lab:a") === "of the other");
            }
        }
        if ($forks) {
            if (pcntl_fork() === 0) {
                $child = $open();
                $write($child, ["lab:b" => $read($child, "lab:a") === "of the other" ? "of the child" : "wrong"]);
                posix_kill(getmypid(), SIGKILL);
            }
            pcntl_wait($status);
            $must("a child reads what its parent wrote and the other way round", $read($one, "lab:b") === "of the child");
        }
        for ($i = 0; $i < 3; ++$i) {
            $one->disconnect();
            $one->connect();
            $must("it is there after a new connection", !$stays || $i === 0 || $read($one, "lab:a") === "value " . ($i - 1));
            $write($one, ["lab:a" => "value $i"]);
            $must("a new connection writes", $read($one, "lab:a") === "value $i");
        }
        $one->inspect();
        $one->disconnect();
        echo json_encode($wrong), "\n";';

    /** @return array<string, array{Subject}> */
    public static function subjects(): array
    {
        $subjects = [];
        foreach ([...EngineSubjects::all(), ...(new Loop())->subjects(), ...(new Segment())->subjects()] as $subject) {
            if ($subject->connection !== Cell::NETWORK && $subject->engine !== 'valkey') {
                $subjects[$subject->name] = [$subject];
            }
        }

        return $subjects;
    }

    #[DataProvider('subjects')]
    #[Group('slow')]
    public function testASubjectGivesBackWhatWasWritten(Subject $subject): void
    {
        $plain = isset($subject->parameters['raw']) || \in_array($subject->engine, ['redis', 'predis'], true) && $subject->serializer === 'none';
        $own = $subject->engine === 'lookup' || ($subject->parameters['scheme'] ?? '') === 'memory';
        $child = Process::snippet(self::CONTRACT, [\json_encode([
            $subject->driver,
            $this->parameters($subject),
            $plain ? ['short', '20kB'] : ['short', '20kB', '50x50'],
            // The request tier of one connection is nobody else's.
            !$own && ($subject->parameters['tier'] ?? '') !== 'request',
            !$own,
            \in_array($subject->engine, ['apcu', 'opcache', 'include', 'files'], true),
        ], \JSON_THROW_ON_ERROR)], $subject->ini);

        self::assertSame('[]', $child->line() ?? $child->errors());
        self::assertSame('', $child->errors());
    }

    /** @return iterable<string, array{string}> */
    public static function servers(): iterable
    {
        foreach (['redis', 'predis', 'memcached', 'memcached_nocompression', 'larder-redis', 'larder-predis', 'larder-memcached'] as $engine) {
            foreach ([Cell::SOCKET, Cell::TCP] as $connection) {
                yield "$engine:$connection" => ["$engine:$connection:php"];
            }
        }
    }

    /** Whoever wrote to it, read from it, or never spoke to it. Seen to fail: read() that looks for a failure itself. */
    #[DataProvider('servers')]
    public function testAServerThatHasGoneThrows(string $name): void
    {
        $subject = self::subjects()[$name][0];
        $services = new Services();
        [$writer, $reader, $late] = [$this->driver($subject, $services), $this->driver($subject, $services), $this->driver($subject, $services)];
        $writer->connect();
        $reader->connect();
        $writer->write(['lab:a' => 'something']);
        $reader->begin();
        self::assertSame('something', $reader->read(['lab:a']));
        $services->stopAll();

        self::assertFails(static fn() => $writer->write(['lab:a' => 'something']));
        foreach ([$reader, $late] as $driver) {
            $read = static function () use ($driver, $late): mixed {
                $driver === $late && $driver->connect();
                $driver->begin();

                return $driver->read(['lab:a']);
            };
            if ($driver instanceof LarderDriver) {
                self::assertNull($read());
                $read = $driver->inspect(...);
            }
            self::assertFails($read);
        }
    }

    /** @param \Closure(): mixed $do */
    private static function assertFails(\Closure $do): void
    {
        // The libraries let PHP's own warnings out.
        \set_error_handler(static fn(): bool => true);
        try {
            $do();
        } catch (EngineFailure|\RedisException|\Predis\PredisException $failure) {
            self::assertNotSame('', $failure->getMessage());

            return;
        } finally {
            \restore_error_handler();
        }
        self::fail('It did not notice that the server has gone');
    }
}
