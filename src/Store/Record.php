<?php

declare(strict_types=1);

namespace Larder\Store;

/** The record that a store keeps for one key. */
final class Record
{
    public function __construct(
        /** Opaque to the store; its first byte says what kind it is (see Codec\Entry). */
        public readonly string $body,
        /** Position of the key's last change; for a record outside the journal (a lease) its own version. */
        public readonly int $position,
        /** The writer of that change: Change::$writer. */
        public readonly string $writer,
    ) {}
}
