<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Inside;

use Larder\Store\Change;
use Larder\Store\Store;
use Larder\System\Failure;
use Larder\Tests\Model\Machine;

/** One process that uses an engine, for what tiers do with it. */
final class Client
{
    /** @param string $writer 12 hexadecimal digits */
    public function __construct(private readonly Store $store, private readonly string $writer) {}

    public function set(string $key, string $body): void
    {
        $this->write(new Change($key, $body, $this->writer));
    }

    /** A store that has just made another change may append this one, and apply it later. */
    public function append(string $key, string $body): void
    {
        $this->set('first', 'vfirst');
        $change = new Change($key, $body, $this->writer);
        $change->asks = false;
        $this->write($change);
    }

    /** The same, unless another writer has changed the key since it was read. */
    public function appendFill(string $key, string $body): void
    {
        $this->set('first', 'vfirst');
        $view = $this->store->read([$key]);
        $change = new Change($key, $body, $this->writer, $view->at);
        $change->asks = false;
        $this->write($change, $view->records[$key]->position ?? null);
    }

    public function delete(string $key): void
    {
        $this->write(new Change($key, null, $this->writer, kind: 'd'));
    }

    /** Moves a marker: what was read before counts as invalid. */
    public function mark(string $marker): void
    {
        $this->write(new Change($marker, 'm', $this->writer, kind: 'm'));
    }

    /** What a fill does: not stored if somebody changed the key since it was read. */
    public function fill(string $key, string $body): void
    {
        $view = $this->store->read([$key]);
        $this->write(new Change($key, $body, $this->writer, $view->at), $view->records[$key]->position ?? null);
    }

    /** The same, but another writer has set the key in between, and the server has evicted all that tells of it. */
    public function fillForgotten(string $key, string $body): void
    {
        $view = $this->store->read([$key]);
        $set = $this->store->write([new Change($key, 'vforgotten', 'bbbbbbbbbbbb')])[0];
        Machine::step('made', $key, $set->position, $set->position);
        Machine::step('lose', ":r:$key");
        Machine::step('lose', ':j:');
        $this->write(new Change($key, $body, $this->writer, $view->at), $view->records[$key]->position ?? null);
    }

    /** The same, computed under a marker that must not move. */
    public function fillGuarded(string $key, string $body, string $marker): void
    {
        $view = $this->store->read([$key, $marker]);
        $change = new Change($key, $body, $this->writer, $view->at, guards: [$marker => $view->at]);
        $outcome = $this->store->write([$change])[0];
        if ($outcome->done) {
            Machine::step('guarded', $view->at, $outcome->position);
            Machine::step('returned', $key, $outcome->position, 's');
        }
    }

    /** Adds one by compare-and-swap. */
    public function count(string $key): void
    {
        for ($try = 0; $try < 3; $try++) {
            $view = $this->store->read([$key]);
            $record = $view->records[$key] ?? null;
            $count = (int) \substr($record->body ?? 'v0', 1) + 1;
            $change = new Change($key, "v$count", $this->writer, $record->position ?? $view->at, strict: true);
            $outcome = $this->store->write([$change])[0];
            if ($outcome->done) {
                Machine::step('counted', $count);
                Machine::step('returned', $key, $outcome->position, 's');

                return;
            }
        }
    }

    /** A request of the near tier: follows the log, then reads the key and keeps a copy. */
    public function follow(string $key): void
    {
        /** @var array<string, int> $promised */
        $promised = Machine::step('promised');
        $this->look();
        /** @var array{array{string, int, string}, array<string, array{int, string}>} $near */
        $near = Machine::step('near');
        $copy = $near[1][$key] ?? null;
        $least = $promised[$key] ?? 0;
        $copy === null || Machine::step('met', $key, $copy[1]);
        if ($copy !== null && $copy[0] < $least) {
            Machine::step('violation', "a copy of $copy[0] where $least had returned before the request began");
        }
        if ($copy === null) {
            $view = $this->store->read([$key]);
            $record = $view->records[$key] ?? null;
            Machine::step('met', $key, $record->body ?? '');
            if ($record !== null) {
                if ($record->position < $least) {
                    Machine::step('violation', "a record of $record->position where $least had returned before the request began");
                }
                Machine::step('keep', $key, $record->position, $record->body, $view->epoch, $view->at);
            }
        }
    }

    /** What the near tier has after the log was followed must be what the engine has. */
    public function compare(string $key): void
    {
        /** @var array<string, int> $promised */
        $promised = Machine::step('promised');
        $this->look();
        /** @var array{array{string, int, string}, array<string, array{int, string}>} $near */
        $near = Machine::step('near');
        $record = $this->store->read([$key])->records[$key] ?? null;
        $copy = $near[1][$key] ?? null;
        // A record that was evicted is no change.
        $same = $record === null ? ($copy[0] ?? 0) >= ($promised[$key] ?? 0) : $copy === [$record->position, $record->body];
        if ($copy !== null && !$same) {
            Machine::step('violation', \sprintf(
                'a copy of %d (%s) is kept where the engine has %d (%s)',
                $copy[0],
                $copy[1],
                $record->position ?? 0,
                $record->body ?? '',
            ));
        }
    }

    private function look(): void
    {
        /** @var array{array{string, int, string}, mixed} $near */
        $near = Machine::step('near');
        $changes = $this->store->since(...$near[0]);
        Machine::step('follow', $changes->epoch, $changes->end, $changes->token, $changes->complete, $changes->list);
    }

    /** @param ?int $seen position of what it was computed from */
    private function write(Change $change, ?int $seen = null): void
    {
        try {
            $outcome = $this->store->write([$change])[0];
        } catch (Failure) {
            return;
        }
        if ($outcome->done) {
            Machine::step('made', $change->key, $seen ?? $outcome->position, $outcome->position);
            Machine::step('returned', $change->key, $outcome->position, $change->kind);
        }
    }
}
