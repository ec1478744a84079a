<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;
use Larder\Store\Change;
use Larder\Store\ChangeResult;

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
     * Removes one key, as most are.
     *
     * @param bool $there set to whether it had a value (one that a tag has invalidated counts)
     */
    public function one(string $key, Space $space, ?bool &$there = null): bool
    {
        $waited = isset($this->writes->pending[$key]);
        $change = $this->begin($key);
        if ($this->truth->readsPosition()) {
            // If no other writer has changed the key since it was read, what was there tells nothing.
            $history = $this->view->history;
            $limit = $history->limitOfAll($key, [], $history->reference($key)[1]);
            if ($limit !== null) {
                $change->limit = $limit;
                $change->epoch = $history->epoch;
                $change->asks = false;
            }
        }

        return $this->end($key, $space, $this->truth->write([$change], [$key])[0] ?? null, $waited, $there);
    }

    /** @param non-empty-list<string> $keys of one space */
    public function delete(array $keys, Space $space): bool
    {
        if (!isset($keys[1])) {
            return $this->one($keys[0], $space);
        }
        $outcomes = $this->truth->write(\array_map($this->begin(...), $keys), $keys);
        $done = true;
        foreach ($keys as $i => $key) {
            $done = $this->end($key, $space, $outcomes[$i] ?? null) && $done;
        }

        return $done;
    }

    private function begin(string $key): Change
    {
        $this->view->history->change($key);
        unset($this->writes->pending[$key]);
        $change = clone $this->writes->blank;
        $change->key = $key;
        $change->writer = $this->view->writer;
        $change->kind = Entry::DELETED;
        $change->asks = true;

        return $change;
    }

    /**
     * @param ?ChangeResult $outcome null: unknown
     * @param bool          $waited  a fill of the key waited
     *
     * @param-out bool $there
     *
     * @return bool whether the truth tier has recorded it
     */
    private function end(string $key, Space $space, ?ChangeResult $outcome, bool $waited = false, ?bool &$there = null): bool
    {
        $this->writes->gone($key, $space);
        $there = false;
        $done = $outcome !== null;
        $history = $this->view->history;
        if ($outcome !== null && $outcome->done) {
            $history->own($outcome->position, $outcome->step);
            $outcome->previous === 0 || $this->writes->noteForeign($key, $outcome->writer, $outcome->previous);
            $there = $waited || ($outcome->kind === 's' && $outcome->previous > $this->view->floor($space));
        } elseif ($outcome !== null) {
            $this->writes->noteForeign($key, $outcome->writer, $outcome->position);
            $there = $outcome->kind === 's' && $outcome->record !== null;
            $taken = $this->writes->takeAway($key, $outcome);
            $done = $taken !== null;
            if ($taken !== null) {
                $history->own($taken->position, $taken->step);
                $this->writes->noteForeign($key, $taken->writer, $taken->previous);
            }
        }
        // Once more: a destructor that has read the key meanwhile began a view, by which a fill outside must not be judged.
        $history->change($key);

        return $done;
    }
}
