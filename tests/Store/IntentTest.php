<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Codec\Entry;
use Larder\Store\Intent;
use Larder\System\ProcessId;
use Larder\Tests\Contract\Forks;
use PHPUnit\Framework\TestCase;

/** The record of intents: who is in it, and who of them still counts. */
final class IntentTest extends TestCase
{
    use Forks;

    protected const FORKS = true;

    private const NOW = 1_800_000_000_000;

    public function testItsBytesSayAllOfThem(): void
    {
        $standing = ['w0123456789ab' => [self::NOW + 5000, 'a.1.2.3', false], 'w000000000000' => Intent::begin(self::NOW, true)];
        $body = Intent::body($standing);
        self::assertSame(Entry::INTENT, $body[0]);
        self::assertSame($standing, Intent::parse($body));
        self::assertSame([], Intent::parse(Intent::body([])));
    }

    public function testOtherRecordsHaveNone(): void
    {
        foreach (['', 'v12345678payload', 'd', 'm', 'i', 'inonsense', "i1 2\n\n3", 'i1 2 3'] as $body) {
            self::assertSame([], Intent::parse($body), $body);
        }
    }

    public function testThatOfALivingWriterEndsSoonAndInATransactionNever(): void
    {
        $one = ['wx' => Intent::begin(self::NOW, false)];
        self::assertSame($one, Intent::alive($one, self::NOW + Intent::LIFE - 1));
        self::assertSame([], Intent::alive($one, self::NOW + Intent::LIFE));
        $lasting = ['wx' => Intent::begin(self::NOW, true)];
        self::assertSame($lasting, Intent::alive($lasting, self::NOW + 3_600_000));
    }

    public function testThatOfAnotherServerStandsAsLongAsAStatementMayRun(): void
    {
        foreach ([false, true] as $lasting) {
            $one = ['wx' => [self::NOW + Intent::STATEMENT, 'elsewhere.1.2.3', $lasting]];
            self::assertSame($one, Intent::alive($one, self::NOW + Intent::STATEMENT - 1));
            self::assertTrue(Intent::live($one));
            self::assertSame([], Intent::alive($one, self::NOW + Intent::STATEMENT));
            self::assertSame([], Intent::alive($one, self::NOW - 3_600_000), 'a clock was set back');
        }
    }

    /** Its last statement may still wait in the database for a row lock. */
    public function testThatOfADeadWriterStandsForAWhileAfterItWasFoundDead(): void
    {
        [$name] = $this->inProcesses(1, static fn(): string => ProcessId::current());
        $standing = ['wdead' => [self::NOW + 1, $name, false], 'walive' => Intent::begin(self::NOW, false)];
        $found = Intent::alive($standing, self::NOW);
        self::assertSame(['wdead', 'walive'], \array_keys($found));
        self::assertSame(self::NOW + Intent::STATEMENT, $found['wdead'][0]);
        self::assertTrue(Intent::live($standing));
        self::assertFalse(Intent::live($found));
        $noted = Intent::parse(Intent::body($found));
        self::assertSame(['wdead'], \array_keys(Intent::alive($noted, self::NOW + Intent::STATEMENT - 1)), 'counted from then');
        self::assertSame([], Intent::alive($noted, self::NOW + Intent::STATEMENT));
    }
}
