<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Service\Services;
use Larder\Lab\Subject\Driver;
use Larder\Lab\Subject\EngineSubjects;
use Larder\Lab\Subject\LarderExtension;
use PHPUnit\Framework\TestCase;

final class EngineSubjectsTest extends TestCase
{
    private const SERIALIZERS = ['php', 'igbinary', 'msgpack'];

    public function testEveryPublishedCombinationIsThere(): void
    {
        $names = \array_map(static fn(Subject $subject): string => $subject->name, EngineSubjects::all());
        $expected = ['opcache:process:none', 'larder-request:process:none', 'lookup:process:none'];
        foreach (['socket', 'tcp', 'network'] as $connection) {
            $expected[] = "redis:$connection:none";
            $expected[] = "predis:$connection:none";
        }
        foreach (self::SERIALIZERS as $serializer) {
            foreach (['apcu', 'files', 'larder-apcu', 'larder-segment', 'larder-sqlite', 'larder-files'] as $engine) {
                $expected[] = "$engine:process:$serializer";
            }
            foreach (['socket', 'tcp', 'network'] as $connection) {
                foreach (['redis', 'predis', 'memcached', 'memcached_nocompression', 'larder-redis', 'larder-predis', 'larder-memcached', 'valkey'] as $engine) {
                    $expected[] = "$engine:$connection:$serializer";
                }
            }
        }
        \sort($expected);
        $sorted = $names;
        \sort($sorted);

        self::assertSame($expected, $sorted);
    }

    public function testTheNameSaysWhatTheSubjectIs(): void
    {
        foreach (EngineSubjects::all() as $subject) {
            self::assertSame("$subject->engine:$subject->connection:$subject->serializer", $subject->name);
            self::assertTrue($subject->answersTo($subject->engine));
            self::assertSame($subject->engine === 'memcached' ? 'fastlz' : 'none', $subject->compressor, $subject->name);
            self::assertSame($subject->serializer, $subject->parameters['serializer'] ?? null);
            self::assertTrue(\is_a($subject->driver, Driver::class, true), $subject->driver);
            // The driver's connection and the server's must be the same.
            self::assertSame($subject->connection === Cell::PROCESS ? null : $subject->connection, $subject->parameters['connection'] ?? null);
        }
    }

    public function testEachHasTheServerOfItsConnection(): void
    {
        $services = [];
        foreach (EngineSubjects::all() as $subject) {
            $kind = \preg_match('/memcached|predis|redis|valkey/', $subject->engine, $match) === 1 ? $match[0] : '';
            $services["$kind $subject->connection"][$subject->service ?? ''] = true;
            self::assertContains($subject->service, [null, ...Services::NAMES]);
        }

        self::assertEquals([
            ' process' => ['' => true],
            'redis socket' => ['redis' => true],
            'redis tcp' => ['redis' => true],
            'redis network' => ['redis@network' => true],
            'predis socket' => ['redis' => true],
            'predis tcp' => ['redis' => true],
            'predis network' => ['redis@network' => true],
            'valkey socket' => ['valkey' => true],
            'valkey tcp' => ['valkey' => true],
            'valkey network' => ['valkey@network' => true],
            'memcached socket' => ['memcached-socket' => true],
            'memcached tcp' => ['memcached-tcp' => true],
            'memcached network' => ['memcached@network' => true],
        ], $services);
    }

    /** But for the serializer of APCu, where APCu is measured, and the extension, where it is what is measured. */
    public function testAllHaveTheSameSettings(): void
    {
        $all = [];
        foreach (EngineSubjects::all() as $subject) {
            $ini = $subject->ini;
            self::assertSame(\in_array($subject->engine, ['apcu', 'larder-apcu'], true) ? $subject->serializer : 'php', $ini['apc.serializer'] ?? null);
            unset($ini['apc.serializer']);
            if ($subject->engine === 'larder-segment') {
                self::assertSame(LarderExtension::ini()['extension'] ?? null, $ini['extension'] ?? null);
                unset($ini['extension']);
            }
            \ksort($ini);
            $all[\serialize($ini)] = $ini;
        }

        self::assertCount(1, $all);
        $ini = \reset($all);
        foreach (['apc.enable_cli' => 1, 'apc.shm_size' => '256M', 'opcache.enable_cli' => 1, 'memory_limit' => '1G', 'display_errors' => 'stderr'] as $name => $value) {
            self::assertSame($value, $ini[$name] ?? null);
        }
    }

    /** Two of one server do not see each other's entries as somebody else's changes. */
    public function testEachLarderInAServerOrApcuHasAPrefixOfItsOwn(): void
    {
        $prefixes = [];
        foreach (EngineSubjects::all() as $subject) {
            if (isset($subject->parameters['prefix'])) {
                $prefixes[$subject->parameters['prefix']][$subject->engine . ' ' . $subject->serializer] = true;
            }
        }

        self::assertCount(21, $prefixes);
        foreach ($prefixes as $users) {
            self::assertCount(1, $users);
        }
    }

    public function testWhatIsMissingIsNamedWithWhatToType(): void
    {
        foreach (EngineSubjects::all() as $subject) {
            foreach ($subject->needs as $need) {
                self::assertNotSame('', $need->what);
                self::assertMatchesRegularExpression('/install|require|make ext/', $need->advice);
            }
        }
        $needs = static function (string $name): array {
            foreach (EngineSubjects::all() as $subject) {
                if ($subject->name === $name) {
                    return \array_map(static fn($need): string => $need->what, $subject->needs);
                }
            }

            return [];
        };
        self::assertSame(['the PHP extension redis', 'redis-server or valkey-server', 'the PHP extension msgpack'], $needs('redis:tcp:msgpack'));
        self::assertSame(['predis/predis', 'redis-server or valkey-server'], $needs('predis:socket:php'));
        self::assertSame(['the PHP extension redis', 'valkey-server'], $needs('valkey:socket:php'));
        self::assertSame(['memcached'], $needs('larder-memcached:socket:php'));
        self::assertSame(['the PHP extension apcu', 'the PHP extension pdo_sqlite', 'the PHP extension igbinary'], $needs('larder-apcu:process:igbinary'));
        self::assertSame(['the PHP extension larder', 'the PHP extension pdo_sqlite'], $needs('larder-segment:process:php'));
        self::assertSame(['the PHP extension Zend OPcache'], $needs('opcache:process:none'));
        self::assertSame([], $needs('files:process:php'));
    }
}
