<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\System\Failure;

/** A store that reads one record with less work than read() has: what a get needs, without objects. */
interface ReadsOne extends Store
{
    /**
     * As read() of one key, which is no marker's. The caller holds signals (System\Signals) and has asked for the process id
     * just now (System\Fork).
     *
     * @return array{?string, int, string}|Snapshot body, position and epoch; the body may have expired, if it says so itself.
     *                                              Without a record: null, and a position at which there was none. Or what
     *                                              read() gives
     *
     * @throws Failure
     */
    public function readOne(string $key): array|Snapshot;
}
