<?php

declare(strict_types=1);

namespace Larder\Tier;

use Larder\Lease\Owner;
use Larder\Store\Change;

/** The intents of this request: put on keys, and ended, if no set or delete did it, with a change of the key. */
final class Intents
{
    private const TRIES = 50;

    /** @var array<string, Space> by key */
    private array $standing = [];

    /** @var array<string, Space> by key: those that the store could not be told */
    private array $untold = [];

    public function __construct(
        private readonly Stack $stack,
        private readonly Truth $truth,
        private readonly Writer $writer,
    ) {}

    public function put(string $key, Space $space): bool
    {
        for ($try = 0; $try < self::TRIES; $try++) {
            $view = $this->stack->read([$key], $space);
            if ($view === null) {
                break;
            }
            $record = $view->records[$key] ?? null;
            if ($record !== null) {
                $this->writer->noteForeign($key, $record->writer, $record->position);
            } elseif ($view->at > $this->stack->ledger->seen) {
                // A removal leaves no record that tells of it, and the intent will be the key's last change: after
                // that, nobody else's before it is listed any more.
                $this->stack->renew();
            }
            $standing = $record === null ? [] : Intent::alive(Intent::parse($record->body), Entry::now());
            $standing['w' . $this->stack->writer] = [Entry::now() + Intent::LIFE, Owner::current()];
            $outcomes = $this->truth->write([new Change(
                $key,
                Intent::body($standing),
                $this->stack->writer,
                $record->position ?? $view->at,
                kind: Entry::INTENT,
                strict: true,
            )], [$key]);
            if ($outcomes === null) {
                break;
            }
            if ($outcomes[0]->done) {
                $this->standing[$key] = $space;
                $this->writer->intended[$key] = true;
                $this->writer->gone($key, $space);

                return true;
            }
        }
        // Nobody else knows that the key is about to change. What there is goes now, or as soon as that is possible,
        // and what comes until the request's end goes then.
        $this->untold[$key] = $space;
        $this->writer->delete([$key], $space);

        return false;
    }

    /** A set or delete of the key has ended its intent. */
    public function ended(string $key): void
    {
        unset($this->standing[$key], $this->untold[$key], $this->writer->intended[$key]);
    }

    /** The request is over: whatever still stands goes, with a change of its key. */
    public function end(): void
    {
        foreach ($this->standing as $key => $space) {
            $view = $this->stack->read([$key], $space);
            $record = $view->records[$key] ?? null;
            // Gone or replaced already: somebody else ended it, with a change.
            if ($record !== null && isset(Intent::parse($record->body)['w' . $this->stack->writer])) {
                $this->writer->takeAwayRecord($key, $record);
            }
        }
        foreach ($this->untold as $key => $space) {
            $this->writer->delete([$key], $space);
        }
        $this->standing = $this->untold = $this->writer->intended = [];
    }

    /** After a fork: these are the parent's. */
    public function forget(): void
    {
        $this->standing = $this->untold = [];
    }
}
