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

namespace Illuminate\Support {
    abstract class ServiceProvider
    {
        protected function callAfterResolving(string $name, callable $callback): void {}
    }
}
