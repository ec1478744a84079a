<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/**
 * The segment as a serializer: what it takes to bring a value into the form in which it lies there, and to have it again.
 *
 * Its size is what the segment says that it has taken: blocks of certain sizes, with the key and all else that belongs
 * to an entry. Serialized bytes need a place as well, which is not in their size.
 */
final class SegmentFormDriver extends InSegment
{
    private const KEY = 'value';

    public function write(array $values): void
    {
        $segment = $this->segment ?? throw EngineFailure::notConnected();
        foreach ($values as $value) {
            if (!$segment->set(self::KEY, $value)) {
                throw EngineFailure::refused('The segment', 'store it', 'is it full?');
            }
        }
    }

    public function read(array $keys): mixed
    {
        $segment = $this->segment ?? throw EngineFailure::notConnected();
        $value = null;
        foreach ($keys as $_) {
            $value = $segment->get(self::KEY);
        }

        return $value;
    }

    /** Found by storing it once more, beside the one that is there, which another driver may have written. */
    public function size(): int
    {
        $segment = $this->segment ?? throw EngineFailure::notConnected();
        if (!$segment->has(self::KEY)) {
            return 0;
        }
        $before = $this->used();
        if (!$segment->set(self::KEY . ' beside', $segment->get(self::KEY))) {
            throw EngineFailure::refused('The segment', 'store it', 'is it full?');
        }
        $size = $this->used() - $before;
        $segment->delete(self::KEY . ' beside');

        return \max(0, $size);
    }

    private function used(): int
    {
        $used = $this->stats()['bytes_used'] ?? null;

        return \is_int($used) ? $used : throw EngineFailure::refused('The segment', 'say how much of it is used', '');
    }
}
