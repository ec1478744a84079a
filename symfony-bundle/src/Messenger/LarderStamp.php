<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle\Messenger;

use Larder\Queue\Message;
use Symfony\Component\Messenger\Stamp\NonSendableStampInterface;

/** The queue's message of an envelope that was received. */
final readonly class LarderStamp implements NonSendableStampInterface
{
    public function __construct(public Message $message) {}
}
