<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** One direction of a connection through the Proxy. */
final class Pipe
{
    /** What has arrived and its reader has not taken yet. */
    public string $arrived = '';

    /** Bytes that have been read and not yet been taken by the reader. */
    public int $held = 0;

    /** Its writer has ended it, and that has been noticed. */
    public bool $ended = false;

    /** The end has arrived as well. */
    public bool $over = false;

    /** The other direction. */
    public ?self $back = null;

    /**
     * @param resource $from
     * @param resource $to
     */
    public function __construct(
        public readonly Line $line,
        public readonly mixed $from,
        public readonly mixed $to,
    ) {}
}
