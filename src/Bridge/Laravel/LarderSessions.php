<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Larder\Session\SessionChanged;
use Larder\Session\SessionFailure;
use Larder\Session\SessionHandler;

/**
 * Larder's sessions as Laravel asks for them: it neither opens nor closes a session, writes it under a new id after a log-in,
 * and may write it twice.
 */
final class LarderSessions implements \SessionHandlerInterface
{
    private ?SessionHandler $handler = null;

    public function __construct(private readonly Settings $settings, private readonly int $minutes) {}

    public function open(string $path, string $name): bool
    {
        return true;
    }

    public function close(): bool
    {
        return $this->handler()->close();
    }

    public function read(#[\SensitiveParameter] string $id): string
    {
        return $this->handler()->read($id);
    }

    public function write(#[\SensitiveParameter] string $id, #[\SensitiveParameter] string $data): bool
    {
        try {
            return $this->handler()->write($id, $data);
        } catch (SessionChanged $changed) {
            if ($this->settings->sessionLock) {
                throw $changed;
            }

            // Its response stands. Without locks only a session that was destroyed meanwhile is not written, by a log-out in another tab.
            return true;
        } finally {
            // Also what was read under the id from before a log-in.
            $this->handler()->close();
        }
    }

    public function destroy(#[\SensitiveParameter] string $id): bool
    {
        return $this->handler()->destroy($id);
    }

    public function gc(int $max_lifetime): int
    {
        return $this->handler()->gc($max_lifetime);
    }

    /** Gives back what a request has read and not written, at its end: its process may live on, and others wait for the lock. */
    public function end(): void
    {
        try {
            $this->handler?->close();
        } catch (SessionFailure) {
            // The lock ends at its time.
        }
    }

    private function handler(): SessionHandler
    {
        return $this->handler ??= $this->settings->open(fn(): SessionHandler => SessionHandler::over($this->settings->sessions($this->minutes)));
    }
}
