<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Protocol;

/**
 * The protocol with one piece taken out: for each, requests that then end badly.
 *
 * A mutant is class, piece of its source, what takes its place; then the requests, their servers, the near tier, and
 * whether something is cached before, whether the truth tier forgets, and how many are killed.
 */
final class Mutants
{
    /** What this request has changed itself since its computation began counts. */
    private const OWN = 'if ($moment !== $history->moment && $history->hasChanged($key, $space, $entry, $moment)) {';

    /** @return array<string, array{array<string, array<string, string>>, list<string>, list<int>, string, bool, bool, int}> */
    public static function all(): array
    {
        return \array_map(
            static fn(array $mutant): array => $mutant + [5 => false, 6 => 0],
            self::table() + self::near() + self::marks() + self::own() + self::waits() + self::epochs() + self::transactions() + self::failures(),
        );
    }

    /** @return array<string, array{array<string, array<string, string>>, list<string>, list<int>, string, bool, 5?: bool, 6?: int}> */
    private static function table(): array
    {
        $judge = 'Request\ConflictTable';

        return [
            'a fill is stored over a change' => [
                ['Request\Fills' => [
                    '$history->limit($key, $reference), $entry->expiry, $this->view->guards' => 'Change::ALWAYS, $entry->expiry, $this->view->guards',
                ]],
                ['reads and fills', 'writes and sets'], [0, 1], 'none', false,
            ],
            'a set after a hit is stored over a change' => [
                [$judge => ['$cacheOnly ? Verdict::Store : Verdict::Drop' => 'Verdict::Store']],
                ['reads, modifies, writes', 'writes and sets'], [0, 1], 'none', true,
            ],
            'a blind set is stored over a change' => [
                [$judge => ['$cacheOnly ? Verdict::Store : Verdict::Drop' => 'Verdict::Store']],
                ['writes and sets', 'writes and sets'], [0, 1], 'none', false,
            ],
            'a set after a miss is stored over a deletion' => [
                [$judge => ['default => Verdict::Drop' => 'default => Verdict::Store']],
                ['reads and sets', 'writes and deletes'], [0, 1], 'none', false,
            ],
            'a set after a miss is stored for good over a set' => [
                [$judge => ['$same ? Verdict::Same : Verdict::Bounded' => '$same ? Verdict::Same : Verdict::Store']],
                ['reads and sets', 'writes and sets'], [0, 1], 'none', false,
            ],
            'a set after a miss is stored for good over a drop' => [
                [$judge => ["'x' => Verdict::Bounded" => "'x' => Verdict::Store"]],
                ['reads and sets', 'writes and sets', 'writes and sets'], [0, 0, 1], 'none', false,
            ],
            'what was computed from a value of bounded life is stored' => [
                [$judge => ['$intent || $how === History::UNSURE' => '$intent']],
                ['reads and sets', 'writes and sets', 'reads, modifies, writes'], [0, 1, 1], 'none', false,
            ],
            'a bounded life never ends' => [
                ['Codec\Entry' => [
                    '$this->sure !== 0 && ($now >= $this->sure || $now < $this->created - 1000)' => 'false',
                ]],
                ['reads and sets', 'writes and sets'], [0, 1], 'none', false,
            ],
        ];
    }

    /** @return array<string, array{array<string, array<string, string>>, list<string>, list<int>, string, bool, 5?: bool, 6?: int}> */
    private static function near(): array
    {
        return [
            'the near tier keeps what changed' => [
                ['Near\ApcuNear' => ['if ($changed > $position && ApcuCopy::position(\apcu_fetch($this->prefix . $key)) < $changed) {' => 'if ($position < 0) {']],
                ['reads and fills', 'writes and deletes'], [0, 1], 'apcu', true,
            ],
            'the near tier takes what was read before it followed the log' => [
                ['Near\ApcuNear' => [': \max($state[2], $state[4])' => ': $state[4]']],
                ['reads and fills', 'writes, deletes, refreshes'], [0, 0], 'apcu', false,
            ],
            'the near tier is not told of the journal' => [
                ['Request\View' => ['|| $this->near->follow($changes)' => '|| true']],
                ['reads and fills', 'writes and deletes'], [0, 1], 'apcu', true,
            ],
        ];
    }

    /** @return array<string, array{array<string, array<string, string>>, list<string>, list<int>, string, bool, 5?: bool, 6?: int}> */
    private static function marks(): array
    {
        $known = 'foreach ([$key, ...$space->flushes, ...$entry->tags] as $each) {';
        $guards = 'foreach ([...$space->flushes, ...$entry->tags] as $marker) { $guards';

        return [
            'a flush does not guard fills' => [
                ['Request\View' => [$guards => 'foreach ($entry->tags as $marker) { $guards'], 'Request\Fills' => [$known => 'foreach ([$key, ...$entry->tags] as $each) {']],
                ['reads and fills', 'writes, flushes'], [0, 1], 'none', false,
            ],
            'a tag does not guard fills' => [
                ['Request\View' => [$guards => 'foreach ($space->flushes as $marker) { $guards'], 'Request\Fills' => [$known => 'foreach ([$key, ...$space->flushes] as $each) {']],
                ['fills tagged', 'writes, invalidates'], [0, 1], 'none', false,
            ],
            'a flush does not hide what was stored before' => [
                ['Request\Reader' => ['$record->position <= $this->view->floor($space, $swaps)' => 'false']],
                ['reads and fills', 'writes, flushes'], [0, 1], 'none', true,
            ],
            'a tag does not hide what was stored before' => [
                ['Request\View' => ['if ($this->at($tag, $swaps) >= $position) { return false; }' => '']],
                ['fills tagged', 'writes, invalidates'], [0, 1], 'none', true,
            ],
            'a near copy is not asked for its flush' => [
                ['Request\Reader' => ['$position > $this->view->floor($space) && !$entry->expired' => '!$entry->expired']],
                ['reads and fills', 'writes, flushes'], [0, 1], 'apcu', true,
            ],
            'a marker that was forgotten counts as none' => [
                ['Request\View' => ['if ($position === 0 && $this->truth->forgets()) {' => 'if (false) {']],
                ['fills tagged', 'writes, invalidates', 'forgets the tag'], [0, 1], 'none', true, true,
            ],
            'a marker is made anew at zero' => [
                ['Store\Markers' => ['new Record(\'c\', $floor, \'\')' => "new Record('c', 0, '')"]],
                ['fills tagged', 'writes, invalidates', 'forgets the tag'], [0, 1], 'none', true,
            ],
            'a marker that is made anew hides who moved it before' => [
                ['Request\View' => ['$history->learnMarkers($changes, $this->writer);' => '']],
                ['fills tagged', 'writes, invalidates', 'forgets the tag'], [0, 1], 'none', false, true,
            ],
            'a fill is judged before its markers are made anew' => [
                ['Request\Fills' => [
                    '$this->view->precede($space, $entry); if (!$this->unchanged(' => 'if (!$this->unchanged(',
                    'continue; } $changes[] = new Change(' => 'continue; } $this->view->precede($space, $entry); $changes[] = new Change(',
                ]],
                ['fills tagged', 'writes, invalidates', 'forgets the tag'], [0, 1], 'none', false, true,
            ],
        ];
    }

    /** @return array<string, array{array<string, array<string, string>>, list<string>, list<int>, string, bool, 5?: bool, 6?: int}> */
    private static function own(): array
    {
        $counts = ['Request\Fills' => [self::OWN => 'if (false) {']];
        $mutants = [];
        foreach (['deletes', 'sets', 'flushes', 'invalidates'] as $change) {
            $mutants["a computation is stored over an own change: $change"] = [$counts, ["remembers; meanwhile $change", $change === 'invalidates' ? 'fills tagged' : 'reads and fills'], [0, 1], 'none', false];
        }

        return $mutants + [
            'a fill is stored over an own change since the miss' => [$counts, ['reads; meanwhile deletes; fills', 'reads and fills'], [0, 1], 'apcu', false],
            'a fill is stored over an own change by a transaction' => [
                $counts, ['remembers; meanwhile in a transaction: sets', 'reads and fills'], [0, 1], 'none', false,
            ],
            'a computation is judged by the beginning of another in it' => [
                ['Request\Remember' => ['$this->leases->release($name) : null, $reference, $moment)' => '$this->leases->release($name) : null, $view->history->reference($name)[1], $moment)']],
                ['remembers; meanwhile another fails', 'writes and deletes'], [0, 1], 'none', false,
            ],
            'a fill is judged by the beginning of a computation after it' => [
                ['Request\Fills' => [
                    '$this->writes->pending[$key] = [$space, $entry, $reference, $moment];' => '$this->writes->pending[$key] = [$space, $entry, PHP_INT_MAX, $moment];',
                    'foreach ($fills as $key => [$space, $entry, $reference, $moment]) {' => 'foreach ($fills as $key => [$space, $entry, $reference, $moment]) { $reference = min($reference, $history->reference($key)[1]);',
                ]],
                ['fills; then a computation fails', 'writes and deletes'], [0, 1], 'none', false,
            ],
        ];
    }

    /** @return array<string, array{array<string, array<string, string>>, list<string>, list<int>, string, bool, 5?: bool, 6?: int}> */
    private static function waits(): array
    {
        return [
            'an intent is stored over' => [
                ['Store\WriteConditions' => ["(\$record->body[0] ?? '') === Change::HELD" => 'false']],
                ['intends, writes', 'reads and fills'], [0, 1], 'none', false, false, 1,
            ],
            'an intent ends without a change' => [
                ['Request\Intents' => ['$this->marks->takeAwayRecord($key, $record);' => '$this->truth->write([new Change($key, null, $this->view->writer, logged: false)]) !== null;'],
                    'Store\WriteConditions' => ["(\$record->body[0] ?? '') === Change::HELD" => 'false']],
                ['intends, writes', 'reads and fills'], [0, 1], 'none', false,
            ],
            'a counter is stored without comparing' => [
                ['Request\Swaps' => ['$record->position ?? $snapshot->at, $next->expiry,' => 'Change::ALWAYS, $next->expiry,']],
                ['increments', 'increments'], [0, 1], 'none', false,
            ],
            'a lease is given back before the value is stored' => [
                ['Request\Fills' => [
                    'return $this->commitFills([$key => [$space, $entry, $reference, $moment]], $release === null ? [] : [$release]);'
                        => '$release === null || $this->truth->write([$release]); return $this->commitFills([$key => [$space, $entry, $reference, $moment]], []);',
                ]],
                ['remembers', 'remembers'], [0, 1], 'none', false,
            ],
            'a lease keeps nobody from computing' => [
                ['Request\Leases' => ['if ($record !== null && $this->stands($record)) { return false; }' => '']],
                ['remembers', 'remembers'], [0, 1], 'none', false,
            ],
        ];
    }

    /** @return array<string, array{array<string, array<string, string>>, list<string>, list<int>, string, bool, 5?: bool, 6?: int}> */
    private static function epochs(): array
    {
        $fills = ['reads and fills', 'writes and deletes', 'begins anew'];
        $tagged = ['fills tagged', 'writes and deletes', 'begins anew'];

        return [
            'what was read is not compared with the epoch that is known' => [
                ['Request\Reader' => [
                    'if ($snapshot !== null && $snapshot->epoch !== $this->history->epoch) {' => 'if (false) {',
                    '|| $snapshot->epoch !== $this->history->epoch ? null : $entry;' => '? null : $entry;',
                    'if ($body === null && $epoch === $history->epoch) {' => 'if ($body === null) {',
                    '$position > $floor && $epoch === $history->epoch) {' => '$position > $floor) {',
                    '$this->good($entry, $position, $space) && $epoch === $history->epoch)) {' => '$this->good($entry, $position, $space))) {',
                    'if ($snapshot === null || $snapshot->epoch !== $history->epoch) {' => 'if ($snapshot === null) {',
                ]],
                ['fills tagged', 'writes, invalidates', 'begins anew'], [0, 1], 'none', true, true,
            ],
            'a marker is taken of another epoch' => [
                ['Request\View' => ['if ($snapshot === null || $snapshot->epoch === $this->history->epoch) {' => 'if (true) {']],
                ['reads and fills', 'writes, flushes', 'begins anew'], [0, 1], 'apcu', true,
            ],
            'a fill of an epoch that is over is stored' => [
                ['Request\Fills' => ['epoch: $epoch, ); $keys[] = $key;' => '); $keys[] = $key;']],
                $fills, [0, 1], 'none', false,
            ],
            'a fill is stored in the epoch that asking for its tag has shown' => [
                ['Request\Fills' => [
                    'epoch: $epoch, ); $keys[] = $key;' => 'epoch: $this->view->history->epoch, ); $keys[] = $key;',
                    '$this->view->precede($space, $entry); if (!$this->unchanged(' => 'if (!$this->unchanged(',
                    // What is changed in the middle is looked for again after the write, and a new epoch changes all.
                    'if (!$isSame && $history->hasChanged(' => 'if (false && $history->hasChanged(',
                    '$entry->expiry, $this->view->guards($space, $entry, $reference),' => '$entry->expiry, $this->view->precede($space, $entry) ? $this->view->guards($space, $entry, $reference) : [],',
                ]],
                $tagged, [0, 1], 'none', false, true,
            ],
            'a set of an epoch that is over is stored' => [
                ['Request\Sets' => ['strict: $strict, epoch: $epoch,' => 'strict: $strict,', '$change->epoch = $epoch;' => '']],
                ['reads and sets', 'writes and deletes', 'begins anew'], [0, 1], 'none', false,
            ],
            'the first change of a set is not judged' => [
                ['Request\Sets' => ['$change->limit = $limit; $change->guards' => '$change->guards']],
                ['reads and sets', 'writes and deletes'], [0, 1], 'none', false,
            ],
            'no flush is in the way of the first change of a set' => [
                ['Request\Sets' => ['$change->guards = \array_fill_keys($markers, $limit);' => '']],
                ['reads and sets', 'writes, flushes'], [0, 1], 'none', false,
            ],
            'an intent that is lost with its epoch counts as ended' => [
                ['Request\Intents' => ['$done = $this->marks->invalidate([$key], $space); } $this->ended($key);' => '$done = true; } $this->ended($key);']],
                ['intends, writes', 'reads and fills', 'begins anew'], [0, 1], 'none', false,
            ],
            'the near tier goes on into another epoch' => [
                ['Near\ApcuNear' => ['if ($epoch !== $changes->epoch || !$changes->complete) { if' => 'if ($epoch === $changes->epoch && !$changes->complete) { if']],
                $fills, [0, 1], 'apcu', true,
            ],
        ];
    }

    /** @return array<string, array{array<string, array<string, string>>, list<string>, list<int>, string, bool, 5?: bool, 6?: int}> */
    private static function transactions(): array
    {
        $transaction = 'Request\Transaction';

        return [
            'an intent in a transaction ends at the set' => [
                [$transaction => ['$told = $this->intend($key, $space);' => '$told = $this->intend($key, $space) && $this->standing->endOne($key);']],
                ['in a transaction: sets', 'reads and fills'], [0, 1], 'none', false, false, 1,
            ],
            'what is deleted in a transaction is deleted at once alone' => [
                [$transaction => [
                    '$told = $this->intend($key, $space);' => '$told = $this->deletes->one($key, $space);',
                    '$this->deletes->one($key, $space) || $verdict = Verdict::Failed;' => '',
                ]],
                ['in a transaction: deletes', 'reads and fills'], [0, 1], 'none', false,
            ],
            'a flush in a transaction is done at once alone' => [
                [$transaction => ['$done = $this->intend($marker, $space, true) && $done;' => '$done = (fn(): bool => $this->marks->mark([$marker]))->call($this->standing) && $done;']],
                ['in a transaction: flushes', 'reads and fills'], [0, 1], 'none', false,
            ],
            'a marker of a dead writer counts as settled' => [
                ['Request\View' => ['$standing !== [] && Intent::live($standing) ? $position : \PHP_INT_MAX' => '$position', '$this->history->change($key);' => '']],
                ['in a transaction: flushes', 'reads and fills'], [0, 1], 'none', false, false, 1,
            ],
            'what is read in a transaction counts as read when it was' => [
                [$transaction => ['$this->view->history->freeze();' => '']],
                ['in a transaction: reads; then sets', 'writes and deletes'], [0, 1], 'none', false,
            ],
            'what was set is kept at the roll-back' => [
                [$transaction => ['$this->changes[$key] = [$space, null, $deep];' => '']],
                ['in a transaction: sets, which is rolled back', 'reads and fills'], [0, 1], 'none', false,
            ],
            'what is filled in a transaction is stored' => [
                // What another fiber fills while one is open is refused as well.
                ['Cache' => ['if ($transaction !== null) { return $this->fillIn(' => 'if (false) { return $this->fillIn('], 'Request\Fills' => ['$this->view->transactions->count > 0' => 'false']],
                ['in a transaction: writes and fills, which is rolled back', 'reads and fills'], [0, 1], 'none', false,
            ],
            'what was set in a transaction is stored whatever came between' => [
                [$transaction => ['$set = $this->sets->set($key, $space, $entry);' => '$this->standing->endOne($key); $this->view->history->swapped($key, \PHP_INT_MAX - 1, false); $set = $this->sets->set($key, $space, $entry);']],
                ['in a transaction: reads, modifies, writes', 'writes and sets'], [0, 1], 'none', true,
            ],
        ];
    }

    /** @return array<string, array{array<string, array<string, string>>, list<string>, list<int>, string, bool, 5?: bool, 6?: int}> */
    private static function failures(): array
    {
        $guard = 'Store\OutageGuard';
        $named = [
            $guard => ['private bool $isBusy = false;' => "private bool \$isBusy = false; public string \$own = '';", '$writer = \bin2hex(\random_bytes(6));' => '$writer = $this->own;'],
            'Request\Truth' => ['private readonly int $comparedEach = self::COMPARED, ) {}' => 'private readonly int $comparedEach = self::COMPARED, ) { $guard->own = $writer; }'],
        ];
        $away = ['reads and fills', 'writes and deletes', 'is away'];

        return [
            'the truth is read before what is pending is applied' => [
                [$guard => ['if ($this->pending === null || !$this->pending->pending()) {' => 'if (true) {']],
                $away, [0, 0], 'none', true,
            ],
            'the truth is read while another process applies what is pending' => [
                [$guard => ['$applied === false && $this->failed(' => '$applied = $this->until === 0 && $applied !== null; false && $this->failed(', '$applied === true || $this->until' => '$applied !== null || $this->until']],
                ['writes, deletes, lives on', 'reads and fills', 'is away'], [0, 0], 'none', true,
            ],
            'an invalidation that fails is not kept' => [
                [$guard => ['catch (Failure $failure) { $this->keep($invalidated, $writer, $start);' => 'catch (Failure $failure) {']],
                $away, [0, 1], 'none', true,
            ],
            'an invalidation is not kept while the truth is left alone' => [
                [$guard => ['!$this->isReachable()) { $this->keep($invalidated, $writer, $start);' => '!$this->isReachable()) {']],
                $away, [0, 1], 'none', true,
            ],
            'a set that fails over a conflict is not kept' => [
                [$guard => ['catch (Failure $failure) { $this->keep($invalidated, $writer, $start);' => 'catch (Failure $failure) {']],
                ['reads, modifies, writes', 'writes and sets', 'is away'], [0, 1], 'none', true,
            ],
            'a flush that fails is not kept' => [
                ['Request\Marks' => ['$markers, ), $markers);' => '$markers, ));']],
                ['reads and fills', 'writes, flushes', 'is away'], [0, 1], 'none', true,
            ],
            'what is pending is forgotten before it is applied' => [
                ['Tests\Model\Inside\Pending' => ['$apply($keys); $done' => "Machine::step('take', \count(\$keys)); \$apply(\$keys); \$done"]],
                $away, [0, 0], 'none', true,
            ],
            'what is pending is forgotten although it could not be applied' => [
                [$guard => ['fn(array $kept) => $invalidation->make($kept, $store->now(...)) || throw'
                    => 'fn(array $kept) => (static function () use ($invalidation, $kept, $store): bool { try { return $invalidation->make($kept, $store->now(...)); } catch (Failure) { return true; } })() || throw']],
                $away, [0, 0], 'none', true,
            ],
            'what another request kept is applied under the name of this one' => [
                $named,
                $away, [0, 0], 'none', false,
            ],
            'what is pending ends the intents of others' => [
                ['Store\Invalidation' => ['if ($standing !== []) {' => 'if (false) {']],
                ['writes, deletes, lives on', 'intends, writes', 'is away'], [0, 0], 'none', false, false, 1,
            ],
            'a fill waits although the deletion after it failed, and is not judged by it' => [
                $named + ['Request\Deletes' => [
                    'unset($this->writes->pending[$key]); $change = clone' => '$change = clone',
                    '$this->writes->gone($key, $space); $there = false;' => 'if ($outcome !== null) { unset($this->writes->pending[$key]); } $this->writes->gone($key, $space); $there = false;',
                ], 'Request\Fills' => [self::OWN => 'if (false) {']],
                ['fills, writes, deletes, lives on', 'is away'], [0], 'none', false,
            ],
        ];
    }

    /** @return array<string, array{array<string, array<string, string>>, list<string>, string, bool, int}> of a truth tier in this process: without the servers */
    public static function local(): array
    {
        $sets = 'Request\Sets';

        return [
            'a set is not judged when it is tried first' => [
                [$sets => ['$change->limit = $limit; $change->guards = \array_fill_keys($markers, $limit);' => '']],
                ['reads, modifies, writes', 'writes and sets'], 'none', true, 0,
            ],
            'no flush is in the way of a set' => [
                [$sets => ['$change->guards = \array_fill_keys($markers, $limit);' => '']],
                ['reads, modifies, writes', 'writes, flushes'], 'none', true, 0,
            ],
            'a set carries the position of now' => [
                [$sets => ['$change->limit = $limit; $change->guards' => '$this->view->renew(); $change->limit = $history->seen; $change->guards']],
                ['reads, modifies, writes', 'writes and sets'], 'none', true, 0,
            ],
            'a delete that hides another change forgets it' => [
                ['Request\Deletes' => ['$this->writes->noteForeign($key, $outcome->writer, $outcome->position);' => '', '$this->writes->noteForeign($key, $taken->writer, $taken->previous);' => '']],
                ['writes, reads, deletes, sets', 'writes and sets'], 'none', false, 0,
            ],
        ];
    }

    /** @return array<string, array{array<string, array<string, string>>, list<string>, list<int>, bool, int}> without the near tier */
    public static function disk(): array
    {
        $disk = 'Near\StoreNear';
        $first = 'if ($changes->list !== [] && !$this->writeState($epoch, $position, $token)) { continue; }';

        return [
            'its guard is raised after old copies were looked for' => [
                [$disk => [$first => '']], ['reads and fills', 'writes, deletes, refreshes'], [0, 0], false, 0,
            ],
            'it has followed before the old copies go' => [
                [$disk => [$first => 'if (!$this->writeState($changes->epoch, $end, $next)) { continue; } $this->position = $end;']],
                ['reads and fills', 'writes and deletes'], [0, 1], true, 1,
            ],
            'it takes copies without a guard' => [
                [$disk => ['[$this->stateKey => $guard],' => '[],']],
                ['reads and fills', 'writes, deletes, refreshes'], [0, 0], false, 0,
            ],
            'it keeps what changed' => [
                [$disk => ['if ($changed > $position) { $name' => 'if (false) { $name']],
                ['reads and fills', 'writes and deletes'], [0, 1], true, 0,
            ],
            'it goes on into another epoch' => [
                [$disk => ['$this->generation = \bin2hex(\random_bytes(4));' => "\$this->generation = 'g';"]],
                ['reads and fills', 'writes and deletes', 'begins anew'], [0, 1], true, 0,
            ],
        ];
    }
}
