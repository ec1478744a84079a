<?php

declare(strict_types=1);

namespace Larder\Tests\Store\Sqlite;

use Larder\Store\Sqlite\SqliteStore;
use Larder\Store\Store;
use Larder\Tests\Contract\StoreContract;

/** The contract, with all of its processes, over one directory. */
final class SqliteStoreTest extends StoreContract
{
    use Directory;

    protected function store(): Store
    {
        return new SqliteStore($this->directory, 64 << 20, 1.0);
    }
}
