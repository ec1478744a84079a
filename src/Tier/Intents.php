<?php

declare(strict_types=1);

namespace Larder\Tier;

use Larder\Codec\Entry;
use Larder\Store\Change;

/** The intents of this request: put on keys and markers, and ended, if no set or delete did it, with a change of the key. */
final class Intents
{
    private const TRIES = 50;

    /** @var array<string, Space> by key */
    private array $standing = [];

    /** @var array<string, Space> by key: those that the store could not be told */
    private array $untold = [];

    public function __construct(
        private readonly View $view,
        private readonly Reader $reader,
        private readonly Truth $truth,
        private readonly Writer $writer,
    ) {}

    /**
     * @param bool $lasting until the end of a database transaction, however long that takes
     *
     * @return bool false: the store could not be told. What there is goes as soon as that is possible, and once more when
     *              the intent ends
     */
    public function put(string $key, Space $space, bool $lasting = false): bool
    {
        for ($try = 0; $try < self::TRIES; $try++) {
            $snapshot = $this->reader->read([$key], $space);
            if ($snapshot === null) {
                break;
            }
            $record = $snapshot->records[$key] ?? null;
            if ($record !== null) {
                $this->writer->noteForeign($key, $record->writer, $record->position);
            } elseif ($snapshot->at > $this->view->history->seen) {
                // A removal leaves no record that tells of it, and the intent will be the key's last change: after
                // that, nobody else's before it is listed any more.
                $this->view->renew();
            }
            $now = $this->truth->now();
            $standing = $record === null ? [] : Intent::alive(Intent::parse($record->body), $now);
            $standing['w' . $this->view->writer] = Intent::begin($now, $lasting);
            $outcomes = $this->truth->write([new Change(
                $key,
                Intent::body($standing),
                $this->view->writer,
                $record->position ?? $snapshot->at,
                kind: Entry::INTENT,
                strict: true,
                epoch: $snapshot->epoch,
            )], [$key]);
            if ($outcomes === null) {
                break;
            }
            if ($outcomes[0]->done) {
                $this->standing[$key] = $space;
                $this->writer->intended[$key] = true;
                $this->writer->changed($key, $space, $outcomes[0]);

                return true;
            }
        }
        $this->untold[$key] = $space;
        $this->writer->invalidate([$key], $space);

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
        foreach (\array_keys($this->standing) as $key) {
            $this->endOne((string) $key);
        }
        foreach ($this->untold as $key => $space) {
            $this->writer->invalidate([$key], $space);
        }
        $this->standing = $this->untold = $this->writer->intended = [];
    }

    /** An intent of this request, if it stands, goes with a change of its key. False: the store could not be told. */
    public function endOne(string $key): bool
    {
        $space = $this->standing[$key] ?? $this->untold[$key] ?? null;
        if ($space === null) {
            return true;
        }
        $record = isset($this->untold[$key]) ? null : $this->reader->read([$key], $space)->records[$key] ?? null;
        if ($record !== null && isset(Intent::parse($record->body)['w' . $this->view->writer])) {
            $done = $this->writer->takeAwayRecord($key, $record);
        } else {
            // The store was never told, somebody else has ended it, or the store has begun a new epoch without it: what
            // others stored since may be from before the change that was intended.
            $done = $this->writer->invalidate([$key], $space);
        }
        $this->ended($key);

        return $done;
    }

    /** After a fork: these are the parent's. */
    public function forget(): void
    {
        $this->standing = $this->untold = [];
    }
}
