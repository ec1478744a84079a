<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge\Laravel;

use Illuminate\Cache\RateLimiter;
use Illuminate\Container\Container;
use Illuminate\Contracts\Session\Session;
use Illuminate\Foundation\Application;
use Illuminate\Queue\QueueServiceProvider;
use Illuminate\Session\SessionServiceProvider;
use Illuminate\Support\Facades\Facade;
use Larder\Bridge\Laravel\LarderQueue;
use Larder\Bridge\Laravel\Opened;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;

/** One process that serves many requests, as Octane and queue workers do. */
#[CoversNothing]
#[Group('bridge')]
final class OctaneTest extends LaravelCase
{
    protected function dsn(): ?string
    {
        return null;
    }

    #[TestWith(['Laravel\Octane\Events\RequestReceived'])]
    #[TestWith(['Laravel\Octane\Events\TaskReceived'])]
    #[TestWith(['Laravel\Octane\Events\TickReceived'])]
    #[TestWith(['Laravel\Octane\Events\WorkerStarting'])]
    #[TestWith(['Laravel\Octane\Contracts\OperationTerminated'])]
    #[TestWith(['Laravel\Octane\Events\WorkerStopping'])]
    #[TestWith(['Illuminate\Queue\Events\Looping'])]
    public function testARequestSeesWhatOthersChangedBefore(string $event): void
    {
        $this->cache()->put('k', 'old', 60);
        $this->elsewhere()->put('k', 'new', 60);
        self::assertSame('old', $this->cache()->get('k'), 'this request has its own view');
        $this->app->make('events')->dispatch($event);
        self::assertSame('new', $this->cache()->get('k'));
    }

    /** Of equal settings, as long as somebody holds it. */
    public function testWhatIsOpenIsOpenedOnce(): void
    {
        $opened = new Opened();
        $open = static fn(): \ArrayObject => new \ArrayObject();
        $closure = static fn(): int => 1;
        $one = $opened->once(\ArrayObject::class, ['dsn' => 'a', 'credentials' => $closure], $open);
        self::assertSame($one, $opened->once(\ArrayObject::class, ['dsn' => 'a', 'credentials' => $closure], $open));
        self::assertNotSame($one, $other = $opened->once(\ArrayObject::class, ['dsn' => 'a', 'credentials' => static fn(): int => 1], $open));
        self::assertNotSame($one, $opened->once(\ArrayObject::class, ['dsn' => 'a'], $open));
        self::assertInstanceOf(\ArrayIterator::class, $opened->once(\ArrayIterator::class, ['dsn' => 'a', 'credentials' => $closure], static fn(): \ArrayIterator => new \ArrayIterator()));
        $weak = \WeakReference::create($one);
        unset($one, $other);
        self::assertNull($weak->get());
    }

    /** Octane's settings may change for one request alone. */
    public function testARequestMayHaveAPrefixOfItsOwn(): void
    {
        $this->cache()->forever('k', 'all');
        $sandbox = $this->begin();
        $sandbox->make('config')->set(['cache.prefix' => 'one-', 'cache.stores.other' => ['driver' => 'larder']]);
        self::assertNull($sandbox->make('cache')->store('other')->get('k'));
        $this->end($sandbox);
        self::assertSame('all', $this->cache()->get('k'));
    }

    /** For more: LARDER_REQUESTS=1000000. With LARDER_TOLD=1 it says what it has measured. */
    #[Group('long')]
    #[TestWith([['cache', 'cache.store', 'session', 'session.store']], 'with the managers that Octane makes before the first request')]
    #[TestWith([[]], 'with managers of its own for each request')]
    public function testManyRequestsLeaveNeitherMemoryNorDescriptors(array $warm): void
    {
        $requests = (int) (\getenv('LARDER_REQUESTS') ?: 100_000);
        $this->app = $this->application(['session.driver' => 'larder', 'session.cookie' => 's', 'queue' => ['default' => 'larder', 'connections' => ['larder' => ['driver' => 'larder', 'dsn' => 'sqlite://' . $this->root->file('queue')]]]]);
        $this->app->register(SessionServiceProvider::class);
        $this->app->register(QueueServiceProvider::class);
        foreach (['queue', 'session'] as $name) {
            $this->app->loadDeferredProvider($name);
        }
        foreach ($warm as $name) {
            $this->app->make($name);
        }
        [$memory, $descriptors, $most, $before] = [0, 0, 0, self::descriptors()];
        for ($i = 1; $i <= $requests; ++$i) {
            $sandbox = $this->begin();
            $cache = $sandbox->make('cache')->store();
            $cache->put('k' . $i % 50, $i, 60);
            self::assertSame($i, $cache->get('k' . $i % 50));
            match ($i % 6) {
                0 => $cache->tags('t' . $i % 5)->remember('k', 60, static fn(): int => 1),
                1 => $cache->tags('t' . $i % 7)->flush(),
                2 => $cache->lock('l' . $i % 5, 10)->get(static fn(): int => 1),
                3 => $sandbox->make(RateLimiter::class)->hit('k' . $i, 60),
                4 => $this->visit($sandbox->make('session')->driver()),
                5 => $this->work($sandbox->make('queue')->connection()),
            };
            $cache = null;
            $this->end($sandbox);
            if ($i % 100 === 0) {
                $most = \max($most, self::descriptors());
            }
            if ($i === \intdiv($requests, 10)) {
                // By now all has been loaded, and the collector has run.
                \gc_collect_cycles();
                $memory = \memory_get_usage();
                $descriptors = $most;
            }
        }
        \gc_collect_cycles();
        $grown = \memory_get_usage() - $memory;
        \getenv('LARDER_TOLD') !== '1' || \fwrite(\STDERR, "\n$requests requests: $grown bytes more, $most descriptors, $descriptors after the first tenth\n");
        self::assertLessThanOrEqual(1_048_576, $grown);
        self::assertSame($descriptors, $most);
        // Cache and queue have four files each, locks and sessions three.
        self::assertLessThanOrEqual(14, $most - $before);
    }

    /** As Octane's worker begins a request: Worker::handle(), and its listeners that concern managers. */
    private function begin(): Application
    {
        $sandbox = clone $this->app;
        self::become($sandbox);
        $sandbox->instance('config', clone $sandbox->make('config'));
        $sandbox->resolved('cache') && $sandbox->make('cache')->setApplication($sandbox);
        $sandbox->make('events')->dispatch('Laravel\Octane\Events\RequestReceived');

        return $sandbox;
    }

    private function end(Application $sandbox): void
    {
        $sandbox->make('events')->dispatch('Laravel\Octane\Contracts\OperationTerminated');
        $this->app->forgetScopedInstances();
        $sandbox->flush();
        self::become($this->app);
        $this->app->resolved('cache') && $this->app->make('cache')->setApplication($this->app);
    }

    private static function become(Application $app): void
    {
        $app->instance('app', $app);
        $app->instance(Container::class, $app);
        Container::setInstance($app);
        Facade::clearResolvedInstances();
        Facade::setFacadeApplication($app);
    }

    private function visit(Session $session): void
    {
        $session->setId(\str_repeat('a', 40));
        $session->start();
        $session->increment('visits');
        $session->save();
    }

    private function work(LarderQueue $queue): void
    {
        $queue->pushRaw('{}');
        $job = $queue->pop();
        self::assertNotNull($job);
        $job->delete();
    }

    private static function descriptors(): int
    {
        return \count((array) \scandir('/proc/self/fd'));
    }
}
