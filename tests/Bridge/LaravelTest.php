<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge;

use Illuminate\Bus\Dispatcher as Bus;
use Illuminate\Config\Repository;
use Illuminate\Container\Container;
use Illuminate\Contracts\Bus\Dispatcher as BusContract;
use Illuminate\Contracts\Debug\ExceptionHandler;
use Illuminate\Contracts\Events\Dispatcher as EventsContract;
use Illuminate\Events\Dispatcher as Events;
use Illuminate\Queue\Capsule\Manager;
use Illuminate\Queue\Events\JobFailed;
use Illuminate\Queue\Worker;
use Illuminate\Queue\WorkerOptions;
use Illuminate\Support\Facades\Facade;
use Larder\Bridge\Laravel\LarderQueue;
use Larder\Bridge\Laravel\LarderServiceProvider;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** The connection, under Laravel's own manager, worker and bus. */
#[CoversNothing]
#[Group('bridge')]
final class LaravelTest extends TestCase
{
    private TemporaryDirectory $root;
    private Manager $queues;
    private Worker $worker;

    /** @var list<string> */
    private array $reported = [];

    /** @var list<string> ids of jobs that failed for good */
    private array $failed = [];

    protected function setUp(): void
    {
        Frameworks::load();
        $this->root = new TemporaryDirectory();
        LaravelNote::$handled = [];
        $container = new Container();
        Container::setInstance($container);
        Facade::setFacadeApplication($container);
        $container->instance(\Illuminate\Contracts\Container\Container::class, $container);
        $container->instance('config', new Repository());
        $events = new Events($container);
        $container->instance('events', $events);
        $container->instance(EventsContract::class, $events);
        $container->bind(BusContract::class, static fn(): Bus => new Bus($container));
        (new LarderServiceProvider($container))->register();
        $this->queues = new Manager($container);
        $manager = $this->queues->getQueueManager();
        // As the framework's own provider makes it.
        $container->singleton('queue', static fn(): object => $manager);
        $container->make('queue');
        $this->queues->addConnection(['driver' => 'larder', 'dsn' => "sqlite://{$this->root->path}/queue", 'retry_after' => 60]);
        $events->listen(JobFailed::class, function (JobFailed $event): void {
            $this->failed[] = (string) $event->job->getJobId();
        });
        $quiet = $this->createStub(ExceptionHandler::class);
        $quiet->method('report')->willReturnCallback(function (\Throwable $error): void {
            $this->reported[] = $error->getMessage();
        });
        $this->worker = new Worker($manager, $events, $quiet, static fn(): bool => false);
    }

    protected function tearDown(): void
    {
        // Without Laravel there is none.
        if (isset($this->queues)) {
            Container::setInstance(null);
            Facade::setFacadeApplication(null);
        }
    }

    public function testLaravelsWorkerHandlesJobs(): void
    {
        $queue = $this->queue();
        $queue->push(new LaravelNote('one'));
        $queue->bulk([new LaravelNote('two')]);
        $queue->push(new LaravelNote('elsewhere'), queue: 'high');
        self::assertSame([2, 1], [$queue->size(), $queue->size('high')]);
        $this->work('high,default', 3);

        self::assertSame([], $this->reported);
        self::assertSame(['elsewhere 1', 'one 1', 'two 1'], LaravelNote::$handled);
        self::assertSame([0, 0, 0], [$queue->pendingSize(), $queue->reservedSize(), $queue->size('high')]);
    }

    public function testWhatThrowsIsTriedAgainAndFailsInTheEnd(): void
    {
        $id = $this->queue()->push(new LaravelNote('throw'));
        $this->work('default', 3);

        self::assertSame(['throw 1', 'throw 2', 'throw 3'], LaravelNote::$handled);
        self::assertSame([$id], $this->failed);
        self::assertSame([0, 0], [$this->queue()->size(), $this->queue()->reservedSize()]);
    }

    /** Otherwise whoever waits for size() to be 0 goes on before the last job is done. */
    public function testAJobThatAWorkerHasCounts(): void
    {
        $queue = $this->queue();
        $queue->push(new LaravelNote('one'));
        $queue->later(60, new LaravelNote('two'));
        $job = $queue->pop();
        self::assertSame([0, 1, 1, 2], [$queue->pendingSize(), $queue->delayedSize(), $queue->reservedSize(), $queue->size()]);
        $job?->delete();
        self::assertSame(1, $queue->size());
    }

    public function testLaravelAloneCountsTheAttempts(): void
    {
        $this->queue()->push(new LaravelNote('throw'));
        $options = new WorkerOptions(maxTries: 8, sleep: 0);
        for ($i = 0; $i < 8; ++$i) {
            $this->worker->runNextJob('default', 'default', $options);
        }
        self::assertCount(8, LaravelNote::$handled);
        self::assertCount(1, $this->failed);
    }

    public function testAJobMayComeLaterAndGiveItselfBack(): void
    {
        $queue = $this->queue();
        $queue->later(1, new LaravelNote('again'));
        self::assertSame([0, 1, 1], [$queue->pendingSize(), $queue->delayedSize(), $queue->size()]);
        self::assertNull($queue->pop());
        \usleep(1_050_000);
        self::assertSame(1, $queue->pendingSize());
        self::assertGreaterThan(\time() - 10, $queue->creationTimeOfOldestPendingJob());
        $this->work('default', 2);
        self::assertSame(['again 1', 'again 2'], LaravelNote::$handled);
    }

    public function testATimeThatHasPassedIsNoDelay(): void
    {
        $queue = $this->queue();
        $queue->later(-5, new LaravelNote('late'));
        $queue->pop()?->release(-5);
        self::assertSame(2, $queue->pop()?->attempts());
    }

    public function testClearRemovesWhatWaits(): void
    {
        $this->queue()->bulk([new LaravelNote('one'), new LaravelNote('two')]);
        self::assertSame(2, $this->queue()->clear('default'));
        self::assertSame(0, $this->queue()->size());
    }

    private function queue(): LarderQueue
    {
        $queue = $this->queues->getConnection();
        self::assertInstanceOf(LarderQueue::class, $queue);

        return $queue;
    }

    private function work(string $names, int $jobs): void
    {
        for ($i = 0; $i < $jobs; ++$i) {
            $this->worker->runNextJob('default', $names, new WorkerOptions(maxTries: 3, sleep: 0));
        }
    }
}
