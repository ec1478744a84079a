<?php

declare(strict_types=1);

namespace Larder\Psr;

use Larder\System\Clock;

/**
 * A copy of an item that waits for commit(), made when it was deferred.
 *
 * @internal
 */
final class Deferred
{
    public function __construct(
        /** The encoded value (Codec::encode()): later changes of its objects do not change it. */
        public readonly string $data,
        /** Milliseconds since 1970; null: no expiry. */
        private readonly ?int $expiry,
    ) {}

    /** Seconds for Cache::set(); 0: no expiry; negative: expired. */
    public function ttl(): int
    {
        return self::remaining($this->expiry);
    }

    /**
     * Seconds that remain, rounded up to the whole seconds of both PSRs: an item that lives for one second must not expire
     * because a millisecond has passed between expiresAfter() and save().
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
