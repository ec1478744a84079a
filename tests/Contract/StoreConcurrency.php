<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

use Larder\Store\Change;

/** Part of StoreContract: several instances and several processes over the same data. */
trait StoreConcurrency
{
    public function testInstancesSeeEachOthersWritesAtOnce(): void
    {
        $one = $this->store();
        $two = $this->store();
        $seen = $two->since('', 0, '');
        $one->read(['k']);
        for ($i = 0; $i < 20; $i++) {
            $position = self::put($one, 'k', "v$i")->position;
            self::assertSame("v$i", self::record($two, 'k')?->body);
            $changes = $two->since($seen->epoch, $seen->end, $seen->token);
            self::assertTrue($changes->complete);
            self::assertSame([['k', $position, self::A, 's']], $changes->list);
            $seen = $changes;
            self::put($two, 'k', null, self::B);
            self::assertNull(self::record($one, 'k'));
            self::assertFalse(self::attempt($one, new Change('k', 'w', self::A, $position))->done);
            $seen = $two->since($seen->epoch, $seen->end, $seen->token);
        }
    }

    public function testCompareAndSwapFromFourProcessesLosesNothing(): void
    {
        foreach ([true, false] as $logged) {
            $key = $logged ? 'n' : 'l:n';
            $positions = $this->inProcesses(4, function (int $i) use ($key, $logged): array {
                $store = $this->store();
                $positions = [];
                while (\count($positions) < 40) {
                    $view = $store->read([$key]);
                    $record = $view->records[$key] ?? null;
                    $limit = $record->position ?? ($logged ? $view->at : 0);
                    $body = (string) ((int) ($record->body ?? 0) + 1);
                    // The same writer in all of them: a strict change and an unlogged one count the own changes too.
                    $outcome = self::attempt($store, new Change($key, $body, self::A, $limit, logged: $logged, strict: $logged));
                    if ($outcome->done) {
                        $positions[] = $outcome->position;
                    }
                }

                return $positions;
            });
            self::assertSame('160', self::record($this->store(), $key)?->body);
            self::assertCount(160, \array_unique(\array_merge(...$positions)), 'No position is given twice.');
            foreach ($positions as $own) {
                $sorted = $own;
                \sort($sorted);
                self::assertSame($sorted, $own);
            }
        }
    }

    public function testAReaderOfTheLogMissesNoChangeWhileOthersWrite(): void
    {
        $store = $this->store();
        $seen = $start = $store->since('', 0, '');
        $keys = \array_map(static fn(int $i) => "k$i", \range(0, 9));
        $near = [];
        $follow = static function () use ($store, $start, &$seen, &$near, $keys): void {
            $view = $store->read($keys);
            $changes = $store->since($seen->epoch, $seen->end, $seen->token);
            self::assertTrue($changes->complete);
            self::assertGreaterThanOrEqual($seen->end, $changes->end);
            $last = $seen->end;
            foreach ($changes->list as [$key, $position]) {
                // One beyond the end, while a change before it is being made, is listed again.
                self::assertGreaterThan($last, $position, 'Oldest first, and none up to the end twice.');
                $last = $position;
                $near[$key] = $position;
            }
            foreach ($view->records as $key => $record) {
                self::assertLessThanOrEqual($near[$key] ?? -1, $record->position, 'What can be read is in the log already.');
            }
            $all = $store->since($start->epoch, $start->end, $start->token);
            foreach (self::lastChanges($all->list) as [$key, $position]) {
                if ($position <= $view->at) {
                    self::assertSame($position, ($view->records[$key] ?? null)?->position, 'Everything up to `at` is in the view.');
                }
            }
            $seen = $changes;
        };
        $this->inProcesses(3, function (int $i) use ($keys): int {
            $own = $this->store();
            for ($n = 0; $n < 60; $n++) {
                self::put($own, $keys[($n * 7 + $i) % 10], "$i $n", \str_repeat((string) $i, 12));
                $n % 10 === 9 && \usleep(1000);
            }

            return 1;
        }, $follow);
        $follow();
        $view = $this->store()->read($keys);
        self::assertCount(10, $view->records);
        foreach ($view->records as $key => $record) {
            self::assertSame($record->position, $near[$key] ?? null, 'The last change of each key was in the log.');
        }
        self::assertGreaterThanOrEqual($seen->end, $view->at);
    }

    public function testAForkedChildGoesOnByItself(): void
    {
        $store = $this->store();
        self::put($store, 'k', 'parent');
        $n = 0;
        $answers = $this->inProcesses(4, static function (int $i) use ($store): string {
            $answer = '';
            for ($n = 0; $n < 25; $n++) {
                self::put($store, "own$i", "$i-$n");
                $answer .= self::record($store, "own$i")?->body . ' ' . self::record($store, 'k')?->body . ',';
            }

            return $answer;
        }, static function () use ($store, &$n): void {
            $n++;
            self::put($store, 'parents own', "$n");
            self::assertSame("$n", self::record($store, 'parents own')?->body);
        });
        foreach ($answers as $i => $answer) {
            self::assertSame(\implode('', \array_map(static fn(int $n) => "$i-$n parent,", \range(0, 24))), $answer);
        }
    }
}
