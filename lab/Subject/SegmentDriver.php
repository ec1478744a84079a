<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/**
 * The extension's segment by itself, by its class: the values are read where they lie in shared memory.
 *
 * Each process that measures makes a new one. Processes at once share it, as the workers of php-fpm do.
 *
 * A request reads in place what lies in the lower half of the segment, and above until that is an eighth of it; then it copies.
 * To the segment a script on the command line is one request, however long it takes: the values of one task are chosen
 * so that they stay below that (Worker\Keys).
 */
final class SegmentDriver extends InSegment
{
    /** As much memory as APCu has in the same scenario. */
    public const BYTES = 268_435_456;

    public function connect(): void
    {
        parent::connect();
        if (($this->stats()['mode'] ?? null) !== 'zero-copy') {
            // What would be measured then is something else.
            throw EngineFailure::off('This process cannot read the segment in place', 'see bin/larder doctor: its address is taken, or all of its slots for readers are');
        }
    }

    public function write(array $values): void
    {
        $segment = $this->segment ?? throw EngineFailure::notConnected();
        foreach ($values as $key => $value) {
            if (!$segment->set($key, $value)) {
                throw EngineFailure::refused('The segment', 'store it', 'is it full of what other processes are reading?');
            }
        }
    }

    public function read(array $keys): mixed
    {
        $segment = $this->segment ?? throw EngineFailure::notConnected();
        $value = null;
        foreach ($keys as $key) {
            $value = $segment->get($key);
        }

        return $value;
    }

    public function increment(string $key, int $times): mixed
    {
        $segment = $this->segment ?? throw EngineFailure::notConnected();
        $count = false;
        for ($i = 0; $i < $times; ++$i) {
            $count = $segment->increment($key);
        }

        return $count;
    }
}
