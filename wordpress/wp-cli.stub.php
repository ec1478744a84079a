<?php

declare(strict_types=1);

// What WP-CLI has of what `wp larder` uses, for PHPStan. Not part of the plugin.

namespace {
    class WP_CLI
    {
        /**
         * @param callable|object|class-string           $callable
         * @param array{before_invoke?: callable(): void} $args
         */
        public static function add_command(string $name, callable|object|string $callable, array $args = []): bool {}

        public static function line(string $message = ''): void {}

        public static function log(string $message): void {}

        public static function success(string $message): void {}

        public static function warning(string $message): void {}

        public static function error(string $message): never {}

        public static function halt(int $return_code): never {}

        public static function get_runner(): \WP_CLI\Runner {}
    }
}

namespace WP_CLI {
    /** @property list<string> $arguments */
    class Runner {}
}

namespace WP_CLI\Dispatcher {
    class CommandNamespace {}
}

namespace WP_CLI\Utils {
    /**
     * @param list<array<string, mixed>> $items
     * @param list<string>               $fields
     */
    function format_items(string $format, array $items, array $fields): void {}
}
