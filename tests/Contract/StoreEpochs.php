<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

use Larder\Store\Change;
use Larder\Store\ChangeResult;

/** Positions count within an epoch: the part of StoreContract about changes that were judged in another one. */
trait StoreEpochs
{
    public function testWhatIsOverIsAbsentAndHoldsNobody(): void
    {
        $store = $this->store();
        $held = self::attempt($store, new Change('k', Change::HELD . 'body', self::B, expiry: $store->now() - 100, kind: 'i'));
        self::assertTrue($held->done);
        self::assertSame([], $store->read(['k'])->records);
        self::assertSame([], $store->read(['k', 'l'])->records);
        self::assertSame([], \iterator_to_array($store->each()));
        $late = self::attempt($store, new Change('k', 'v', self::A, $held->position - 1));
        self::assertSame([false, $held->position, self::B, null], [$late->done, $late->position, $late->writer, $late->record], 'It was a change all the same.');
        $next = self::attempt($store, new Change('k', 'v', self::A));
        self::assertSame([true, ''], [$next->done, $next->kind]);
        self::assertSame('v', self::record($store, 'k')?->body);
    }

    public function testAChangeJudgedInAnotherEpochIsNotDone(): void
    {
        $store = $this->store();
        $before = self::put($store, 'k', 'v');
        $epoch = $store->read(['k'])->epoch;
        $start = $store->since('', 0, '');
        foreach ([Change::ALWAYS, $before->position, $before->position + 1_000_000] as $limit) {
            foreach (['w', null] as $body) {
                $outcome = self::attempt($store, new Change('k', $body, self::B, $limit, epoch: 'another'));
                self::assertSame([false, -1, null], [$outcome->done, $outcome->position, $outcome->guard]);
                $outcome = self::attempt($store, new Change('n', $body, self::B, $limit, guards: ['k' => $before->position], epoch: 'another'));
                self::assertSame([false, -1], [$outcome->done, $outcome->position]);
            }
        }
        self::assertFalse(self::attempt($store, new Change('l', 'v', self::B, 0, logged: false, epoch: 'another'))->done);
        self::assertSame('v', self::record($store, 'k')?->body);
        self::assertNull(self::record($store, 'l'));
        self::assertSame([], $store->since($start->epoch, $start->end, $start->token)->list);
        $outcomes = $store->write([
            new Change('k', 'w', self::B, $before->position, epoch: 'another'),
            new Change('k', 'x', self::B, $before->position, epoch: $epoch),
            new Change('l', 'x', self::B, 0, logged: false, epoch: $epoch),
        ]);
        self::assertSame([false, true, true], \array_map(static fn(ChangeResult $outcome): bool => $outcome->done, $outcomes));
        self::assertSame('x', self::record($store, 'k')?->body);
    }
}
