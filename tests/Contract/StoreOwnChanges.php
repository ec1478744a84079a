<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

use Larder\Store\Change;
use Larder\Store\ChangeResult;

/** A writer's own changes never count against it, at any number: the part of StoreContract about more than a log keeps. */
trait StoreOwnChanges
{
    /** More than any engine keeps of its log. */
    private const MORE_THAN_A_LOG = 13_000;

    public function testOwnChangesOfOneCallNeverCountAtAnyNumber(): void
    {
        $store = $this->store();
        $at = $store->read(['k'])->at;
        $guards = ['flush' => $at, 'tag' => $at];
        for ($round = 0; $round < 2; $round++) {
            $changes = [];
            for ($i = 0; $i < self::MORE_THAN_A_LOG; $i++) {
                // Removals, which cost least; that nothing is there is what makes the log the only witness.
                $changes[] = new Change("r$round.$i", null, self::A, $at, guards: $guards, kind: 'd');
            }
            $outcomes = $store->write([...$changes, new Change("k$round", 'v', self::A, $at, guards: $guards)]);
            $refused = \array_filter($outcomes, static fn(ChangeResult $outcome): bool => !$outcome->done);
            self::assertSame([], \array_keys($refused), "round $round");
        }
        self::assertSame('v', self::record($store, 'k1')?->body);
    }

    public function testAmongManyOwnChangesOneBySomebodyElseCounts(): void
    {
        $store = $this->store();
        $at = $store->read(['k'])->at;
        $many = static fn(string $prefix): array => \array_map(
            static fn(int $i): Change => new Change($prefix . $i, null, self::A, kind: 'd'),
            \range(1, self::MORE_THAN_A_LOG),
        );
        $store->write($many('x'));
        self::put($this->store(), 'k', null, self::B);
        $store->write($many('y'));
        self::assertFalse(self::attempt($store, new Change('k', 'v', self::A, $at))->done);
        self::assertFalse(self::attempt($store, new Change('l', 'v', self::A, $at, guards: ['k' => $at]))->done);
    }

    /** Whoever follows the log either gets to hear of the change among them, or that there is a gap. */
    public function testWhoFollowsTheLogNeverMissesAChangeBeforeOrAmongManyOwnOnes(): void
    {
        foreach (['before', 'among'] as $where) {
            $store = $this->store();
            $follower = $this->store();
            self::put($store, "seen $where", 'v');
            $seen = $follower->since('', 0, '');
            $many = static fn(int $count): array => \array_map(
                static fn(int $i): Change => new Change("$where$i", null, self::A, kind: 'd'),
                \range(1, $count),
            );
            $where === 'among' && $store->write($many(3_000));
            self::put($this->store(), "k $where", 'v', self::B);
            $store->write($many(self::MORE_THAN_A_LOG));
            foreach (['the one who followed' => $follower, 'another' => $this->store()] as $who => $any) {
                $changes = $any->since($seen->epoch, $seen->end, $seen->token);
                self::assertSame($seen->epoch, $changes->epoch);
                self::assertTrue(!$changes->complete || \in_array("k $where", \array_column($changes->list, 0), true), "$where: $who");
                self::assertTrue($any->since($changes->epoch, $changes->end, $changes->token)->complete, 'From there on it goes on.');
            }
        }
    }
}
