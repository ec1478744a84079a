<?php

declare(strict_types=1);

namespace Larder\Tests\Store\Sqlite;

use Larder\Store\Change;
use Larder\Store\Sqlite\Database;
use Larder\Store\Sqlite\SqliteStore;
use Larder\System\Fork;
use Larder\Tests\Contract\Forks;
use PHPUnit\Framework\TestCase;

/** What is read of one record alone is what read() reads. */
final class SqliteReadOneTest extends TestCase
{
    use Directory;
    use Forks;
    use Strict;

    protected const FORKS = true;
    private const BUDGET = 1 << 20;
    private const A = 'aaaaaaaaaaaa';
    private const B = 'bbbbbbbbbbbb';

    protected function tearDown(): void
    {
        $this->endChildren();
    }

    public function testARecordAndTheJournalsEndWhereThereIsNone(): void
    {
        $store = $this->store();
        $epoch = $store->read(['k'])->epoch;
        self::assertSame([null, $store->read(['k'])->at, $epoch], self::all($store, 'k'));

        $written = $store->write([new Change('k', "bytes\0\xFF", self::A)])[0]->position;
        $last = $store->write([new Change('other', 'v', self::A)])[0]->position;
        self::assertSame(["bytes\0\xFF", $written, $epoch], self::all($store, 'k'));
        self::assertSame([null, $last, $epoch], self::all($store, 'missing'));

        $removed = $store->write([new Change('k', null, self::A, kind: 'd')])[0]->position;
        self::assertGreaterThan($last, $removed);
        self::assertSame([null, $removed, $epoch], self::all($store, 'k'));
    }

    public function testADamagedRecordIsNone(): void
    {
        $store = $this->store();
        $store->write([new Change('k', 'body', self::A)]);
        $last = $store->write([new Change('other', 'v', self::A)])[0]->position;
        $this->damage("UPDATE e SET body = CAST('bodx' AS BLOB) WHERE k = CAST('k' AS BLOB)");
        self::assertSame([null, $last], \array_slice(self::all($store, 'k'), 0, 2));
        self::assertSame('v', self::one($store, 'other'));
    }

    public function testAPositionThatIsMarkedIsThePosition(): void
    {
        $store = $this->store();
        $position = $store->write([new Change('k', 'body', self::A)])[0]->position;
        $this->damage("UPDATE e SET pos = -pos WHERE k = CAST('k' AS BLOB)");
        self::assertSame($position, $store->read(['k'])->records['k']->position);
        self::assertSame($position, self::all($store, 'k')[1]);
    }

    public function testAForkedChildReadsOverAConnectionOfItsOwn(): void
    {
        $store = $this->store();
        $store->write([new Change('k', 'body', self::A)]);
        self::one($store, 'k');
        $parents = self::database($store)->pid;
        [[$read, $child, $me]] = $this->inProcesses(1, static fn(): array => [self::one($store, 'k'), self::database($store)->pid, \getmypid()]);
        self::assertSame(['body', $me], [$read, $child]);
        self::assertNotSame($parents, $child);
        self::assertSame('body', self::one($store, 'k'));
    }

    public function testWhatWasReadCountsAsUsed(): void
    {
        $store = $this->store();
        for ($i = 0; $i < 8; $i++) {
            $store->write([new Change("k$i", \str_repeat('x', self::BUDGET >> 4), self::A)]);
        }
        self::all($store, 'k3');
        self::all($store, 'missing');
        $store->tidy();
        $pdo = new \PDO("sqlite:$this->directory/larder.db");
        self::assertSame(['k3'], $pdo->query('SELECT CAST(k AS TEXT) FROM e WHERE used != 0')?->fetchAll(\PDO::FETCH_COLUMN));
    }

    private function store(): SqliteStore
    {
        return new SqliteStore($this->directory, self::BUDGET, 1.0);
    }

    /** @return array{?string, int, string} */
    private static function all(SqliteStore $store, string $key): array
    {
        Fork::pid();
        $one = $store->readOne($key);
        self::assertIsArray($one);

        return $one;
    }

    private static function database(SqliteStore $store): Database
    {
        $database = (new \ReflectionProperty($store, 'database'))->getValue($store);
        self::assertInstanceOf(Database::class, $database);

        return $database;
    }

    private function damage(string $sql): void
    {
        $pdo = new \PDO("sqlite:$this->directory/larder.db");
        $pdo->exec($sql);
    }
}
