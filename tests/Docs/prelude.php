<?php

// What the examples of the pages take for granted. Run as: php prelude.php EXAMPLE

declare(strict_types=1);

use Larder\Cache;
use Larder\Psr\CacheItemPool;
use Larder\Psr\SimpleCache;
use Psr\Log\AbstractLogger;

require __DIR__ . '/../../vendor/autoload.php';

set_error_handler(static function (int $level, string $message, string $file, int $line): never {
    throw new ErrorException($message, 0, $level, $file, $line);
});

final class Checks
{
    public static int $done = 0;
}

function check(mixed $given, mixed $expected, string $statement): void
{
    if ($given !== $expected) {
        throw new LogicException(sprintf('%s gives %s, the page says %s', $statement, var_export($given, true), var_export($expected, true)));
    }
    ++Checks::$done;
}

function compute(): string
{
    return 'computed';
}

/** Stands for FrankenPHP's: two requests, and then the worker ends. */
function frankenphp_handle_request(callable $handle): bool
{
    static $left = 2;
    $handle();

    return --$left > 0;
}

$cache = Cache::open();
$simple = new SimpleCache($cache);
$pool = new CacheItemPool($cache);
$logger = new class extends AbstractLogger {
    /** @var list<string> */
    public array $lines = [];

    public function log(mixed $level, string|Stringable $message, array $context = []): void
    {
        $this->lines[] = (string) $message;
    }
};
$database = new PDO('sqlite::memory:');
$database->exec('CREATE TABLE products(id INTEGER PRIMARY KEY, name TEXT, price INTEGER, stock INTEGER)');
$database->exec("INSERT INTO products VALUES(7, 'Lamp', 1000, 10)");
$jobs = [static fn(Cache $cache): bool => $cache->set('job', 'done'), static fn(Cache $cache): mixed => $cache->get('job')];

require $argv[1];

echo "\nchecked ", Checks::$done, "\n";
