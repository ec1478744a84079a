<?php

// What a request costs Redis: connections, round trips and bytes, as Redis counts them; what a call takes beside phpredis's
// plain command; and what Redis keeps for a value. It takes ten seconds, on a server of its own. Run it by: php -d apc.enable_cli=1 bench/far.php
// With --counts it measures no time.

declare(strict_types=1);

use Larder\Cache;
use Larder\Counter;
use Larder\Lock\Locks;
use Larder\Queue\Queue;
use Larder\Session\SessionHandler;
use Larder\Tests\Support\RedisServer;

require __DIR__ . '/../vendor/autoload.php';

$server = new RedisServer();
$dsn = "redis://127.0.0.1:$server->port";
$open = static fn(string $near = 'none'): Cache => Cache::open("$dsn?near=$near");
$info = static function (string ...$fields) use ($server): array {
    preg_match_all('/^(\w+):(\d+)/m', $server->info('all'), $found);

    return array_map(static fn(string $field): int => (int) (array_combine($found[1], $found[2])[$field] ?? 0), $fields);
};
// What Redis counts: the end of a connection is a read, too.
$count = static function (Closure $request) use ($info): array {
    $fields = ['total_connections_received', 'total_reads_processed', 'total_net_input_bytes', 'total_net_output_bytes'];
    $self = array_map(static fn(int $after, int $before): int => $after - $before, ...array_reverse([$info(...$fields), $info(...$fields)]));
    $before = $info(...$fields);
    $request();
    gc_collect_cycles();
    usleep(20_000);
    [$connections, $reads, $in, $out] = array_map(static fn(int $after, int $before, int $self): int => $after - $before - $self, $info(...$fields), $before, $self);

    return [$connections, $reads - $connections, $in, $out];
};

$keys = array_map(static fn(int $i): string => "key-$i", range(1, 175));
$cache = $open();
foreach ($keys as $i => $key) {
    $cache->set($key, "value $i", 3600, ['tag-' . $i % 5]);
}
unset($cache);
// So that the scripts are there.
$sessions = static function () use ($dsn): void {
    $session = SessionHandler::over($dsn);
    $session->read('0123456789abcdef');
    $session->write('0123456789abcdef', 'data');
    $session->close();
};
$sessions();
$requests = [
    'reads one key' => static fn() => $open()->get('key-1'),
    'reads 175 keys with 5 tags' => static fn() => $open()->getMultiple($keys),
    'the same 175 keys, lazy=1' => static fn() => Cache::open("$dsn?near=none&lazy=1")->getMultiple($keys),
    'reads one and changes one' => static function () use ($open): void {
        $cache = $open();
        $cache->get('key-1');
        $cache->set('other', 'value', 3600);
    },
    'a session, read and written' => $sessions,
    'a lock, taken and released' => static fn() => Locks::open($dsn)->acquire('lock')?->release(),
    'a message pushed' => static fn() => Queue::open($dsn)->push('message'),
    'a count' => static fn() => Counter::open($dsn)->add(),
];
if (function_exists('apcu_enabled') && apcu_enabled()) {
    $open('apcu')->getMultiple($keys);
    $requests['the same 175 keys, near=apcu'] = static fn() => $open('apcu')->getMultiple($keys);
}
printf("%-30s %12s %12s %14s %16s\n", 'a request that has', 'connections', 'round trips', 'bytes to Redis', 'bytes from Redis');
foreach ($requests as $name => $request) {
    $request();
    // The least of three: one of 64 requests that have read markers renews them, by a round trip more.
    $counts = [$count($request), $count($request), $count($request)];
    usort($counts, static fn(array $one, array $other): int => $one[1] <=> $other[1]);
    vprintf("%-30s %12d %12d %14d %16d\n", [$name, ...$counts[0]]);
}

echo "\n";
foreach ([10, 1_000, 10_000] as $length) {
    $server->command('FLUSHALL');
    $cache = $open();
    // The journal and its index grow to 10,400 changes and no further.
    $cache->setMultiple(array_map(static fn(int $i): string => str_repeat('x', 10), range(1, 11_000)));
    [$before] = $info('used_memory_dataset');
    for ($i = 0; $i < 2_000; $i++) {
        $cache->set("value-$i", random_bytes($length), 3600);
    }
    [$after] = $info('used_memory_dataset');
    printf("a value of %6d bytes takes %5d bytes more\n", $length, intdiv($after - $before, 2_000) - $length);
}
$kept = 0;
foreach (['i', 'j'] as $name) {
    foreach ((array) $server->command('KEYS', "larder:????????????????:$name") as $key) {
        $bytes = is_string($key) ? $server->command('MEMORY', 'USAGE', $key, 'SAMPLES', '0') : 0;
        $kept += is_int($bytes) ? $bytes : 0;
    }
}
printf("the journal and its index take %.1f MB\n", $kept / 1e6);

if (in_array('--counts', $argv, true)) {
    return;
}

// The time of a change: as the caller waits for it, beside phpredis's plain command on the same socket, in turn; and Redis's own.
$redis = new Redis();
$redis->connect($server->socket);
$served = static function (int $calls) use ($server): float {
    preg_match_all('/^cmdstat_(?!info|config)\w+:calls=\d+,usec=(\d+)/m', preg_replace('/^cmdstat_config\|resetstat.*$/m', '', $server->info('commandstats')) ?? '', $found);

    return array_sum(array_map(intval(...), $found[1])) / $calls;
};
$rounds = 60;
$calls = 200;
// By call: microseconds that the caller waits, and that Redis works; then the same of phpredis.
$times = array_fill_keys(['set', 'get', 'delete'], [[], [], [], []]);
$begins = [];
for ($round = 0; $round < $rounds; $round++) {
    // Each round has keys of its own, so that nothing is overwritten, and caches that know none of them.
    $names = array_map(static fn(int $i): string => "price-$round-$i", range(1, $calls));
    $writes = Cache::open("redis://$server->socket?near=none");
    $reads = Cache::open("redis://$server->socket?near=none");
    $writes->get('key-1');
    $sides = [
        'set' => [static fn(string $name): bool => $writes->set($name, 'a short value', 3600), static fn(string $name): mixed => $redis->setex("plain-$name", 3600, 'a short value')],
        'get' => [static fn(string $name): mixed => $reads->get($name), static fn(string $name): mixed => $redis->get("plain-$name")],
        'delete' => [static fn(string $name): bool => $writes->delete($name), static fn(string $name): mixed => $redis->del("plain-$name")],
    ];
    foreach ($sides as $call => $two) {
        $reads->refresh();
        $reads->get('key-1');
        foreach ($round % 2 === 0 ? [0, 1] : [1, 0] as $side) {
            $server->command('CONFIG', 'RESETSTAT');
            $begun = hrtime(true);
            foreach ($names as $name) {
                $two[$side]($name);
            }
            $times[$call][2 * $side][] = (hrtime(true) - $begun) / $calls / 1e3;
            $times[$call][2 * $side + 1][] = $served($calls);
        }
    }
    // A request's begin, on a connection that stays.
    $server->command('CONFIG', 'RESETSTAT');
    for ($i = 0; $i < 20; $i++) {
        $reads->refresh();
        $reads->get('key-1');
    }
    $begins[] = $served(20);
}
$median = static function (float ...$times): float {
    sort($times);

    return $times[intdiv(count($times), 2)] ?? 0.0;
};
printf("\n%-8s %12s %14s %8s %18s %18s\n", 'a call', 'Larder, µs', 'phpredis, µs', 'ratio', "Redis's part, µs", "Redis's part, µs");
foreach ($times as $call => [$ours, $served, $plain, $plainServed]) {
    printf("%-8s %11.1f %13.1f %9.2f %17.1f %17.1f\n", $call, $median(...$ours), $median(...$plain), $median(...array_map(static fn(float $one, float $other): float => $one / $other, $ours, $plain)), $median(...$served), $median(...$plainServed));
}
printf("a request that begins and reads one key takes Redis %.1f µs\n", $median(...$begins));
