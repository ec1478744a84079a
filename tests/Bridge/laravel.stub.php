<?php

declare(strict_types=1);

// What src/Bridge/Laravel and lab/Queue/LaravelPile.php use of Laravel, with its signatures, for PHPStan. The tests use the
// real one.

namespace Illuminate\Container {
    class Container {}
}

namespace Illuminate\Contracts\Queue {
    interface Queue {}
    interface ClearableQueue {}
    interface Job {}
}

namespace Illuminate\Queue\Connectors {
    interface ConnectorInterface
    {
        /** @param array<string, mixed> $config */
        public function connect(array $config): mixed;
    }
}

namespace Illuminate\Queue\Jobs {
    abstract class Job
    {
        /** @var \Illuminate\Container\Container */
        protected $container;

        /** @var string */
        protected $connectionName;

        /** @var string */
        protected $queue;

        /** @return void */
        public function delete() {}

        /** @return array<array-key, mixed> */
        public function payload() {}

        /**
         * @param int $delay
         *
         * @return void
         */
        public function release($delay = 0) {}
    }
}

namespace Illuminate\Queue {
    abstract class Queue
    {
        /** @var \Illuminate\Container\Container */
        protected $container;

        /** @var string */
        protected $connectionName;

        /** @var bool */
        protected $dispatchAfterCommit;

        protected function createPayload(mixed $job, string $queue, mixed $data = '', mixed $delay = null): string {}

        protected function enqueueUsing(mixed $job, string $payload, ?string $queue, mixed $delay, callable $callback): mixed {}

        protected function secondsUntil(mixed $delay): int {}

        /** @return void */
        public function setContainer(\Illuminate\Container\Container $container) {}

        /** @return void */
        public function setConnectionName(string $name) {}
    }
    class RedisQueue extends Queue
    {
        public function __construct(\Illuminate\Redis\RedisManager $redis, string $default) {}

        public function pushRaw(string $payload): mixed {}

        public function pop(): ?Jobs\Job {}

        public function clear(string $queue): int {}
    }
    class QueueManager
    {
        /** @param \Closure(): Connectors\ConnectorInterface $resolver */
        public function addConnector(string $driver, \Closure $resolver): void {}
    }
}

namespace Illuminate\Redis {
    class RedisManager
    {
        /** @param array<string, mixed> $config */
        public function __construct(\Illuminate\Container\Container $app, string $driver, array $config) {}
    }
}

namespace Illuminate\Contracts\Foundation {
    interface Application
    {
        /** @return ($name is 'config' ? \Illuminate\Contracts\Config\Repository : ($name is 'events' ? \Illuminate\Contracts\Events\Dispatcher : mixed)) */
        public function make(string $name): mixed;

        public function storagePath(string $path = ''): string;

        public function configPath(string $path = ''): string;

        public function runningInConsole(): bool;

        /**
         * @template T of object
         *
         * @param class-string<T>  $abstract
         * @param \Closure(T): T $closure
         */
        public function extend(string $abstract, \Closure $closure): void;
    }
}

namespace Illuminate\Contracts\Config {
    interface Repository
    {
        public function get(string $key, mixed $default = null): mixed;

        public function set(string $key, mixed $value): void;
    }
}

namespace Illuminate\Contracts\Events {
    interface Dispatcher
    {
        /**
         * @param list<string>      $events
         * @param \Closure(): void  $listener
         */
        public function listen(array $events, \Closure $listener): void;
    }
}

namespace Illuminate\Contracts\Cache {
    interface Store
    {
        /** @param string $key */
        public function get($key): mixed;
    }
    interface LockProvider {}
    interface CanFlushLocks {}
}

namespace Illuminate\Cache\Events {
    abstract class CacheEvent
    {
        /**
         * @param string $storeName
         * @param string $key
         */
        public function __construct($storeName, $key) {}
    }
    class CacheHit extends CacheEvent
    {
        /**
         * @param string $storeName
         * @param string $key
         * @param mixed  $value
         */
        public function __construct($storeName, $key, $value) {}
    }
    class CacheMissed extends CacheEvent {}
    class RetrievingKey extends CacheEvent {}
    class WritingKey extends CacheEvent
    {
        /**
         * @param string $storeName
         * @param string $key
         * @param mixed  $value
         * @param ?int   $seconds
         */
        public function __construct($storeName, $key, $value, $seconds = null) {}
    }
    class KeyWritten extends WritingKey {}
    class KeyWriteFailed extends WritingKey {}
    class CacheFlushing
    {
        /** @param string $storeName */
        public function __construct($storeName) {}
    }
    class CacheFlushed extends CacheFlushing {}
    class CacheFlushFailed extends CacheFlushing {}
}

namespace Illuminate\Cache {
    abstract class TaggableStore implements \Illuminate\Contracts\Cache\Store {}
    class TagSet
    {
        /** @var list<string> */
        protected $names;

        /** @param list<string> $names */
        public function __construct(\Illuminate\Contracts\Cache\Store $store, array $names = []) {}
    }
    class RateLimiter
    {
        /** @var Repository */
        protected $cache;

        /** @var array<string, \Closure> */
        protected $limiters;

        public function __construct(Repository $cache) {}

        /** @return int */
        public function attempts(string $key) {}

        public function cleanRateLimiterKey(string $key): string {}

        protected function secondsUntil(\DateTimeInterface|\DateInterval|int $delay): int {}

        protected function availableAt(\DateTimeInterface|\DateInterval|int $delay = 0): int {}
    }
    class Repository
    {
        /** @var \Illuminate\Contracts\Cache\Store */
        protected $store;

        /** @return \Illuminate\Contracts\Cache\Store */
        public function getStore() {}

        public function put(string $key, mixed $value, \DateTimeInterface|\DateInterval|int|null $ttl = null): bool {}

        /** @var ?callable(string, string): mixed Laravel 13 has it. */
        protected static $unserializableClassHandler;

        /** @param array<array-key, mixed> $config */
        public function __construct(\Illuminate\Contracts\Cache\Store $store, array $config = []) {}

        /** @param \UnitEnum|string $key */
        public function get($key, mixed $default = null): mixed {}

        /** @param array<array-key, string>|\UnitEnum|string $key */
        public function pull($key, mixed $default = null): mixed {}

        /** @param \UnitEnum|string $key */
        public function forget($key): bool {}

        /** @return string */
        public function getName() {}

        /**
         * @param string $key
         *
         * @return string
         */
        protected function itemKey($key) {}

        /**
         * @param \DateInterval|\DateTimeInterface|int $ttl
         *
         * @return int
         */
        protected function getSeconds($ttl) {}

        /**
         * @param object $event
         *
         * @return void
         */
        protected function event($event) {}
    }
    class TaggedCache extends Repository
    {
        public function __construct(\Illuminate\Contracts\Cache\Store $store, TagSet $tags) {}
    }
    abstract class Lock
    {
        /** @var string */
        protected $name;

        /** @var int */
        protected $seconds;

        /** @var string */
        protected $owner;

        /**
         * @param string  $name
         * @param int     $seconds
         * @param ?string $owner
         */
        public function __construct($name, $seconds, $owner = null) {}
    }
    class CacheManager
    {
        /**
         * @param \Closure(\Illuminate\Contracts\Foundation\Application, array<array-key, mixed>): Repository $creator
         *
         * @param-closure-this self $creator
         */
        public function extend(string $driver, \Closure $creator): static {}

        // Protected; a closure that is bound to the manager may call it.
        public function setEventDispatcher(Repository $repository): void {}
    }
}

namespace Illuminate\Session {
    class SessionManager
    {
        /** @param \Closure(\Illuminate\Contracts\Foundation\Application): \SessionHandlerInterface $creator */
        public function extend(string $driver, \Closure $creator): static {}
    }
}

namespace Illuminate\Console {
    class Application
    {
        /** @param \Closure(self): void $callback */
        public static function starting(\Closure $callback): void {}

        public function add(\Symfony\Component\Console\Command\Command $command): mixed {}
    }
    class OutputStyle extends \Symfony\Component\Console\Style\SymfonyStyle {}
    class Command extends \Symfony\Component\Console\Command\Command
    {
        /** @var ?string */
        protected $name;

        /** @var ?string */
        protected $description;

        /** @var \Symfony\Component\Console\Input\InputInterface */
        protected $input;

        /** @var OutputStyle */
        protected $output;

        public function __construct() {}

        public function option(string $name): mixed {}

        public function argument(string $name): mixed {}
    }
}

namespace Illuminate\Foundation\Console {
    class AboutCommand
    {
        /** @param \Closure(): array<string, string> $data */
        public static function add(string $section, \Closure $data): void {}
    }
}

namespace Illuminate\Support {
    abstract class ServiceProvider
    {
        /** @var \Illuminate\Contracts\Foundation\Application */
        protected $app;

        protected function callAfterResolving(string $name, callable $callback): void {}

        protected function mergeConfigFrom(string $path, string $key): void {}

        /** @param array<string, string> $paths */
        protected function publishes(array $paths, string $group): void {}
    }

    /** @return ($value is string ? string : int|string) */
    function enum_value(\UnitEnum|string $value): int|string {}

    /** @param \Closure(): void $callback */
    function defer(\Closure $callback, ?string $name = null, bool $always = false): mixed {}
}
