<?php

declare(strict_types=1);

namespace Larder\Store;

/**
 * Removes keys, removes leases and moves markers, whatever their records hold. Only what other requests have stays where it is:
 * intents, for what those announced has not happened yet, and leases.
 */
final class Invalidation
{
    /** Lost races after which it gives up. */
    private const TRIES = 200;

    /**
     * @param \Closure(non-empty-list<Change>): ?non-empty-list<ChangeResult> $write
     * @param string                                                         $writer who makes the changes
     */
    public function __construct(private readonly \Closure $write, private readonly string $writer) {}

    /**
     * Invalidates keys.
     *
     * @param non-empty-array<string, list<string>> $keys each with the writers whose intents and leases on it have ended
     * @param \Closure(): int                       $now  milliseconds by the store's clock
     *
     * @return bool false: not all of them, since a write returned null or lost its races
     */
    public function make(array $keys, \Closure $now): bool
    {
        $changes = [];
        foreach ($keys as $key => $ended) {
            $changes[] = $this->change((string) $key);
        }
        $results = ($this->write)($changes);
        foreach ($results ?? [] as $i => $result) {
            if (!$result->done && $this->over($changes[$i]->key, $result, $keys[$changes[$i]->key], $now()) === null) {
                return false;
            }
        }

        return $results !== null;
    }

    /**
     * Invalidates a key or marker over what was in the way of a change.
     *
     * @param list<string> $ended writers whose intents on it have ended
     * @param string       $kind  of the change, where it is another than the key's usual one
     *
     * @return ?ChangeResult null: a write returned null or lost its races
     */
    public function over(string $key, ChangeResult $result, array $ended, int $now, string $kind = ''): ?ChangeResult
    {
        for ($try = 0; $try < self::TRIES; $try++) {
            if ($key[0] === 'l' && !\in_array($result->record->writer ?? '', $ended, true)) {
                // Another request's by now.
                return $result;
            }
            $change = $this->change($key);
            $standing = Intent::others($result->record->body ?? '', $ended, $now);
            if ($standing !== []) {
                $change->body = Intent::body($standing);
            }
            if ($kind !== '') {
                $change->kind = $kind;
            }
            if ($result->record !== null) {
                $change->limit = $result->record->position;
                $change->strict = true;
            }
            $results = ($this->write)([$change]);
            if ($results === null || $results[0]->done) {
                return $results[0] ?? null;
            }
            $result = $results[0];
        }

        return null;
    }

    private function change(string $key): Change
    {
        return match ($key[0]) {
            'e' => new Change($key, null, $this->writer, kind: 'd'),
            // A lease that could not be released: whose it is over() sees.
            'l' => new Change($key, null, $this->writer, 0, logged: false, kind: 'd', strict: true),
            default => new Change($key, 'm', $this->writer, kind: 'm'),
        };
    }
}
