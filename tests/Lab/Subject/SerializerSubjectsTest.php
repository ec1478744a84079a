<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Subject\SegmentFormDriver;
use Larder\Lab\Subject\SerializerDriver;
use Larder\Lab\Subject\SerializerSubjects;
use PHPUnit\Framework\TestCase;

final class SerializerSubjectsTest extends TestCase
{
    public function testThereIsEveryCombination(): void
    {
        $names = [];
        foreach (SerializerSubjects::all() as $subject) {
            $names[] = $subject->name;
            self::assertSame("$subject->serializer:$subject->compressor", $subject->name);
            $segment = $subject->serializer === 'segment';
            self::assertSame([$subject->serializer, Cell::PROCESS, $segment ? SegmentFormDriver::class : SerializerDriver::class, null], [$subject->engine, $subject->connection, $subject->driver, $subject->service]);
            self::assertSame($segment ? ['serializer' => 'none', 'shared' => 1] : ['serializer' => $subject->serializer, 'compressor' => $subject->compressor], $subject->parameters);
            self::assertTrue($subject->answersTo($subject->serializer));
        }

        self::assertSame([
            'php:none', 'php:gzdeflate', 'php:zstd', 'php:lz4',
            'igbinary:none', 'igbinary:gzdeflate', 'igbinary:zstd', 'igbinary:lz4',
            'msgpack:none', 'msgpack:gzdeflate', 'msgpack:zstd', 'msgpack:lz4',
            'segment:none',
        ], $names);
    }

    /** In a PHP without a php.ini, which loads nothing that is not built into it. */
    public function testAMissingExtensionIsToldWithAdvice(): void
    {
        $script = 'require ' . \var_export(\dirname(__DIR__, 3) . '/vendor/autoload.php', true) . ';'
            . 'foreach (' . SerializerSubjects::class . '::all() as $s) { foreach ($s->missing() as $n) { echo "$s->name|$n->what|$n->advice\n"; } }';
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
}
