<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/**
 * One direction of a line that all connections share: each piece is sent when those before it are, takes its time
 * at the line's rate, and arrives after the delay.
 *
 *     given ──▶ waits for the line ──▶ bytes / rate ──▶ delay ──▶ due
 *
 * Only bytes of the connections count, not the headers of packets; so it is six per cent faster than Ethernet.
 *
 * @phpstan-type Piece array{int, Pipe, string}
 */
final class Line
{
    /** @var \SplQueue<Piece> with when it is due (hrtime, which only grows from one to the next) */
    private \SplQueue $pieces;

    /** When all that it was given has been sent. */
    private int $free = 0;

    private readonly float $perByte;

    /**
     * @param int $delay nanoseconds
     * @param int $rate  bits a second
     */
    public function __construct(private readonly int $delay, int $rate)
    {
        $this->perByte = 8e9 / $rate;
        $this->pieces = new \SplQueue();
    }

    /** @param string $bytes '' for the end of what the pipe carries */
    public function send(Pipe $pipe, string $bytes, int $now): void
    {
        $this->free = \max($this->free, $now) + (int) \ceil(\strlen($bytes) * $this->perByte);
        $this->pieces->enqueue([$this->free + $this->delay, $pipe, $bytes]);
    }

    /** When the next piece arrives; null if there is none. */
    public function due(): ?int
    {
        return $this->pieces->isEmpty() ? null : $this->pieces->bottom()[0];
    }

    /** @return ?Piece the next one that has arrived */
    public function arrived(int $now): ?array
    {
        return $this->pieces->isEmpty() || $this->pieces->bottom()[0] > $now ? null : $this->pieces->dequeue();
    }
}
