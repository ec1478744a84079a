<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Record;

/** Moves the markers of spaces and tags, and ends intents on keys and markers. */
final class Marks
{
    /** New epochs that a mark follows before it is set in whichever epoch the store has. */
    private const EPOCHS = 3;

    public function __construct(
        private readonly Writes $writes,
        private readonly View $view,
        private readonly Truth $truth,
        private readonly Deletes $deletes,
    ) {}

    /**
     * Flushes spaces or invalidates tags: every entry at or before the markers' new positions is invalid.
     *
     * @param non-empty-list<string> $markers
     */
    public function mark(array $markers): bool
    {
        foreach ($markers as $marker) {
            $this->view->history->change($marker);
        }
        $this->writes->discardMarked($markers);
        for ($try = 1; ; $try++) {
            $epoch = $try <= self::EPOCHS ? $this->view->history->epoch : '';
            $outcomes = $this->truth->write(\array_map(
                fn(string $marker): Change => new Change($marker, Entry::MARKER, $this->view->writer, kind: Entry::MARKER, epoch: $epoch),
                $markers,
            ), $markers);
            if ($outcomes === null || $epoch === '' || $outcomes[0]->position >= 0) {
                break;
            }
            // The store has begun a new epoch, in which older near copies cannot be compared with this marker.
            $this->view->renew();
        }
        $done = true;
        foreach ($markers as $i => $marker) {
            $this->view->history->change($marker);
            $this->view->near?->drop($marker);
            $outcome = $outcomes[$i] ?? null;
            if ($outcome !== null && !$outcome->done) {
                // An intent stands on the marker.
                $outcome = $this->writes->takeAway($marker, $outcome);
            }
            if ($outcome === null) {
                // The store could not record it, but for this request it counts.
                $this->view->changed($marker, \PHP_INT_MAX, true);
                $done = false;
            } else {
                $this->writes->moved($marker, $outcome);
            }
        }
        $this->writes->pending === [] || $this->writes->showPending();

        return $done;
    }

    /** Ends this request's intent in the record, with a change of the key. */
    public function takeAwayRecord(string $key, Record $record): bool
    {
        $this->view->history->change($key);
        $outcome = $this->writes->takeAway($key, new ChangeResult(false, $record->position, record: $record));
        if ($outcome !== null && $key[0] !== 'e') {
            $this->writes->moved($key, $outcome);
        }

        return $outcome !== null;
    }

    /**
     * Changes keys, or moves markers, whatever their records hold.
     *
     * @param non-empty-list<string> $keys
     */
    public function invalidate(array $keys, Space $space): bool
    {
        return $keys[0][0] === 'e' ? $this->deletes->delete($keys, $space) : $this->mark($keys);
    }
}
