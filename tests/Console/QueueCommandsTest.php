<?php

declare(strict_types=1);

namespace Larder\Tests\Console;

use Larder\Console\QueueCommand;
use Larder\Queue\Queue;
use Larder\Tests\Config\Child;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

/** The commands that look after a queue, through the real bin/larder; queue:work has tests of its own. */
#[CoversClass(QueueCommand::class)]
final class QueueCommandsTest extends TestCase
{
    private TemporaryDirectory $root;
    private Queue $queue;

    protected function setUp(): void
    {
        $this->root = new TemporaryDirectory();
        $this->queue = Queue::open($this->dsn(), 'mail');
    }

    public function testStatusHasAllFigures(): void
    {
        $this->queue->pushMany(['a', 'b', 'c', 'd']);
        $this->queue->push('later', delay: 600);
        $this->queue->pop();
        $this->queue->pop()?->bury('no');

        $status = $this->json('queue:status', ['mail']);
        self::assertIsFloat($status['late']);
        unset($status['late']);
        self::assertSame(['queue' => 'mail', 'ready' => 2, 'delayed' => 1, 'claimed' => 1, 'dead' => 1, 'paused' => false], $status);
        $table = $this->larder(['queue:status', 'mail']);
        self::assertSame(0, $table->status);
        self::assertMatchesRegularExpression('/\| mail  \| 2     \| 1       \| 1             \| 1    \| \d.* \| open  \|/', $table->output);
        self::assertSame("larder: queue mail in {$this->dsn()}, as ", \substr($table->errors, 0, \strlen("larder: queue mail in {$this->dsn()}, as ")));
    }

    /** Seen to fail: it was made, and looked in order for ever. */
    public function testAQueueThatIsNotThereIsNotMade(): void
    {
        foreach (['queue:status', 'queue:waiting', 'queue:dead', 'queue:retry', 'queue:purge'] as $command) {
            $child = $this->larder([$command, 'mial', '--dsn=' . $this->dsn()]);
            self::assertNotSame(0, $child->status, $command);
            self::assertStringContainsString('There is no queue mial in', $child->errors, $command);
        }
        self::assertFileDoesNotExist("{$this->root->path}/queue/queue-mial.db");
    }

    /** Seen to fail: "There is no queue" was said of what lies in the log alone. */
    public function testAQueueWhoseDatabaseWasMovedAwayIsThere(): void
    {
        Queue::open($this->dsn(), 'mail')->push('body');
        \unlink("{$this->root->path}/queue/queue-mail.db");
        self::assertFileExists("{$this->root->path}/queue/queue-mail.log");
        self::assertSame(0, $this->larder(['queue:status', 'mail'])->status);
    }

    public function testTheDeadAreShownAndWaitAgain(): void
    {
        $ids = $this->queue->pushMany(['a', ['to' => 'b'], "\xff"]);
        while (($message = $this->queue->pop()) !== null) {
            $message->bury("RuntimeException: no\ncaused by another");
        }

        $dead = $this->json('queue:dead', ['mail', '--limit=2']);
        self::assertSame(\array_slice($ids, 0, 2), \array_column($dead, 'id'));
        self::assertSame([['type' => 'string', 'value' => 'a'], ['type' => 'array', 'value' => ['to' => 'b']]], \array_column($dead, 'body'));
        self::assertSame("RuntimeException: no\ncaused by another", \array_column($dead, 'error')[0]);
        $text = $this->larder(['queue:dead', 'mail'])->output;
        self::assertStringContainsString("attempt 1  a\n    RuntimeException: no\n    caused by another\n", $text);
        self::assertStringContainsString('\377', $text);

        self::assertSame(2, $this->larder(['queue:retry', 'mail'])->status, 'all of them must be said');
        self::assertSame(['queue' => 'mail', 'retried' => 1], $this->json('queue:retry', ['mail', $ids[1]]));
        self::assertSame(['to' => 'b'], $this->queue->pop()?->body);
        self::assertSame(1, $this->larder(['queue:retry', 'mail', $ids[1]])->status);
        self::assertSame("2 wait again\n", $this->larder(['queue:retry', 'mail', '--all'])->output);
        self::assertSame([], $this->json('queue:dead', ['mail']));
    }

    public function testTheDeadAreRemoved(): void
    {
        $ids = $this->queue->pushMany(['a', 'b', 'c']);
        while (($message = $this->queue->pop()) !== null) {
            $message->bury('no');
        }
        foreach ([['--delete'], ['--delete', '--older-than=soon'], ['--delete', '--all', $ids[0]]] as $mistake) {
            self::assertSame(2, $this->larder(['queue:dead', 'mail', ...$mistake])->status, \implode(' ', $mistake));
        }
        self::assertSame(['queue' => 'mail', 'removed' => 0], $this->json('queue:dead', ['mail', '--delete', '--older-than=7d']));
        self::assertSame([], $this->json('queue:dead', ['mail', '--older-than=90s']));
        self::assertSame("1 removed\n", $this->larder(['queue:dead', 'mail', $ids[1], '--delete'])->output);
        self::assertSame(1, $this->larder(['queue:dead', 'mail', $ids[1], '--delete'])->status);
        self::assertSame("2 removed\n", $this->larder(['queue:dead', 'mail', '--delete', '--all'])->output);
        self::assertSame([], $this->json('queue:dead', ['mail']));
    }

    public function testWhatWaitsIsShownAndRemoved(): void
    {
        $ids = $this->queue->pushMany(['a', ['to' => 'b'], "\xff"]);
        $ids[] = $this->queue->push('later', delay: 600);
        $first = $this->queue->push('first', priority: 1);

        $waiting = $this->json('queue:waiting', ['mail', '--limit=2']);
        self::assertSame([$first, $ids[0]], \array_column($waiting, 'id'));
        self::assertSame([['type' => 'string', 'value' => 'first'], ['type' => 'string', 'value' => 'a']], \array_column($waiting, 'body'));
        self::assertSame(5, $this->queue->size(), 'Nothing was handed out.');
        $lines = \explode("\n", $this->larder(['queue:waiting', 'mail'])->output);
        self::assertSame("$ids[0]  0 attempts  a", $lines[1]);
        self::assertStringContainsString('\377', $lines[3]);
        self::assertSame("$ids[3]  0 attempts  later", $lines[4]);
        self::assertSame(2, $this->larder(['queue:waiting', 'mail', '--limit=0'])->status);

        self::assertSame("2 removed\n", $this->larder(['queue:purge', 'mail', $ids[1], $ids[3]])->output);
        self::assertSame(1, $this->larder(['queue:purge', 'mail', $ids[1]])->status);
        self::assertSame(['first', 'a', "\xff"], \array_column($this->queue->waiting(), 'body'));
        self::assertSame(['queue' => 'mail', 'removed' => 3], $this->json('queue:purge', ['mail']));
        // Seen to fail: printing it took more memory than there was.
        $deep = [];
        for ($level = 0; $level < 3_000; $level++) {
            $deep = [$deep];
        }
        $this->queue->push($deep);
        self::assertStringContainsString('more than 100 levels', $this->larder(['queue:waiting', 'mail'])->output);
        self::assertLessThan(10_000, \strlen($this->larder(['queue:waiting', 'mail', '--json'])->output));
        self::assertSame(1, $this->queue->purge());
        $signed = Queue::open(['dsn' => $this->dsn(), 'secret' => 'hidden'], 'mail');
        $signed->push('a');
        self::assertStringContainsString('signed', $this->larder(['queue:waiting', 'mail'], ['LARDER_QUEUE_SECRET' => 'another'])->output);
    }

    public function testPauseResumeAndPurge(): void
    {
        $this->queue->pushMany(['a', 'b']);
        self::assertSame(['queue' => 'mail', 'paused' => true], $this->json('queue:pause', ['mail']));
        self::assertNull($this->queue->pop());
        self::assertTrue($this->json('queue:status', ['mail'])['paused']);
        self::assertSame("resumed\n", $this->larder(['queue:resume', 'mail'])->output);
        self::assertSame('a', $this->queue->pop()?->body);
        self::assertSame(['queue' => 'mail', 'removed' => 1], $this->json('queue:purge', ['mail']));
        self::assertSame(0, $this->queue->size());
    }

    public function testASecretIsReadFromTheEnvironment(): void
    {
        $signed = Queue::open(['dsn' => $this->dsn(), 'secret' => 'hidden'], 'mail');
        $signed->push('a');
        $signed->pop()?->bury('no');

        self::assertSame([['type' => 'string', 'value' => 'a']], \array_column($this->json('queue:dead', ['mail'], ['LARDER_QUEUE_SECRET' => 'hidden']), 'body'));
        self::assertSame([['type' => 'null', 'value' => null]], \array_column($this->json('queue:dead', ['mail'], ['LARDER_QUEUE_SECRET' => 'another']), 'body'));
    }

    public function testExitStatuses(): void
    {
        $nowhere = Child::run([self::binary(), 'queue:status'], ['LARDER_QUEUE' => null]);
        self::assertSame(2, $nowhere->status);
        self::assertStringContainsString('LARDER_QUEUE', $nowhere->errors);
        self::assertSame(2, $this->larder(['queue:status', 'no good name'])->status);
        foreach (['foo' => '".', 'zmq' => '".', 'apc' => '".'] as $scheme => $before) {
            $wrong = $this->larder(['queue:status', 'mail', "--dsn=$scheme://x"]);
            self::assertSame(2, $wrong->status);
            self::assertStringContainsString("$before Known schemes: sqlite, redis, rediss, predis, predis+tls, redis+cluster, rediss+cluster, redis+single, rediss+single, redis+sentinel, rediss+sentinel.", $wrong->errors);
        }
        \file_put_contents($this->root->path . '/queue/queue-mail.db', \str_repeat('no database ', 1_000));
        foreach (['-wal', '-shm'] as $more) {
            \is_file($this->root->path . "/queue/queue-mail.db$more") && \unlink($this->root->path . "/queue/queue-mail.db$more");
        }
        self::assertSame(4, $this->larder(['queue:status', 'mail'])->status);
    }

    private static function binary(): string
    {
        return \dirname(__DIR__, 2) . '/bin/larder';
    }

    private function dsn(): string
    {
        return "sqlite://{$this->root->path}/queue";
    }

    /**
     * @param list<string>          $arguments
     * @param array<string, string> $environment
     */
    private function larder(array $arguments, array $environment = []): Child
    {
        return Child::run([self::binary(), ...$arguments], ['LARDER_QUEUE' => $this->dsn()] + $environment);
    }

    /**
     * @param list<string>          $arguments
     * @param array<string, string> $environment
     *
     * @return array<array-key, mixed>
     */
    private function json(string $command, array $arguments, array $environment = []): array
    {
        $child = $this->larder([$command, ...$arguments, '--json'], $environment);
        self::assertSame(0, $child->status, $child->errors);
        $document = \json_decode($child->output, true, flags: \JSON_THROW_ON_ERROR);
        self::assertIsArray($document);

        return $document;
    }
}
