<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;
use Larder\Store\Change;
use Larder\Store\Intent;

/** Puts this request's intents on keys and markers. An intent that no set or delete has ended ends with a change of its key. */
final class Intents
{
    private const TRIES = 50;

    /** @var array<string, Space> by key */
    private array $standing = [];

    /** @var array<string, Space> by key: intents that could not be written to the store */
    private array $untold = [];

    public function __construct(
        private readonly View $view,
        private readonly Reader $reader,
        private readonly Truth $truth,
        private readonly Writes $writes,
        private readonly Marks $marks,
    ) {}

    /**
     * @param bool $lasting until the end of a database transaction, however long that takes
     *
     * @return bool false: the store could not take the intent. The key is invalidated as soon as the store works again, and
     *              once more when the intent ends
     */
    public function put(string $key, Space $space, bool $lasting = false): bool
    {
        // It was computed before the change, and the intent may end, with the transaction, before it would be stored.
        $this->writes->discard($key);
        $this->view->history->change($key);
        for ($try = 0; $try < self::TRIES; $try++) {
            $snapshot = $this->reader->read([$key], $space);
            if ($snapshot === null) {
                break;
            }
            $record = $snapshot->records[$key] ?? null;
            if ($record !== null) {
                $this->writes->noteForeign($key, $record->writer, $record->position);
            } elseif ($snapshot->at > $this->view->history->seen) {
                // The key may have been removed, which leaves no record. The journal lists only a key's last change, and
                // the intent is about to be that, so ask now.
                $this->view->renew();
            }
            $now = $this->truth->now();
            $standing = $record === null ? [] : Intent::alive(Intent::parse($record->body), $now);
            $standing['w' . $this->view->writer] = Intent::begin($now, $lasting);
            // Also before the write: a signal's handler may throw after it, and the next set must know that it stands.
            $this->standing[$key] = $space;
            $this->writes->intended[$key] = true;
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
                $this->writes->intended[$key] = true;
                unset($this->untold[$key]);
                $this->writes->changed($key, $space, $outcomes[0]);

                return true;
            }
        }
        $this->untold[$key] = $space;
        $this->marks->invalidate([$key], $space);

        return false;
    }

    /** Whether the store has taken the last intent that was put on the key. */
    public function isTold(string $key): bool
    {
        return !isset($this->untold[$key]);
    }

    /** Forgets the key's intent, which a set or delete has just ended. */
    public function ended(string $key): void
    {
        unset($this->standing[$key], $this->untold[$key], $this->writes->intended[$key]);
    }

    /** Ends the intents that still stand when the request ends, each with a change of its key. */
    public function end(): void
    {
        foreach (\array_keys($this->standing) as $key) {
            $this->endOne((string) $key);
        }
        foreach ($this->untold as $key => $space) {
            $this->marks->invalidate([$key], $space);
        }
        $this->standing = $this->untold = $this->writes->intended = [];
    }

    /** Ends this request's intent on the key, if there is one, with a change of the key. False: the store could not record it. */
    public function endOne(string $key): bool
    {
        $space = $this->standing[$key] ?? $this->untold[$key] ?? null;
        if ($space === null) {
            return true;
        }
        $record = isset($this->untold[$key]) ? null : $this->reader->read([$key], $space)->records[$key] ?? null;
        if ($record !== null && isset(Intent::parse($record->body)['w' . $this->view->writer])) {
            $done = $this->marks->takeAwayRecord($key, $record);
        } else {
            // The store never took the intent, another process has ended it, or it was lost with its epoch. A value
            // stored since then may be older than the change that the intent announced.
            $done = $this->marks->invalidate([$key], $space);
        }
        $this->ended($key);

        return $done;
    }

    /** In a forked child: the intents are its parent's. */
    public function forget(): void
    {
        $this->standing = $this->untold = [];
    }
}
