<?php

declare(strict_types=1);

// What src/Bridge/Laravel uses of Laravel, with its signatures, for PHPStan. The tests use the real one.

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
    }
    class QueueManager
    {
        /** @param \Closure(): Connectors\ConnectorInterface $resolver */
        public function addConnector(string $driver, \Closure $resolver): void {}
    }
}

namespace Illuminate\Support {
    abstract class ServiceProvider
    {
        protected function callAfterResolving(string $name, callable $callback): void {}
    }
}
