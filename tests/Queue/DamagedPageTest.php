<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Queue\Queue;
use Larder\Queue\QueueDatabase;
use Larder\Queue\QueueFailure;
use Larder\Queue\SqliteClaims;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

/** Each byte of the page that holds the waiting messages becomes zero in turn: each message is handed out once, is a dead letter, or a call says that the database is damaged. */
#[CoversClass(QueueDatabase::class)]
#[CoversClass(SqliteClaims::class)]
final class DamagedPageTest extends TestCase
{
    /** Seen to fail: a rank of NULL hid the messages behind it for ever, attempts of NULL let workers repeat a healthy message until it was dead, others ended in a TypeError. */
    public function testADamagedRowHidesNothing(): void
    {
        $directory = new TemporaryDirectory();
        $dsn = 'sqlite://' . $directory->file('queue');
        $queue = Queue::open($dsn, 'q');
        $queue->push('first');
        $queue->push('urgent', priority: 1);
        $queue->push('with a key', key: 'key');
        // Brings the log into the database.
        self::assertSame(3, $queue->size());
        unset($queue);
        $file = $directory->file('queue') . '/queue-q.db';
        $pdo = new \PDO("sqlite:$file");
        $pdo->exec('PRAGMA wal_checkpoint(TRUNCATE)');
        $row = $pdo->query("SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = 'ready'");
        self::assertInstanceOf(\PDOStatement::class, $row);
        /** @var array{int, int} $place */
        $place = $row->fetch(\PDO::FETCH_NUM);
        unset($row, $pdo);
        [$page, $size] = $place;
        $files = [];
        foreach (\glob($directory->file('queue') . '/*') ?: [] as $path) {
            $files[$path] = (string) \file_get_contents($path);
        }
        $told = $changed = 0;
        for ($at = ($page - 1) * $size; $at < $page * $size; $at++) {
            if ($files[$file][$at] === "\0") {
                continue;
            }
            $changed++;
            \mkdir($directory->file("damaged-$at"), 0o700);
            foreach ($files as $path => $bytes) {
                \file_put_contents($directory->file("damaged-$at") . '/' . \basename($path), $path === $file ? \substr_replace($bytes, "\0", $at, 1) : $bytes);
            }
            $seen = 0;
            try {
                $queue = Queue::open('sqlite://' . $directory->file("damaged-$at"), 'q');
                while (($message = $queue->pop()) !== null) {
                    $seen++;
                    self::assertTrue($message->ack());
                }
                self::assertSame(3, $seen + \count($queue->dead()), "byte $at");
                self::assertSame(0, $queue->size(), "byte $at");
            } catch (QueueFailure $failure) {
                self::assertStringContainsString('is damaged', $failure->getMessage());
                $told++;
            }
            unset($queue, $message);
        }
        self::assertGreaterThan(100, $changed);
        self::assertGreaterThan(10, $told);
    }
}
