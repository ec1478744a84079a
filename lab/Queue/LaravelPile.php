<?php

declare(strict_types=1);

namespace Larder\Lab\Queue;

use Composer\Autoload\ClassLoader;
use Illuminate\Container\Container;
use Illuminate\Queue\Jobs\Job;
use Illuminate\Queue\RedisQueue;
use Illuminate\Redis\RedisManager;
use Larder\Bridge\Laravel\LarderConnector;
use Larder\Bridge\Laravel\LarderQueue;

/**
 * A queue of Laravel's: its own driver for Redis, or Larder's. The address is "driver address". That for a database is not
 * here: in SQLite it tells a worker that the database is locked while another process pushes.
 */
final class LaravelPile implements Pile
{
    /** Where `make frameworks` puts it. */
    public const LOADER = __DIR__ . '/../../build/frameworks/autoload.php';

    private readonly LarderQueue|RedisQueue $queue;

    private ?Job $job = null;

    public function __construct(string $address)
    {
        self::load();
        [$driver, $place] = \explode(' ', $address, 2) + ['', ''];
        $container = new Container();
        $this->queue = match ($driver) {
            'redis' => new RedisQueue(new RedisManager($container, 'phpredis', ['default' => ['host' => $place, 'port' => 0]]), 'lab'),
            'larder' => (new LarderConnector())->connect(['queue' => 'lab', 'dsn' => $place]),
            default => throw new \InvalidArgumentException("Laravel has no driver $driver here."),
        };
        $this->queue->setContainer($container);
        $this->queue->setConnectionName('lab');
    }

    public function push(string $body): void
    {
        $this->queue->pushRaw(self::payload($body));
    }

    public function pushMany(array $bodies): void
    {
        foreach ($bodies as $body) {
            $this->push($body);
        }
    }

    public function take(float $wait): ?string
    {
        $this->job?->delete();
        for ($end = \microtime(true) + $wait; ($this->job = $this->queue->pop()) === null && \microtime(true) < $end;) {
            \usleep(1_000);
        }
        $body = $this->job?->payload()['body'] ?? null;

        return \is_string($body) ? $body : null;
    }

    public function takeMany(int $most): array
    {
        for ($bodies = []; \count($bodies) < $most && ($body = $this->take(0.0)) !== null;) {
            $bodies[] = $body;
        }

        return $bodies;
    }

    public function clear(): void
    {
        $this->job = null;
        $this->queue->clear('lab');
    }

    private static function payload(string $body): string
    {
        return \json_encode(['id' => \bin2hex(\random_bytes(8)), 'attempts' => 0, 'job' => 'lab', 'body' => $body], \JSON_THROW_ON_ERROR);
    }

    private static function load(): void
    {
        $loader = require_once self::LOADER;
        if ($loader instanceof ClassLoader) {
            // After the project's own: only what that has not comes from there.
            $loader->unregister();
            $loader->register(false);
        }
    }
}
