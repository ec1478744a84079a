<?php

declare(strict_types=1);

namespace Larder\Store;

/**
 * The record that a store keeps for one key.
 *
 * No code changes its properties. Every read fills them, and as they are, neither promoted nor read-only, that costs a third
 * less.
 */
final class Record
{
    /** Opaque to the store; its first byte says what kind it is (see Codec\Entry). */
    public string $body = '';

    /** Position of the key's last change; for a record outside the journal (a lease) its own version. */
    public int $position = 0;

    /** The writer of that change: Change::$writer. */
    public string $writer = '';

    public function __construct(string $body, int $position, string $writer)
    {
        $this->body = $body;
        $this->position = $position;
        $this->writer = $writer;
    }
}
