<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;

/** Removes keys. */
final class Deletes
{
    public function __construct(
        private readonly Writes $writes,
        private readonly View $view,
        private readonly Truth $truth,
    ) {}

    /** Whether a key has a value now (one that a tag has invalidated counts). Does not count as a read of the application's. */
    public function isThere(string $key, Space $space): bool
    {
        if (isset($this->writes->pending[$key])) {
            return true;
        }
        $epoch = $this->view->history->epoch;
        $position = $this->truth->positions([$key], $epoch)[0] ?? null;
        if ($position !== null) {
            $isThere = $position > $this->view->floor($space);
            if ($epoch === $this->view->history->epoch) {
                return $isThere;
            }
        }
        $record = $this->view->again([$key])->records[$key] ?? null;

        return $record !== null && ($record->body[0] ?? '') !== Entry::INTENT && $record->position > $this->view->floor($space);
    }

    /**
     * @param non-empty-list<string> $keys  of one space
     * @param int                    $there set to how many of them had a value (one that a tag has invalidated counts)
     */
    public function delete(array $keys, Space $space, int &$there = 0): bool
    {
        $there = 0;
        $changes = $waited = [];
        foreach ($keys as $key) {
            $this->view->history->change($key);
            $waited[$key] = isset($this->writes->pending[$key]);
            unset($this->writes->pending[$key]);
            $change = clone $this->writes->blank;
            $change->key = $key;
            $change->writer = $this->view->writer;
            $change->kind = Entry::DELETED;
            $change->asks = true;
            $changes[] = $change;
        }
        if (!isset($changes[1]) && $this->truth->readsPosition()) {
            // If nobody else has changed the key since it was read, what was there tells nothing.
            $limit = $this->view->history->limitOfAll($keys[0], [], $this->view->history->reference($keys[0])[1]);
            if ($limit !== null) {
                $changes[0]->limit = $limit;
                $changes[0]->epoch = $this->view->history->epoch;
                $changes[0]->asks = false;
            }
        }
        $outcomes = $this->truth->write($changes, $keys);
        foreach ($keys as $i => $key) {
            $this->writes->gone($key, $space);
            $outcome = $outcomes[$i] ?? null;
            if ($outcome !== null && $outcome->done) {
                $this->view->history->own($outcome->position, $outcome->step);
                $this->writes->noteForeign($key, $outcome->writer, $outcome->previous);
                if ($waited[$key] || $outcome->kind === 's' && $outcome->previous > $this->view->floor($space)) {
                    $there++;
                }
            } elseif ($outcome !== null) {
                $this->writes->noteForeign($key, $outcome->writer, $outcome->position);
                $there += $outcome->kind === 's' && $outcome->record !== null ? 1 : 0;
                $taken = $this->writes->takeAway($key, $outcome);
                if ($taken === null) {
                    $outcomes = null;
                } else {
                    $this->view->history->own($taken->position, $taken->step);
                    $this->writes->noteForeign($key, $taken->writer, $taken->previous);
                }
            }
            // Once more: a destructor that has read the key meanwhile began a view, by which a fill outside must not be judged.
            $this->view->history->change($key);
        }

        return $outcomes !== null;
    }
}
