<?php

declare(strict_types=1);

namespace Larder\Tests\Store\Sqlite;

use Larder\Store\Sqlite\Database;
use Larder\Store\Sqlite\SqliteStore;
use Larder\Store\Store;
use Larder\Tests\Contract\SideBySide;
use Larder\Tests\Contract\StoreContract;
use Larder\Tests\Contract\StoreEpochs;
use Larder\Tests\Contract\StoreOwnChanges;

/** The contract, with all of its processes, over one directory. */
final class SqliteStoreTest extends StoreContract
{
    use StoreEpochs;
    use StoreOwnChanges;
    use SideBySide;
    use Directory;

    protected function store(): Store
    {
        return new SqliteStore($this->directory, 64 << 20, 1.0);
    }

    protected function patient(): Store
    {
        return new SqliteStore($this->directory, 64 << 20, 59.0);
    }

    protected function whileItWrites(Store $store, \Closure $work): void
    {
        $database = (new \ReflectionProperty($store, 'database'))->getValue($store);
        self::assertInstanceOf(Database::class, $database);
        self::assertTrue($database->counter->lock(1.0));
        try {
            $database->begin();
            $database->run("UPDATE e SET body = 'half' WHERE k = CAST('k' AS BLOB)");
            $database->counter->ring();
            $work();
        } finally {
            $database->rollBack();
            $database->counter->unlock();
        }
    }
}
