<?php

declare(strict_types=1);

namespace Larder\Store;

/**
 * Removes keys, removes leases and moves markers, whatever their records hold. Only what other requests have stays where it is:
 * intents, for what those announced has not happened yet, and leases.
 */
final class Invalidation
{
    /** Lost races after which it gives up; and so many, where they have taken so long (nanoseconds): over a slow network each takes long. */
    private const TRIES = 200;
    private const FEW = 3;
    private const LONG = 1_000_000_000;

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
        $changes = \array_map($this->change(...), \array_map(\strval(...), \array_keys($keys)));
        $results = ($this->write)($changes);
        $refused = \array_filter(self::byKey($changes, $results ?? []), static fn(ChangeResult $result): bool => !$result->done);

        return $results !== null && ($refused === [] || $this->all($refused, $keys, $now()) !== null);
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
        return $this->all([$key => $result], [$key => $ended], $now, $kind)[$key] ?? null;
    }

    /**
     * Invalidates all of them in one write, and again those whose record another process has changed meanwhile.
     *
     * @param array<string, ChangeResult> $results what was in the way, by key
     * @param array<string, list<string>> $ended   as for make()
     *
     * @return ?array<string, ChangeResult> as for over()
     */
    private function all(array $results, array $ended, int $now, string $kind = ''): ?array
    {
        $open = $results;
        $begun = (int) \hrtime(true);
        for ($try = 0; $try < self::TRIES && ($try < self::FEW || \hrtime(true) - $begun < self::LONG); $try++) {
            $changes = [];
            foreach ($open as $key => $result) {
                $key = (string) $key;
                if ($key[0] === 'l' && !\in_array($result->record->writer ?? '', $ended[$key], true)) {
                    // Another request's by now.
                    continue;
                }
                $changes[] = $change = $this->change($key);
                $standing = Intent::others($result->record->body ?? '', $ended[$key], $now);
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
            }
            if ($changes === []) {
                return $results;
            }
            $written = ($this->write)($changes);
            if ($written === null) {
                return null;
            }
            $open = self::byKey($changes, $written);
            $results = $open + $results;
            $open = \array_filter($open, static fn(ChangeResult $result): bool => !$result->done);
        }

        return null;
    }

    /**
     * @param list<Change>       $changes
     * @param list<ChangeResult> $results
     *
     * @return array<string, ChangeResult>
     */
    private static function byKey(array $changes, array $results): array
    {
        $named = [];
        foreach ($results as $i => $result) {
            $named[$changes[$i]->key] = $result;
        }

        return $named;
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
