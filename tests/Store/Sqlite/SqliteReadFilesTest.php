<?php

declare(strict_types=1);

namespace Larder\Tests\Store\Sqlite;

use Larder\Store\Change;
use Larder\Store\Sqlite\SqliteStore;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\Process;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/**
 * A process that uses the cache also reads the cache's files, as a backup in PHP does. By that POSIX releases the locks by which
 * SQLite knows who has the database open, and the next process that closes it deletes the write-ahead log.
 */
final class SqliteReadFilesTest extends TestCase
{
    use Directory;
    use Strict;

    private const OTHER = <<<'PHP'
        $store = new Larder\Store\Sqlite\SqliteStore($argv[1], 8 << 20, 5.0);
        $argv[2] === '' || $store->write([new Larder\Store\Change('k', $argv[2], 'bbbbbbbbbbbb')]);
        echo ($store->read(['k'])->records['k'] ?? null)?->body ?? 'nothing', PHP_EOL;
        // As a process that is killed: it leaves the write-ahead log.
        $argv[3] === '' || posix_kill(getmypid(), SIGKILL);
        PHP;

    // Seen to fail, all four: SqliteConnection::isStranded() that is always false.
    #[TestWith([false, false])]
    #[TestWith([false, true])]
    #[TestWith([true, false])]
    #[TestWith([true, true])]
    #[Group('slow')]
    public function testItMissesNoChangeAndLosesNone(bool $isAppending, bool $isKilled): void
    {
        $store = $this->store();
        self::put($store, 'k', 'first');
        $isAppending && $store->beginView();
        $this->readFiles();
        for ($i = 0; $i < 3; $i++) {
            self::assertSame("other $i", $this->other("other $i", $isKilled));
            $store->beginView();
            self::assertSame("other $i", self::get($store, 'k'));
            self::assertSame("other $i", $this->other());
            if ($isAppending) {
                $change = new Change('k', "own $i", 'aaaaaaaaaaaa', kind: 's');
                $change->asks = false;
                $store->write([$change]);
                $store->tidy();
            } else {
                self::put($store, 'k', "own $i");
            }
            self::assertSame("own $i", $this->other());
            $i === 1 && $this->readFiles();
        }
    }

    public function testItsEndTakesNothingFromOthers(): void
    {
        $store = $this->store();
        self::put($store, 'k', 'first');
        $this->readFiles();
        $this->other('second');
        self::assertSame('third', $this->other('third', true));
        unset($store);
        self::assertContains($this->other(), ['third', 'nothing'], 'It never reads what was there before.');
    }

    public function testARequestOfAProcessThatKeepsItsConnectionMissesNothing(): void
    {
        if (!FpmServer::isAvailable()) {
            self::markTestSkipped('Needs php-fpm.');
        }
        $fpm = new FpmServer(1);
        $script = $fpm->script('files.php', <<<'PHP'
            $store = new Larder\Store\Sqlite\SqliteStore($_GET['directory'], 8 << 20, 5.0);
            isset($_GET['value']) && $store->write([new Larder\Store\Change('k', $_GET['value'], 'aaaaaaaaaaaa')]);
            echo ($store->read(['k'])->records['k'] ?? null)?->body ?? 'nothing';
            isset($_GET['files']) && array_map(file_get_contents(...), glob($_GET['directory'] . '/larder.db*'));
            PHP);
        $ask = fn(string ...$query): string => $fpm->request($script, ...$query, ...['directory' => $this->directory])->body;
        self::assertSame('first', $ask(value: 'first', files: '1'));
        for ($i = 0; $i < 3; $i++) {
            self::assertSame("other $i", $this->other("other $i"));
            self::assertContains($ask(), ["other $i", 'nothing']);
            self::assertSame("own $i", $ask(value: "own $i"));
            self::assertSame("own $i", $this->other());
            self::assertSame("own $i", $ask());
            $i === 1 && $ask(files: '1');
        }
        self::assertStringContainsString('has itself read larder.db', (string) \file_get_contents("$this->directory/mishaps.txt"));
    }

    private function readFiles(): void
    {
        foreach (\glob("$this->directory/larder.db*") ?: [] as $file) {
            self::assertNotFalse(\file_get_contents($file));
        }
    }

    /** Another process writes (if it is told what), reads, and ends. */
    private function other(string $value = '', bool $isKilled = false): string
    {
        $process = Process::snippet(self::OTHER, [$this->directory, $value, $isKilled ? '1' : '']);
        $line = $process->line();
        $process->wait();

        return (string) $line;
    }

    private function store(): SqliteStore
    {
        return new SqliteStore($this->directory, 8 << 20, 5.0);
    }
}
