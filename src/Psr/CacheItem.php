<?php

declare(strict_types=1);

namespace Larder\Psr;

use Larder\System\Clock;
use Psr\Cache\CacheItemInterface;

/**
 * A PSR-6 item: what a pool found for a key at one moment, with the changes that its holder makes.
 *
 * An item is a snapshot. Later changes in the cache do not change it, so isHit() and get() cannot disagree; and changes of
 * the item do not change the cache before the pool saves it. A fetched item has no expiry: if it is changed and saved
 * without a new one, it lives as long as the Cache says that the pool was made of, which is for good if that says nothing ("a
 * default value [...]. If none is set, the value should be stored permanently").
 *
 * After set() the item is a hit: get() must return null while isHit() is false, and the usual
 * `if (!$item->isHit()) { $pool->save($item->set(compute())); } return $item->get();` needs the value.
 */
final class CacheItem implements CacheItemInterface
{
    /** Milliseconds since 1970; null: none was given. */
    private ?int $expiry = null;

    /** @internal Items come from CacheItemPool::getItem(). */
    public function __construct(
        private readonly string $key,
        private mixed $value,
        private bool $hit,
    ) {}

    public function getKey(): string
    {
        return $this->key;
    }

    public function get(): mixed
    {
        return $this->value;
    }

    public function isHit(): bool
    {
        return $this->hit;
    }

    public function set(mixed $value): static
    {
        $this->value = $value;
        $this->hit = true;

        return $this;
    }

    /**
     * @param mixed $expiration ?\DateTimeInterface
     *
     * @throws InvalidArgument
     */
    public function expiresAt(mixed $expiration): static
    {
        if ($expiration === null) {
            $this->expiry = null;
        } elseif ($expiration instanceof \DateTimeInterface) {
            $seconds = $expiration->getTimestamp();
            // Clamped, so that no date can overflow: 0 has expired. Dates are by the wall clock.
            $this->expiry = match (true) {
                $seconds <= 0 => 0,
                $seconds > \time() + Rules::FOREVER => Clock::now() + Rules::FOREVER * 1000,
                default => \max(0, Clock::now() + (int) (((float) $expiration->format('U.u') - \microtime(true)) * 1000)),
            };
        } else {
            throw InvalidArgument::expiration($expiration);
        }

        return $this;
    }

    /**
     * @param mixed $time int|\DateInterval|null, in seconds from now
     *
     * @throws InvalidArgument
     */
    public function expiresAfter(mixed $time): static
    {
        $seconds = Rules::ttl($time);
        $this->expiry = $seconds === null ? null : Clock::now() + \max($seconds, 0) * 1000;

        return $this;
    }

    /** @internal For the pool; milliseconds since 1970; null: none was given. */
    public function expiry(): ?int
    {
        return $this->expiry;
    }
}
