<?php

declare(strict_types=1);

namespace Larder\Events;

/**
 * What a cache tells an application that asks (Cache::open()'s option `events`): override what you want to know. Hits are not
 * told.
 *
 * A method runs in the middle of the cache's call, which waits for it: be quick, and suspend no fiber. If it throws, the cache
 * goes on as if it had not, the exception is dropped, and one line a minute in the log (the option `logger`, else PHP's) names it.
 * What it does with a cache itself is not told to any listener.
 *
 * Keys are the application's. $group is '' outside groups, and `outer/inner` in a group of a group, each name percent-encoded.
 */
abstract class Listener
{
    /** No tier has the key: get() gives its default, or remember() computes. */
    public function onMiss(string $key, string $group): void {}

    /** A computation of remember() begins. */
    public function onCompute(string $key, string $group): void {}

    /**
     * It has ended. Of one in which the process ends (exit) this is not told.
     *
     * @param ?\Throwable $thrown what it threw, or a Failure where its fiber was destroyed; null: it has given a value
     */
    public function onComputed(string $key, string $group, float $seconds, ?\Throwable $thrown): void {}

    /**
     * Another request has changed what this one stores: see the table in docs/how-it-works.md.
     *
     * @param string $verdict `dropped`: a set, and neither value is kept; `bounded`: a set, and the value lives two seconds;
     *                        `refused`: a fill, and the value is not stored
     */
    public function onConflict(string $key, string $group, string $verdict): void {}

    /**
     * A call of the truth tier has failed, and it is left alone for two seconds.
     *
     * @param string $store   its DSN, without a password
     * @param string $message as in the log
     */
    public function onOutage(string $store, string $message): void {}

    /** A call of the truth tier has ended: a round trip, if it is a server. Failed ones count. */
    public function onRoundTrip(string $store, float $seconds): void {}
}
