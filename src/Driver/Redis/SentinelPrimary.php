<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

/** The primary of a name that Redis Sentinel watches. */
final class SentinelPrimary extends Primary
{
    /**
     * @param non-empty-list<array{string, int}> $servers  the sentinels
     * @param string                             $name     as in "sentinel monitor"
     * @param ?string                            $user     of the sentinels; null: the password alone
     * @param ?\SensitiveParameterValue           $password of the sentinels; null: they ask for none
     */
    public function __construct(
        array $servers,
        ?string $file,
        private readonly string $name,
        private readonly ?string $user = null,
        private readonly ?\SensitiveParameterValue $password = null,
    ) {
        parent::__construct($servers, $file);
    }

    protected function question(): array
    {
        return [['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', $this->name]];
    }

    protected function answer(array $replies, string $host): array|string
    {
        $address = $replies[0] ?? null;
        if (!\is_array($address) || !\is_string($address[0] ?? null) || !\is_numeric($address[1] ?? null)) {
            return "the sentinel at $host knows no master \"$this->name\"";
        }

        return [$address[0], (int) $address[1]];
    }

    protected function asked(Endpoint $endpoint): Endpoint
    {
        return $endpoint->with($this->user, $this->password);
    }
}
