<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Cache\Events\CacheHit;
use Illuminate\Cache\Events\CacheMissed;
use Illuminate\Cache\Events\KeyWriteFailed;
use Illuminate\Cache\Events\KeyWritten;
use Illuminate\Cache\Events\RetrievingKey;
use Illuminate\Cache\Events\WritingKey;

use function Illuminate\Support\defer;
use function Illuminate\Support\enum_value;

use Larder\Cache;
use Larder\Codec\NotStorable;

/**
 * Computes a missing value in one process for all that ask for it, where Laravel's own Repository lets each of them compute.
 *
 * A null is not stored, nor is what is to live for no second, as in Laravel, nor an object whose class is not allowed: then each
 * process that waited computes in its turn.
 *
 * @property LarderStore $store
 */
trait RemembersOnce
{
    /**
     * @param \UnitEnum|string                                    $key
     * @param (\Closure(mixed): (\DateInterval|\DateTimeInterface|int|null))|\DateInterval|\DateTimeInterface|int|null  $ttl
     */
    public function remember($key, $ttl, \Closure $callback): mixed
    {
        return $this->rememberWithWarmth($key, $ttl, $callback)[0];
    }

    /**
     * Laravel 13 has it too.
     *
     * @param \UnitEnum|string                                   $key
     * @param (\Closure(mixed): (\DateInterval|\DateTimeInterface|int|null))|\DateInterval|\DateTimeInterface|int|null $ttl
     *
     * @return array{mixed, bool} the value, and whether it was there
     */
    public function rememberWithWarmth($key, $ttl, \Closure $callback): array
    {
        $value = $this->get($key);

        return $value === null ? [$this->compute((string) enum_value($key), $ttl, $callback), false] : [$value, true];
    }

    /** @param \UnitEnum|string $key */
    public function rememberForever($key, \Closure $callback): mixed
    {
        return $this->remember($key, null, $callback);
    }

    /**
     * Asks first what others have changed: no two get the same value, if one has pulled it before the other begins.
     *
     * @param array<array-key, string>|\UnitEnum|string $key
     */
    public function pull($key, mixed $default = null): mixed
    {
        Cache::learnAll();

        return parent::pull($key, $default);
    }

    /**
     * Past the first time one process computes another value after its response, and all others get the old one. The value and
     * its two times are one entry. $lock is not looked at: the lease is Larder's.
     *
     * @param \UnitEnum|string $key
     * @param array{\DateInterval|\DateTimeInterface|int, \DateInterval|\DateTimeInterface|int} $ttl
     * @param callable(): mixed $callback a closure; anything else is the value itself, as in Laravel
     * @param ?array{seconds?: int, owner?: string} $lock
     * @param bool $alwaysDefer
     */
    public function flexible($key, $ttl, $callback, $lock = null, $alwaysDefer = false): mixed
    {
        $key = (string) enum_value($key);
        $callback = $callback instanceof \Closure ? $callback : static fn(): mixed => $callback;
        $soft = \max(1, $this->getSeconds($ttl[0]));
        $this->event(new RetrievingKey($this->getName(), $key));
        $isMissed = false;
        $item = $this->itemKey($key);
        $value = $this->compute($key, $ttl[1], function () use ($key, $item, $callback, &$isMissed): mixed {
            $there = $this->store->get($item);
            if ($there !== null) {
                throw new NotKept($there, true);
            }
            $isMissed = true;
            $this->event(new CacheMissed($this->getName(), $key));

            return $callback();
        }, $soft, $isStale);
        $isMissed || $this->event(new CacheHit($this->getName(), $key, $value));
        if ($isStale === true) {
            defer(function () use ($key, $item, $ttl, $callback, $soft): void {
                $this->store->look($item);
                $this->compute($key, $ttl[1], $callback, $soft);
            }, "illuminate:cache:flexible:$item", $alwaysDefer);
        }

        return $value;
    }

    /**
     * @param (\Closure(mixed): (\DateInterval|\DateTimeInterface|int|null))|\DateInterval|\DateTimeInterface|int|null $ttl a closure gets the value; null: for ever
     * @param callable(): mixed $callback
     * @param ?bool $isStale set to true if $callback has left the old value
     *
     * @param-out bool $isStale
     */
    private function compute(string $key, mixed $ttl, callable $callback, int $soft = 0, ?bool &$isStale = null): mixed
    {
        $isStale = $isComputed = $isKept = false;
        $computed = null;
        $item = $this->itemKey($key);
        $seconds = $ttl === null || $ttl instanceof \Closure ? null : $this->getSeconds($ttl);
        try {
            $value = $this->store->remember($item, function () use ($key, $item, $ttl, $callback, &$seconds, &$computed, &$isComputed, &$isKept): mixed {
                $value = $computed = $callback();
                $life = $ttl instanceof \Closure ? $ttl($value) : $ttl;
                $seconds = $life === null ? null : $this->getSeconds($life);
                if ($value === null || $seconds === 0) {
                    throw new NotKept($value);
                }
                $isComputed = true;
                $this->event(new WritingKey($this->getName(), $key, $value, $seconds));
                if ($ttl instanceof \Closure) {
                    // Now that its life is known.
                    $this->store->keep($item, $value, $seconds ?? 0);
                    $isKept = true;

                    throw new NotKept($value);
                }

                return $value;
            }, $seconds ?? 0, $soft);
        } catch (NotKept $notKept) {
            $value = $notKept->value;
            if (!$isKept) {
                $isStale = $notKept->isStale;
                // As put() does with a value that is to live for no second.
                $isStale || $this->forget($key);

                return $value;
            }
        } catch (NotStorable $refusal) {
            $this->store->refuse($item, $isComputed ? $refusal : throw $refusal);
            $this->store->forget($item);
            $value = $computed;
        }
        if ($isComputed) {
            // It is refused where the key was changed meanwhile.
            $event = $this->store->get($item) === null ? KeyWriteFailed::class : KeyWritten::class;
            $this->event(new $event($this->getName(), $key, $value, $seconds));
        }

        return $value;
    }
}
