<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\Store\Journal\JournalIndex;

/**
 * Decides whether a conditional write may be made, for engines that decide in PHP under a lock of their own.
 *
 * It checks the key's last change. If that is the writer's own and hides another writer's, ChangeResult::$previous has named
 * the hidden one to the writer.
 */
final class WriteConditions
{
    /**
     * @param \Closure(string): ?Record           $peek  a key's record now; the first byte of its body is enough
     * @param \Closure(int, ?string): JournalIndex $cover the journal's known changes, from this position on if possible;
     *                                                   changes by this writer need not be among them
     */
    public function __construct(private readonly \Closure $peek, private readonly \Closure $cover) {}

    /**
     * @param ?Record $record the record of the change's key now; the first byte of its body is enough
     *
     * @return ?array{int, string, string, ?string} position, writer and kind of the conflicting change, and its guard
     */
    public function conflict(Change $change, ?Record $record): ?array
    {
        if ($record !== null && !$change->strict && $change->logged && ($record->body[0] ?? '') === Change::HELD) {
            return [$record->position, $record->writer, 'i', null];
        }
        if ($change->limit !== Change::ALWAYS) {
            if ($change->logged) {
                $conflict = $this->after($change->key, $record, $change->limit, $change->strict ? null : $change->writer);
            } else {
                $conflict = $record !== null && $record->position > $change->limit ? [$record->position, $record->writer, ''] : null;
            }
            if ($conflict !== null) {
                return [...$conflict, null];
            }
        }
        foreach ($change->guards as $guard => $limit) {
            $guard = (string) $guard;
            $conflict = $limit === Change::ALWAYS ? null : $this->after($guard, ($this->peek)($guard), $limit, $change->writer);
            if ($conflict !== null) {
                return [...$conflict, $guard];
            }
        }

        return null;
    }

    /**
     * @param ?Record $record the key's record now
     *
     * @return array{int, string} position and writer of the key's last change; 0 and '' if unknown
     */
    public static function before(string $key, ?Record $record, JournalIndex $known): array
    {
        if ($record !== null) {
            return [$record->position, $record->writer];
        }
        $last = $known->find($key);

        return $last === null ? [0, ''] : [$last[0], $last[1]];
    }

    /**
     * The key's last change, if it is after the limit and not by this writer.
     *
     * @return ?array{int, string, string}
     */
    private function after(string $key, ?Record $record, int $limit, ?string $writer): ?array
    {
        if ($record !== null) {
            // An existing record is the last change. The journal may name a newer one that never happened: its writer died
            // after announcing it and before storing it.
            if ($record->position <= $limit || $record->writer === $writer) {
                return null;
            }
            $last = ($this->cover)($limit, $writer)->find($key);

            return [$record->position, $record->writer, $last !== null && $last[0] === $record->position ? $last[2] : ''];
        }
        $known = ($this->cover)($limit, $writer);
        $last = $known->find($key);
        if ($last !== null && $last[0] > $limit) {
            return $last[1] === $writer ? null : $last;
        }

        return $limit < $known->floor($writer) ? [-1, '', ''] : null;
    }

    /** Kind of the change that made a record, as far as its body shows it. */
    public static function kind(?Record $record): string
    {
        $first = $record->body[0] ?? '';

        return $first === '' || \in_array($first, Change::KEPT, true) ? $first : 's';
    }
}
