<?php

// Compares ObjectCache with WordPress's own. Arguments: the directory of a WordPress, the source of the cache as JSON, a
// network or not, whether each request opens the cache anew, the seed, the calls. Prints what differs, or nothing.

declare(strict_types=1);

namespace Larder\Tests\WordPress;

require __DIR__ . '/../../vendor/autoload.php';
require __DIR__ . '/object-cache-stand-ins.php';
\set_error_handler(static function (int $level, string $message, string $file, int $line): bool {
    // As for WordPress: what is silenced is.
    return (\error_reporting() & $level) === 0 ? true : throw new \ErrorException($message, 0, $level, $file, $line);
});
[, $wordpress, $source, $network, $reopens, $seed, $calls] = $argv;
require "$wordpress/wp-includes/class-wp-object-cache.php";
require __DIR__ . '/../../wordpress/functions.php';

$comparison = new ObjectCacheComparison((array) \json_decode($source, true), $network === '1', $reopens === '1');
try {
    echo $comparison->run((int) $seed, (int) $calls);
} catch (\Throwable $thrown) {
    echo "seed $seed: $thrown\nafter\n  ", \implode("\n  ", \array_slice($comparison->calls, -60));
}
