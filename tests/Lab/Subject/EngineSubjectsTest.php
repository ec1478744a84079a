<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Subject\Driver;
use Larder\Lab\Subject\EngineSubjects;
use Larder\Lab\Subject\LarderExtension;
use PHPUnit\Framework\TestCase;

final class EngineSubjectsTest extends TestCase
{
    private const SERIALIZERS = ['php', 'igbinary', 'msgpack'];

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
    }
}
