<?php

declare(strict_types=1);

namespace Larder\Queue;

/**
 * At most so many messages within any so many seconds, of a queue and of all that hand it out so.
 *
 * A transport keeps the time of each message that was handed out under a rate, by its own clock and in the step that hands it
 * out. Rates over as many seconds share these times, whatever they allow.
 */
final class Rate
{
    /** Messages: their times are kept. */
    private const MOST = 10_000;

    /** Milliseconds. */
    public readonly int $window;

    /** Milliseconds until one that is ready may be handed out; 0: the last claim has held none back. */
    public int $held = 0;

    /** @throws \InvalidArgumentException */
    public function __construct(public readonly int $messages, int|float $seconds)
    {
        if ($messages < 1 || $messages > self::MOST) {
            throw new \InvalidArgumentException("A rate of $messages messages was asked for; write 1 to " . self::MOST . ' messages, for example 100 in 60 seconds.');
        }
        $this->window = Seconds::milliseconds('rate', $seconds, 0.001);
    }
}
