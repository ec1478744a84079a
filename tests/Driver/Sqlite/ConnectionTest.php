<?php

declare(strict_types=1);

namespace Larder\Tests\Driver\Sqlite;

use Larder\Driver\Sqlite\SqliteConnection;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

#[CoversClass(SqliteConnection::class)]
final class ConnectionTest extends TestCase
{
    /** To change the mode of a file that several processes open at once, one would have to be alone with it. */
    public function testANewFileIsInWriteAheadModeBeforeAnybodyOpensIt(): void
    {
        $directory = new TemporaryDirectory();
        $file = $directory->file('new.db');
        SqliteConnection::make($file, 1, 'CREATE TABLE t(a)');
        // The file format's versions for writing and reading: sqlite.org/fileformat2.html, section 1.3.3.
        self::assertSame("\2\2", \file_get_contents($file, offset: 18, length: 2));
        self::assertSame(['new.db', 'new.db.gate'], \array_values(\array_diff((array) \scandir($directory->path), ['.', '..'])));
    }
}
