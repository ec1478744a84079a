<?php

declare(strict_types=1);

namespace Larder\Codec;

/** Turns entries into record bodies and back; signs them if a secret is set (Codec\Signer). */
final class EntrySigner
{
    /** @param string $prefix of the cache's keys: a process that can write to the server must not copy a value into another cache of the same secret */
    public function __construct(private readonly ?Signer $signer, private readonly string $prefix = '') {}

    public function seal(string $key, Entry $entry): string
    {
        return $this->signer === null ? $entry->body() : $this->signer->sign("$this->prefix\0$key", $entry->body());
    }

    /** Whether the body is a value without conditions that needs no signature: the payload begins at Entry::PLAIN. */
    public function isPlain(string $body): bool
    {
        return $this->signer === null && Entry::isPlain($body);
    }

    /** Whether bodies are signed at all. */
    public function signs(): bool
    {
        return $this->signer !== null;
    }

    /** Null: the body is not a value, is damaged, or is not signed with this secret. */
    public function open(string $key, string $body): ?Entry
    {
        $body = $this->unseal($key, $body);

        return $body === null ? null : Entry::fromBody($body);
    }

    /** The body without its signature; null: it is not signed with this secret. */
    public function unseal(string $key, string $body): ?string
    {
        return $this->signer === null ? $body : $this->signer->open("$this->prefix\0$key", $body);
    }

    /**
     * The tags that a body names, whether it is signed rightly or not: enough to ask for their markers ahead.
     *
     * @return list<string> full marker keys
     */
    public function tags(string $body): array
    {
        $offset = $this->signer === null ? 0 : Signer::LENGTH;

        return Entry::tagsOf($body, $offset) ?? [];
    }
}
