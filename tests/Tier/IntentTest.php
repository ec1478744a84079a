<?php

declare(strict_types=1);

namespace Larder\Tests\Tier;

use Larder\Lease\Owner;
use Larder\Tests\Contract\Forks;
use Larder\Tier\Entry;
use Larder\Tier\Intent;
use PHPUnit\Framework\TestCase;

/** The record of intents: who is in it, and who of them still counts. */
final class IntentTest extends TestCase
{
    use Forks;

    protected const FORKS = true;

    private const NOW = 1_800_000_000_000;

    public function testItsBytesSayAllOfThem(): void
    {
        $standing = ['w0123456789ab' => [self::NOW + 5000, 'a.1.2.3'], 'w000000000000' => [self::NOW, Owner::current()]];
        $body = Intent::body($standing);
        self::assertSame(Entry::INTENT, $body[0]);
        self::assertSame($standing, Intent::parse($body));
        self::assertSame([], Intent::parse(Intent::body([])));
    }

    public function testOtherRecordsHaveNone(): void
    {
        foreach (['', 'v12345678payload', 'd', 'm', 'i', 'inonsense', "i1 2\n\n3"] as $body) {
            self::assertSame([], Intent::parse($body), $body);
        }
    }

    public function testAnIntentEndsByItself(): void
    {
        $one = static fn(int $deadline): array => ['wx' => [$deadline, 'elsewhere.1.2.3']];
        self::assertSame($one(self::NOW + 1), Intent::alive($one(self::NOW + 1), self::NOW));
        self::assertSame([], Intent::alive($one(self::NOW), self::NOW));
        self::assertSame([], Intent::alive($one(self::NOW - 1), self::NOW));
        self::assertSame([], Intent::alive($one(self::NOW + 3_600_000), self::NOW), 'a clock was set back');
        self::assertSame($one(self::NOW + Intent::LIFE), Intent::alive($one(self::NOW + Intent::LIFE), self::NOW));
    }

    public function testAnIntentEndsWithItsProcess(): void
    {
        [$name] = $this->inProcesses(1, static fn(): string => Owner::current());
        $standing = ['wdead' => [self::NOW + 1000, $name], 'walive' => [self::NOW + 1000, Owner::current()]];
        self::assertSame(['walive'], \array_keys(Intent::alive($standing, self::NOW)));
    }
}
