<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Cache\CacheManager;
use Illuminate\Cache\RateLimiter;
use Illuminate\Cache\Repository;
use Illuminate\Console\Application as Artisan;
use Illuminate\Contracts\Cache\CanFlushLocks;
use Illuminate\Contracts\Foundation\Application;
use Illuminate\Foundation\Console\AboutCommand;
use Illuminate\Queue\QueueManager;
use Illuminate\Session\SessionManager;
use Illuminate\Support\ServiceProvider;
use Larder\Cache;
use Larder\Config\Dsn;
use Larder\Console\DoctorCommand;
use Larder\Console\TopCommand;
use Larder\Console\WhyCommand;

/**
 * Tells Laravel of the driver "larder", of caches, sessions and queues. Laravel finds it by composer.json.
 *
 * This folder is thin: it says in Laravel's words what Cache, Locks, SessionHandler and Queue do.
 */
final class LarderServiceProvider extends ServiceProvider
{
    private const CONFIG = __DIR__ . '/../../../config/larder.php';

    /** Events with which something begins that holds nothing from before, by name: this does not need Octane. */
    private const BEGINNINGS = [
        'Laravel\Octane\Events\WorkerStarting',
        'Laravel\Octane\Events\RequestReceived',
        'Laravel\Octane\Events\TaskReceived',
        'Laravel\Octane\Events\TickReceived',
        'Illuminate\Queue\Events\Looping',
        'Illuminate\Queue\Events\JobProcessing',
    ];

    /** With which it ends. Octane's RequestTerminated, TaskTerminated and TickTerminated are the first one. */
    private const ENDS = [
        'Laravel\Octane\Contracts\OperationTerminated',
        'Laravel\Octane\Events\WorkerStopping',
        'Illuminate\Queue\Events\JobProcessed',
        'Illuminate\Queue\Events\JobExceptionOccurred',
        'Illuminate\Queue\Events\WorkerStopping',
    ];

    /** @var \WeakMap<LarderSessions, true> */
    private \WeakMap $sessions;

    public function register(): void
    {
        $this->mergeConfigFrom(self::CONFIG, 'larder');
        $config = $this->app->make('config');
        $config->get('cache.stores.larder') === null && $config->set('cache.stores.larder', ['driver' => 'larder']);

        $opened = new Opened();
        $this->callAfterResolving('queue', static function (QueueManager $manager) use ($opened): void {
            $manager->addConnector('larder', static fn(): LarderConnector => new LarderConnector($opened));
        });
        $this->callAfterResolving('cache', static function (CacheManager $manager) use ($opened): void {
            $manager->extend('larder', function (Application $app, array $config) use ($opened): Repository {
                $repository = LarderServiceProvider::repository($opened, Settings::of($app, $config), $config);
                // Laravel binds this closure to its manager.
                ($config['events'] ?? true) === false || $this->setEventDispatcher($repository);

                return $repository;
            });
        });
        $this->app->extend(RateLimiter::class, static fn(RateLimiter $limiter): RateLimiter => LarderRateLimiter::over($limiter));
        /** @var \WeakMap<LarderSessions, true> $open */
        $open = new \WeakMap();
        $this->sessions = $open;
        $this->callAfterResolving('session', static function (SessionManager $manager) use ($open): void {
            $manager->extend('larder', static function (Application $app) use ($open): LarderSessions {
                $minutes = $app->make('config')->get('session.lifetime');
                $sessions = new LarderSessions(Settings::of($app), \is_numeric($minutes) ? (int) $minutes : 120);
                $open[$sessions] = true;

                return $sessions;
            });
        });
    }

    public function boot(): void
    {
        $events = $this->app->make('events');
        // Each keeps what was computed, and begins to see what others have changed.
        $events->listen([...self::BEGINNINGS, ...self::ENDS], static function (): void {
            Cache::refreshAll();
        });
        $events->listen(self::ENDS, function (): void {
            foreach ($this->sessions as $sessions => $_) {
                $sessions->end();
            }
        });
        AboutCommand::add('Larder', fn(): array => $this->about());
        if ($this->app->runningInConsole()) {
            $this->publishes([self::CONFIG => $this->app->configPath('larder.php')], 'larder-config');
            $settings = fn(): Settings => Settings::of($this->app, $this->store());
            Artisan::starting(static function (Artisan $artisan) use ($settings): void {
                foreach ([new DoctorCommand(), new TopCommand(), new WhyCommand()] as $command) {
                    $artisan->add(new LarderCommand($command, $settings));
                }
            });
        }
    }

    /**
     * @internal
     *
     * @param array<array-key, mixed> $config of the store
     */
    public static function repository(Opened $opened, Settings $settings, array $config): LarderRepository
    {
        $cache = $settings->open(static function () use ($opened, $settings): Cache {
            $source = $settings->cache();

            return $opened->once(Cache::class, $source, static fn(): Cache => Cache::open($source));
        });
        $class = \interface_exists(CanFlushLocks::class) ? FlushableLarderStore::class : LarderStore::class;

        return new LarderRepository(new $class($cache, new LockPlace($opened, $settings), $settings->prefix), \array_intersect_key($config, ['store' => true]));
    }

    /** @return array<string, string> */
    private function about(): array
    {
        try {
            $place = Dsn::parse(Settings::of($this->app, $this->store())->dsn())->toString();
        } catch (\RuntimeException|\InvalidArgumentException $e) {
            $place = $e->getMessage();
        }

        return [
            'Cache' => $place,
            'Extension' => \extension_loaded('larder') ? 'loaded ' . \phpversion('larder') : 'not loaded',
        ];
    }

    /** @return array<array-key, mixed> the configuration of the store that is called "larder" */
    private function store(): array
    {
        $store = $this->app->make('config')->get('cache.stores.larder');

        return \is_array($store) ? $store : [];
    }
}
