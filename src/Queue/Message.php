<?php

declare(strict_types=1);

namespace Larder\Queue;

/**
 * A message that this process handles. Until its time has passed no other worker gets it; then another worker may get it, and
 * every method here returns false and does nothing.
 */
final class Message
{
    private bool $isDone = false;

    /**
     * @internal
     *
     * @param mixed $body     as it was pushed
     * @param int   $attempts handings out until now, this one with them
     */
    public function __construct(
        private readonly Transport $transport,
        private readonly string $token,
        public readonly string $id,
        public readonly mixed $body,
        public readonly int $attempts,
        private readonly Retry $retry,
    ) {}

    /** Removes the message: it was handled. */
    public function ack(): bool
    {
        return $this->once(fn(): bool => $this->transport->acknowledge([[$this->id, $this->token]])[0]);
    }

    /**
     * Gives the message back, to be handled again.
     *
     * @param null|int|float $delay seconds until then; null: after a pause that grows with the attempts
     * @param string         $error why, for those who look at the dead
     */
    public function release(int|float|null $delay = 0, string $error = ''): bool
    {
        $milliseconds = $delay === null ? $this->retry->pause($this->attempts) : Seconds::milliseconds('delay', $delay);

        return $this->once(fn(): bool => $this->transport->release($this->id, $this->token, $milliseconds, $error));
    }

    /** Keeps the message for so many seconds from now on. */
    public function extend(int|float $seconds): bool
    {
        $milliseconds = Seconds::milliseconds('visibility', $seconds, 0.001);

        return !$this->isDone && $this->transport->extend($this->id, $this->token, $milliseconds);
    }

    /**
     * Puts the message among the dead, where Queue::retryDead() finds it.
     *
     * @param string $error why
     */
    public function bury(string $error = ''): bool
    {
        return $this->once(fn(): bool => $this->transport->bury($this->id, $this->token, $error));
    }

    /** Whether this process has ended it: by ack(), release() or bury(). */
    public function isDone(): bool
    {
        return $this->isDone;
    }

    /** Whether this is its last attempt: released now, it is dead. */
    public function isLast(): bool
    {
        return $this->attempts >= $this->retry->most;
    }

    /**
     * @internal with these, Queue::held() makes it in another process, which looks after it, and a transport acknowledges it
     *
     * @return array{string, string} id and token
     */
    public function claim(): array
    {
        return [$this->id, $this->token];
    }

    /** @internal whether it can be acknowledged in one step with others of this transport */
    public function isOf(Transport $transport): bool
    {
        return $transport === $this->transport;
    }

    /** @internal it was acknowledged in one step with others */
    public function end(): void
    {
        $this->isDone = true;
    }

    /** @param \Closure(): bool $do */
    private function once(\Closure $do): bool
    {
        if ($this->isDone) {
            return false;
        }
        // If that fails, it can be tried again.
        $isEnded = $do();
        $this->isDone = true;

        return $isEnded;
    }
}
