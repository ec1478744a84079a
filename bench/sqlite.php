<?php

declare(strict_types=1);

/*
 * Times read() and write() of the SQLite engine, in microseconds, on this machine's temporary directory.
 *
 *     php bench/sqlite.php [rounds]
 */

use Larder\Store\Change;
use Larder\Store\Sqlite\SqliteStore;

require __DIR__ . '/../vendor/autoload.php';

$rounds = max(1, (int) ($argv[1] ?? 20)) * 500;
$directory = sys_get_temp_dir() . '/larder-bench-' . bin2hex(random_bytes(6));
mkdir($directory, 0o700);
register_shutdown_function(static function () use ($directory): void {
    foreach (glob($directory . '/*') ?: [] as $file) {
        unlink($file);
    }
    rmdir($directory);
});

/** @param Closure(int): void $work */
function measure(string $name, int $rounds, Closure $work): void
{
    $times = [];
    for ($i = 0; $i < $rounds; $i++) {
        $start = hrtime(true);
        $work($i);
        $times[] = (hrtime(true) - $start) / 1000;
    }
    $times = array_slice($times, intdiv($rounds, 10));
    sort($times);
    $median = $times[intdiv(count($times), 2)];
    $deviations = array_map(static fn(float $t): float => abs($t - $median), $times);
    sort($deviations);
    printf("%-36s %8d %10.2f %8.2f\n", $name, count($times), $median, $deviations[intdiv(count($deviations), 2)]);
}

printf("%-36s %8s %10s %8s\n", 'microseconds', 'n', 'median', 'MAD');
$store = new SqliteStore($directory, 256 << 20, 0.25);
$body = static fn(int $size): string => 'v' . str_repeat('x', $size - 1);
foreach (['short' => 50, '20 kB' => 20_000] as $name => $size) {
    $value = $body($size);
    $count = $size > 1000 ? intdiv($rounds, 10) : $rounds;
    measure("write new, $name", $count, static function (int $i) use ($store, $value, $size): void {
        $store->write([new Change("e:group:$size:$i", $value, 'aaaaaaaaaaaa')]);
    });
    measure("write again, with a limit, $name", $count, static function (int $i) use ($store, $value, $size, $count): void {
        $store->write([new Change('e:group:' . $size . ':' . mt_rand(0, $count - 1), $value, 'aaaaaaaaaaaa', PHP_INT_MAX - 1)]);
    });
    measure("read, $name", $count, static function (int $i) use ($store, $value, $size, $count): void {
        $key = 'e:group:' . $size . ':' . mt_rand(0, $count - 1);
        if ($store->read([$key])->records[$key]->body !== $value) {
            throw new LogicException('A wrong value was read.');
        }
    });
}
$keys = array_map(static fn(int $i): string => "e:group:50:$i", range(0, 15));
measure('read 16 short at once', intdiv($rounds, 4), static function () use ($store, $keys): void {
    $store->read($keys);
});
measure('read an absent key', $rounds, static function () use ($store): void {
    $store->read(['e:group:absent']);
});
$changes = array_map(static fn(string $key): Change => new Change($key, $body(50), 'aaaaaaaaaaaa'), $keys);
measure('write 16 short at once', intdiv($rounds, 4), static function () use ($store, $changes): void {
    $store->write($changes);
});
measure('lease: take and give back', $rounds, static function () use ($store): void {
    $store->write([new Change('l:group:k', 'lease', 'aaaaaaaaaaaa', 0, logged: false)]);
    $store->write([new Change('l:group:k', null, 'aaaaaaaaaaaa', logged: false)]);
});
$seen = $store->since('', 0, '');
measure('since, nothing changed', $rounds, static function () use ($store, $seen): void {
    $store->since($seen->epoch, $seen->end, $seen->token);
});
$other = new SqliteStore($directory, 256 << 20, 0.25);
measure('since, one change (with its write)', intdiv($rounds, 4), static function () use ($store, $other, &$seen, $changes): void {
    $other->write([$changes[0]]);
    $seen = $store->since($seen->epoch, $seen->end, $seen->token);
});
measure('open, and read one key', 200, static function () use ($directory): void {
    (new SqliteStore($directory, 256 << 20, 0.25))->read(['e:group:50:1']);
});
