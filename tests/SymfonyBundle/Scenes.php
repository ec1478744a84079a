<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Larder\Cache;
use Larder\SymfonyBundle\Cache\LarderAdapter;
use Larder\SymfonyBundle\Profiler\LarderDataCollector;
use Larder\Tests\Support\Wait;
use Symfony\Bundle\FrameworkBundle\Console\Application as Console;
use Symfony\Component\Cache\Adapter\AdapterInterface;
use Symfony\Component\Console\Input\StringInput;
use Symfony\Component\Console\Output\BufferedOutput;
use Symfony\Component\EventDispatcher\EventDispatcherInterface;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpKernel\Profiler\Profiler;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\Event\WorkerMessageReceivedEvent;
use Symfony\Contracts\Cache\ItemInterface;

/** What happens in an application; each scene gives what its test looks at. */
final class Scenes
{
    /** @return array<string, array{class: string, cache: int}> each pool's class, and a number that those with one Larder cache share */
    public static function classes(Application $application, string ...$ids): array
    {
        $caches = [];

        return \array_combine($ids, \array_map(static function (string $id) use ($application, &$caches): array {
            $pool = self::service($application, $id);
            $cache = null;
            if ($pool instanceof LarderAdapter) {
                $group = (new \ReflectionProperty(LarderAdapter::class, 'cache'))->getValue($pool);
                $cache = (new \ReflectionProperty(Cache::class, 'request'))->getValue($group);
                $known = \array_search($cache, $caches, true);
                $caches[] = $cache;
                $cache = $known === false ? \count($caches) - 1 : $known;
            }

            return ['class' => $pool::class, 'cache' => $cache ?? -1];
        }, $ids));
    }

    /** @return list<bool> whether what autowiring gives under several names is the same pool */
    public static function autowiring(Application $application): array
    {
        $consumer = self::service($application, Consumer::class);
        \assert($consumer instanceof Consumer);
        $consumer->products->get('key', static function (ItemInterface $item): int {
            $item->tag('t');

            return 1;
        });
        $consumer->tagged->invalidateTags(['t']);

        return [$consumer->tagged === $consumer->products, $consumer->items->hasItem('key'), $consumer->usual === self::service($application, 'cache.app')];
    }

    public static function save(Application $application, string $id, string $key, string $value, string $tag = ''): bool
    {
        $pool = self::pool($application, $id);
        $item = $pool->getItem($key)->set($value);
        $tag === '' || $item->tag($tag);

        return $pool->save($item);
    }

    /** @return list<?string> */
    public static function read(Application $application, string $id, string ...$keys): array
    {
        $values = [];
        foreach (self::pool($application, $id)->getItems($keys) as $item) {
            $values[] = $item->get();
        }

        return $values;
    }

    /** @return array{int, string} exit status and output of a command */
    public static function command(Application $application, string ...$lines): array
    {
        $console = new Console($application);
        $console->setAutoExit(false);
        $output = new BufferedOutput();
        $status = 0;
        foreach ($lines as $line) {
            $status = \max($status, $console->run(new StringInput("$line --no-interaction"), $output));
        }

        return [$status, $output->fetch()];
    }

    /** @return list<mixed> what a process reads of what others change: before a reset of the services, and after */
    public static function reset(Application $application, string $dsn): array
    {
        [$pool, $another, $seen] = self::changedByAnother($application, $dsn);
        $pool->saveDeferred($pool->getItem('deferred')->set('kept'));
        $seen[] = $pool->getItem('key')->get();
        self::service($application, 'services_resetter')->reset();
        $seen[] = $pool->getItem('key')->get();
        $seen[] = $another()->getItem('deferred')->get();

        return $seen;
    }

    /** @return array{AdapterInterface, \Closure(): LarderAdapter, list<mixed>} the pool, another process's anew, and what the first has read before the other changed it */
    private static function changedByAnother(Application $application, string $dsn): array
    {
        $pool = self::pool($application, 'cache.app');
        $pool->save($pool->getItem('key')->set('old'));
        $seen = [$pool->getItem('key')->get()];
        $group = (new \ReflectionProperty(LarderAdapter::class, 'group'))->getValue($pool);
        \assert(\is_string($group));
        $another = static fn(): LarderAdapter => new LarderAdapter(Cache::open($dsn), $group);
        $other = $another();
        $other->save($other->getItem('key')->set('new'));

        return [$pool, $another, $seen];
    }

    /** @return list<mixed> what a worker of Messenger reads of what others change: before it gets a message, and then */
    public static function message(Application $application, string $dsn): array
    {
        [$pool, , $seen] = self::changedByAnother($application, $dsn);
        $seen[] = $pool->getItem('key')->get();
        $events = self::service($application, 'event_dispatcher');
        \assert($events instanceof EventDispatcherInterface);
        $events->addListener(WorkerMessageReceivedEvent::class, static function () use ($pool, &$seen): void {
            $seen[] = $pool->getItem('key')->get();
        }, 1_000);
        $events->dispatch(new WorkerMessageReceivedEvent(new Envelope(new Note('x')), 'async'));

        return $seen;
    }

    /** @return array{value: mixed, computed: bool} of a key that everybody asks for at once, as soon as the parent says go */
    public static function cold(Application $application, string $id, string $notes): array
    {
        $pool = self::pool($application, $id);
        \assert($pool instanceof LarderAdapter);
        echo "ready\n";
        \fgets(\STDIN);
        $computed = false;
        $isOld = \is_file($notes);
        $value = $pool->get('key', static function (ItemInterface $item) use ($isOld, $notes, &$computed): int {
            $computed = true;
            $item->expiresAfter(9)->tag('t');
            \usleep(300_000);
            Wait::until(static fn(): bool => !$isOld || \is_file("$notes-old") && \strlen((string) \file_get_contents("$notes-old")) > 1, 'two others to have the old value', 5.0);
            \file_put_contents($notes, \microtime(true) . "\n", \FILE_APPEND | \LOCK_EX);

            return \getmypid();
        }, 10.0);
        $computed || !$isOld || \count(\file($notes) ?: []) > 1 || \file_put_contents("$notes-old", '.', \FILE_APPEND | \LOCK_EX);

        return ['value' => $value, 'computed' => $computed];
    }

    /** @return list<mixed> */
    public static function locks(Application $application): array
    {
        $factory = self::service($application, 'lock.factory');
        \assert($factory instanceof LockFactory);
        $first = $factory->createLock('import', 30);
        $second = $factory->createLock('import', 30);
        $told = [$first->acquire(), $second->acquire(), $first->isAcquired()];
        $first->release();
        $told[] = $second->acquire();
        $told[] = ($second->getRemainingLifetime() ?? 0.0) > 29;

        return $told;
    }

    /** @return list<string> classes of the stores that locks have */
    public static function stores(Application $application, string ...$ids): array
    {
        return \array_map(static function (string $id) use ($application): string {
            $factory = self::service($application, $id);
            \assert($factory instanceof LockFactory);

            return (new \ReflectionProperty(LockFactory::class, 'store'))->getValue($factory)::class;
        }, $ids);
    }

    /** @return array{int, string, string} status, body and cookie of a page that counts in its session */
    public static function session(Application $application, string $cookie): array
    {
        $request = Request::create('/', cookies: $cookie === '' ? [] : [\session_name() => $cookie]);
        $response = $application->handle($request);
        $application->terminate($request, $response);
        $cookies = $response->headers->getCookies();

        return [$response->getStatusCode(), (string) $response->getContent(), $cookies === [] ? $cookie : (string) $cookies[0]->getValue()];
    }

    /**
     * @param string ...$addresses '{token}' in one is that of the page before
     *
     * @return list<array{int, string, ?string}> status, body and token of each page
     */
    public static function pages(Application $application, string ...$addresses): array
    {
        $token = '';
        $pages = [];
        foreach ($addresses as $address) {
            $request = Request::create(\strtr($address, ['{token}' => $token]));
            $response = $application->handle($request);
            $application->terminate($request, $response);
            $token = $response->headers->get('X-Debug-Token') ?? $token;
            $pages[] = [$response->getStatusCode(), (string) $response->getContent(), $response->headers->get('X-Debug-Token')];
        }

        return $pages;
    }

    /** @return list<array{int, int, int}> what a worker has after a tenth of its requests, and after all: bytes, open files and sockets, and pages that were right */
    public static function work(Application $application, string $requests): array
    {
        $seen = [];
        $right = 0;
        for ($n = 1; $n <= (int) $requests; ++$n) {
            // From the second one on the kernel resets its services before.
            $request = Request::create("/?n=$n");
            $response = $application->handle($request);
            $application->terminate($request, $response);
            $id = $n % 500;
            $right += (int) ($response->getContent() === "$id: name $id");
            if ($n === \intdiv((int) $requests, 10) || $n === (int) $requests) {
                \gc_collect_cycles();
                $seen[] = [\memory_get_usage(), \count(\scandir('/proc/self/fd') ?: []), $right];
            }
        }

        return $seen;
    }

    /** @return array{list<mixed>, list<string>} the calls that a page's profile has, and ids of what collects them */
    public static function profile(Application $application): array
    {
        [[, , $token]] = self::pages($application, '/');
        $profiler = $application->getContainer()->has('profiler') ? self::service($application, 'profiler') : null;
        if (!$profiler instanceof Profiler) {
            return [[], []];
        }
        $collector = $profiler->loadProfile((string) $token)?->getCollector(LarderDataCollector::NAME);
        \assert($collector instanceof LarderDataCollector);

        return [$collector->getCalls(), [LarderDataCollector::NAME]];
    }

    public static function pool(Application $application, string $id): AdapterInterface
    {
        $pool = self::service($application, $id);
        \assert($pool instanceof AdapterInterface);

        return $pool;
    }

    private static function service(Application $application, string $id): object
    {
        return $application->getContainer()->get('test.service_container')->get($id);
    }
}
