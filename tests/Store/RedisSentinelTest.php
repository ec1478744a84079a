<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Cache;
use Larder\Tests\Support\RedisSentinels;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** A cache in a Redis that Sentinel watches. */
#[CoversNothing]
final class RedisSentinelTest extends TestCase
{
    private RedisSentinels $sentinels;

    protected function setUp(): void
    {
        RedisServer::demand();
    }

    protected function tearDown(): void
    {
        if (isset($this->sentinels)) {
            try {
                self::assertSame([], $this->sentinels->refusals(), 'the user of larder doctor may do all this');
            } finally {
                $this->sentinels->stop();
            }
        }
    }

    public function testAReplicaTakesOver(): void
    {
        $this->takeOver(null);
    }

    #[Group('slow')]
    public function testAReplicaTakesOverWherePasswordsAreNeeded(): void
    {
        $this->takeOver('secret-word');
    }

    private function takeOver(?string $password): void
    {
        $this->sentinels = new RedisSentinels(password: $password);
        $living = $this->open();
        self::assertTrue($living->set('k', 'old'));
        $asked = $this->asked();
        for ($i = 0; $i < 5; $i++) {
            self::assertSame('old', $this->open()->get('k'));
        }
        self::assertSame($asked, $this->asked(), 'a steady request asks Sentinel nothing');
        $primary = $this->sentinels->primary();
        $primary->kill();
        self::assertNull($this->open()->get('k'));
        self::assertFalse($this->open()->delete('k'));
        Wait::until(fn(): bool => $this->open()->set('new', 'v'), 'a replica to take over');
        self::assertSame('v', $this->open()->get('new'));
        self::assertNull($this->open()->get('k'), 'deleted while nobody answered');
        $living->internals()->retry();
        $living->refresh();
        self::assertTrue($living->set('k', 'newer'));
        self::assertSame('newer', $this->open()->get('k'));
    }

    /** Sentinel makes it a replica by a command, over a living connection. */
    #[Group('slow')]
    public function testADemotedPrimaryIsNoticedByAProcessThatHasItOpen(): void
    {
        $this->sentinels = new RedisSentinels();
        $living = $this->open();
        $living->set('k', 'old');
        $primary = $this->sentinels->primary();
        Wait::until(static fn(): bool => $primary->command('WAIT', '2', '100') === 2, 'the replicas to have it');
        $this->sentinels->failOver();
        Wait::until(fn(): bool => $this->open()->set('k', 'new'), 'the new primary');
        $living->refresh();
        // The process has changed something shortly before, so it may have begun anew.
        self::assertContains($living->get('k'), ['new', null]);
        self::assertTrue($living->delete('k'));
        self::assertNull($this->open()->get('k'));
    }

    /** A primary that has lost its replicas, and knows that it must have one, may already have a successor. */
    #[Group('slow')]
    public function testAnIsolatedPrimaryIsNotBelieved(): void
    {
        $this->sentinels = new RedisSentinels(['min-replicas-to-write' => '1', 'min-replicas-max-lag' => '1']);
        $living = $this->open();
        Wait::until(static fn(): bool => $living->set('k', 'old'), 'the replicas to be counted');
        self::assertSame('old', $this->open()->get('k'));
        $believing = $this->open('confirm=0');
        self::assertSame('old', $believing->get('k'));
        $replicas = \array_slice($this->sentinels->servers, 1);
        foreach ($replicas as $replica) {
            $replica->pause();
        }
        try {
            Wait::until(fn(): bool => $this->open()->get('k') === null, 'the primary to miss its replicas', 10.0);
            $living->refresh();
            self::assertNull($living->get('k'));
            self::assertSame('old', $this->open('confirm=0')->get('k'));
        } finally {
            foreach ($replicas as $replica) {
                $replica->resume();
            }
        }
    }

    private function open(string $options = ''): Cache
    {
        return Cache::open(['dsn' => $this->sentinels->dsn($options . ($options === '' ? '' : '&') . 'timeout=2'), 'near' => 'none']);
    }

    /** How often the sentinels were asked where the primary is. */
    private function asked(): int
    {
        return \array_sum(\array_map(static fn(mixed $told): int => \preg_match('/^cmdstat_sentinel\|get-master-addr-by-name:calls=(\d+)/m', (string) $told, $found) === 1 ? (int) $found[1] : 0, $this->sentinels->ask('INFO', 'commandstats')));
    }
}
