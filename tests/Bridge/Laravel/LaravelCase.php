<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge\Laravel;

use Illuminate\Cache\CacheServiceProvider;
use Illuminate\Cache\Repository;
use Illuminate\Config\Repository as Config;
use Illuminate\Container\Container;
use Illuminate\Foundation\Application;
use Illuminate\Support\Facades\Facade;
use Larder\Bridge\Laravel\LarderRepository;
use Larder\Bridge\Laravel\LarderServiceProvider;
use Larder\Bridge\Laravel\LarderStore;
use Larder\Bridge\Laravel\Opened;
use Larder\Bridge\Laravel\Settings;
use Larder\Tests\Bridge\Frameworks;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\TestCase;

/** Laravel's container, with its own cache provider and Larder's, in this process. */
abstract class LaravelCase extends TestCase
{
    protected TemporaryDirectory $root;
    protected Application $app;

    protected function setUp(): void
    {
        Frameworks::load();
        $this->root = new TemporaryDirectory();
        $this->app = $this->application();
    }

    protected function tearDown(): void
    {
        // Without Laravel there is none.
        if (isset($this->app)) {
            Container::setInstance(null);
            Facade::clearResolvedInstances();
            Facade::setFacadeApplication(null);
            // Or its caches would take part in other tests' requests, without their server.
            $this->app->flush();
            unset($this->app);
            \gc_collect_cycles();
        }
    }

    /** The DSN that LARDER_DSN has; null: none. */
    abstract protected function dsn(): ?string;

    /** @param array<string, mixed> $config beside that of a new application */
    protected function application(array $config = []): Application
    {
        $app = new Application($this->root->path);
        $app->useStoragePath($this->root->file('storage'));
        $all = new Config(['cache' => ['default' => 'larder', 'prefix' => 'shop-', 'stores' => ['array' => ['driver' => 'array', 'serialize' => true]]], 'session' => ['lifetime' => 120]]);
        foreach (['larder.dsn' => $this->dsn()] + $config as $name => $value) {
            $all->set($name, $value);
        }
        $app->instance('config', $all);
        Facade::setFacadeApplication($app);
        $app->register(CacheServiceProvider::class);
        $app->register(LarderServiceProvider::class);
        $app->boot();

        return $app;
    }

    protected function cache(string $store = 'larder'): Repository
    {
        $cache = $this->app->make('cache')->store($store);
        self::assertInstanceOf(Repository::class, $cache);
        $store === 'larder' && self::assertInstanceOf(LarderRepository::class, $cache);

        return $cache;
    }

    /** As another process sees it. */
    protected function elsewhere(): Repository
    {
        return LarderServiceProvider::repository(new Opened(), Settings::of($this->app), ['store' => 'larder']);
    }

    protected function store(): LarderStore
    {
        $store = $this->cache()->getStore();
        self::assertInstanceOf(LarderStore::class, $store);

        return $store;
    }
}
