<?php

declare(strict_types=1);

namespace Larder\Tests\System;

use Larder\System\FailureLog;
use Larder\Tests\Faults\Lines;
use PHPUnit\Framework\TestCase;
use Psr\Log\AbstractLogger;

/** One line per process, part and minute. What php-fpm forgets is in Faults\FpmTest. */
final class FailureLogTest extends TestCase
{
    public function testOneLineAPart(): void
    {
        $log = new Lines();
        $failureLog = new FailureLog($log);
        [$one, $two] = ['part ' . \bin2hex(\random_bytes(4)), 'part ' . \bin2hex(\random_bytes(4))];
        for ($i = 0; $i < 3; $i++) {
            $failureLog->report($one, "one failed $i");
            (new FailureLog($log))->report($two, "two failed $i");
        }
        self::assertSame(['warning: larder: one failed 0', 'warning: larder: two failed 0'], $log->lines);
    }

    public function testALineStaysALine(): void
    {
        $log = new Lines();
        (new FailureLog($log))->report('part ' . \bin2hex(\random_bytes(4)), "a\nforged: line\r\nand another");
        // A server's answer may hold a NUL byte, at which PHP's error log ends a line, or codes for a terminal.
        (new FailureLog($log))->report('part ' . \bin2hex(\random_bytes(4)), "answered \"\0\x1b[31m\"; going on");
        self::assertSame(['warning: larder: a forged: line  and another', 'warning: larder: answered "\x00\x1b[31m"; going on'], $log->lines);
        // Nor may a key that turns the writing round, ends a line only for some readers, or is not UTF-8, at which a log in JSON fails.
        (new FailureLog($log))->report('part ' . \bin2hex(\random_bytes(4)), "the value of \"a\u{202e}b\u{2028}\" is lost");
        (new FailureLog($log))->report('part ' . \bin2hex(\random_bytes(4)), "the value of \"a\xff\" is lost");
        self::assertSame(['warning: larder: the value of "a\xe2\x80\xaeb\xe2\x80\xa8" is lost', 'warning: larder: the value of "a\377" is lost'], \array_slice($log->lines, 2));
    }

    public function testALoggerThatFailsHarmsNobody(): void
    {
        $logger = new class extends AbstractLogger {
            public int $calls = 0;

            public function log($level, string|\Stringable $message, array $context = []): never
            {
                $this->calls++;
                throw new \RuntimeException('The disk is full.');
            }
        };
        $failureLog = new FailureLog($logger);
        $part = 'part ' . \bin2hex(\random_bytes(4));
        $failureLog->report($part, 'failed');
        $failureLog->report($part, 'failed');
        self::assertSame(1, $logger->calls);
    }

    public function testAfterAMinuteItIsSaidAgain(): void
    {
        $log = new Lines();
        $part = 'part ' . \bin2hex(\random_bytes(4));
        // A minute is not waited for: when it was said is moved back instead.
        $last = new \ReflectionProperty(FailureLog::class, 'last');
        foreach ([0, 30, 29, 2, 200] as $pass) {
            /** @var array<string, int> $said */
            $said = $last->getValue();
            $said === [] || $last->setValue(null, \array_map(static fn(int $time): int => $time - $pass, $said));
            (new FailureLog($log))->report($part, "after $pass more");
        }
        self::assertSame(['after 0 more', 'after 2 more', 'after 200 more'], \str_replace('warning: larder: ', '', $log->lines));
    }
}
