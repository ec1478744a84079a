<?php

declare(strict_types=1);

namespace Larder\Tests\Driver\Sqlite;

use Larder\Counter;
use Larder\Lock\Locks;
use Larder\Queue\Queue;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/**
 * A process that uses a queue, a counter or locks also reads their files, as a backup in PHP does. By that POSIX releases
 * SQLite's locks, and the next process that closes the database deletes its write-ahead log.
 */
final class ReadFilesTest extends TestCase
{
    private const ADD = '$counter = Larder\Counter::open($argv[1], "views"); echo $counter->add(), PHP_EOL;';

    private TemporaryDirectory $directory;
    private string $dsn;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
        $this->dsn = 'sqlite://' . $this->directory->path;
    }

    // Seen to fail, the first: SqliteConnection::isStranded() that is always false.
    #[TestWith([false])]
    #[TestWith([true])]
    public function testACounterCountsEachAddition(bool $isKilled): void
    {
        $counter = Counter::open($this->dsn, 'views');
        $counter->add();
        $this->readFiles();
        for ($i = 2; $i < 10; $i += 2) {
            self::assertSame((string) $i, $this->other(self::ADD, $isKilled));
            self::assertSame($i + 1, $counter->add());
            $i === 4 && $this->readFiles();
        }
    }

    // Seen to fail, the first: SqliteConnection::isStranded() that is always false.
    #[TestWith([false])]
    #[TestWith([true])]
    public function testAQueueLosesNoMessageAndHandsNoneOutTwice(bool $isKilled): void
    {
        $queue = Queue::open($this->dsn, 'mail');
        $queue->push('own');
        self::assertSame('own', $queue->pop()?->body);
        $queue->push('own 0');
        $this->readFiles();
        for ($i = 0; $i < 4; $i++) {
            self::assertSame("own $i", $this->other('$queue = Larder\Queue\Queue::open($argv[1], "mail"); echo $queue->pop()?->body, PHP_EOL; $queue->push("other");', $isKilled));
            self::assertSame('other', $queue->pop()?->body);
            self::assertNull($queue->pop());
            $queue->push('own ' . ($i + 1));
            $i === 1 && $this->readFiles();
        }
    }

    // Seen to fail: SqliteConnection::closeStranded() without the renaming.
    public function testTheEndOfTheProcessTakesNothingThatAKilledOneHasWritten(): void
    {
        $counter = Counter::open($this->dsn, 'views');
        $counter->add();
        $this->readFiles();
        self::assertSame('2', $this->other(self::ADD));
        self::assertSame('3', $this->other(self::ADD, true));
        unset($counter);
        self::assertSame('4', $this->other(self::ADD));
        // As when the process is killed while it closes.
        \rename("{$this->directory->path}/counters.db", "{$this->directory->path}/counters.db.apart");
        self::assertSame('5', $this->other(self::ADD));
    }

    // Seen to fail: SqliteConnection::isStranded() that is always false.
    public function testALockIsHeldOnce(): void
    {
        $locks = Locks::open($this->dsn);
        $lock = $locks->acquire('backup');
        self::assertNotNull($lock);
        $this->readFiles();
        $acquire = 'echo Larder\Lock\Locks::open($argv[1])->acquire($argv[2])?->fence ?? "held", PHP_EOL;';
        self::assertSame('2', $this->other($acquire, false, 'other'));
        self::assertSame(3, $locks->acquire('import')?->fence);
        self::assertTrue($lock->refresh());
        self::assertSame('held', $this->other($acquire, false, 'import'));
        self::assertSame('held', $this->other($acquire, false, 'backup'));
    }

    public function testAProcessThatKeepsItsConnectionSaysSoAndLosesNothing(): void
    {
        if (!FpmServer::isAvailable()) {
            self::markTestSkipped('Needs php-fpm.');
        }
        $fpm = new FpmServer(1);
        $script = $fpm->script('files.php', <<<'PHP'
            try {
                echo Larder\Counter::open("sqlite://$_GET[directory]", 'views')->add();
            } catch (Larder\Counter\CounterFailure $failure) {
                echo $failure->getMessage();
            }
            isset($_GET['files']) && array_map(file_get_contents(...), glob("$_GET[directory]/counters.db*"));
            PHP);
        $ask = fn(string ...$query): string => $fpm->request($script, ...$query, ...['directory' => $this->directory->path])->body;
        self::assertSame('1', $ask(files: '1'));
        self::assertSame('2', $ask());
        self::assertSame('3', $this->other(self::ADD));
        self::assertStringContainsString('has itself read', $ask());
        self::assertSame('4', $this->other(self::ADD));
        self::assertSame('5', $this->other(self::ADD));
    }

    private function readFiles(): void
    {
        foreach (\glob("{$this->directory->path}/*.db*") ?: [] as $file) {
            self::assertNotFalse(\file_get_contents($file));
        }
    }

    /** What another process prints, which ends, or is killed. */
    private function other(string $code, bool $isKilled = false, string ...$arguments): string
    {
        $process = Process::snippet('umask(0077); ' . ($isKilled ? "$code posix_kill(getmypid(), SIGKILL);" : $code), [$this->dsn, ...$arguments]);
        $line = $process->line();
        $process->wait();

        return (string) $line;
    }
}
