<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle\Messenger;

use Larder\Cache;
use Symfony\Component\EventDispatcher\EventSubscriberInterface;
use Symfony\Component\Messenger\Event\WorkerMessageReceivedEvent;

/**
 * Lets each message begin as a request of its own: Messenger resets services after a message, and the worker may wait for
 * hours until the next one.
 */
final class RefreshListener implements EventSubscriberInterface
{
    public static function getSubscribedEvents(): array
    {
        // Before any listener that reads a cache.
        return [WorkerMessageReceivedEvent::class => ['refresh', 1024]];
    }

    public function refresh(): void
    {
        Cache::refreshAll();
    }
}
