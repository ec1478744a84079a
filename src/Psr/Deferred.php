<?php

declare(strict_types=1);

namespace Larder\Psr;

use Larder\System\Clock;

/**
 * An item that waits for commit(), as it was when it was deferred.
 *
 * @internal
 */
final class Deferred
{
    public function __construct(
        /** The value as Codec::encode() returned it: objects that their holder changes meanwhile stay as they were. */
        public readonly string $data,
        /** Milliseconds since 1970; null for no expiry. */
        private readonly ?int $expiry,
    ) {}

    /** Seconds for Cache::set(): 0 for no expiry, negative when it is over. */
    public function ttl(): int
    {
        return self::remaining($this->expiry);
    }

    /**
     * Rounded up to whole seconds, the granularity of both texts: an item to live for one second must not be over
     * because a millisecond went by between expiresAfter() and save().
     *
     * @param ?int $expiry milliseconds since 1970
     */
    public static function remaining(?int $expiry): int
    {
        if ($expiry === null) {
            return 0;
        }
        $milliseconds = $expiry - Clock::now();

        return $milliseconds <= 0 ? -1 : \intdiv($milliseconds + 999, 1000);
    }
}
