<?php

declare(strict_types=1);

/*
 * Five cells of the laboratory's tables as somebody would write them who has never seen it: plain loops, no class of the
 * laboratory. Prints each cell's time and its ratio to APCu's get of the array, with client and server on the same core and
 * on two: APCu's get of a short value takes 0.1 us, of which the process's luck with its memory is a fifth. With a report of
 * the laboratory beside them, to see whether both say the same:
 *
 *     ext/with php bin/larder bench engines --json=build/bench/five.json \
 *         --subjects=apcu:process:php,redis:socket:none,memcached_nocompression:socket:php,larder-sqlite:process:igbinary
 *     php bench/independent.php [--report=build/bench/five.json] [--rounds=21]
 *
 * Needs APCu, phpredis, memcached, redis-server, memcached(1) and taskset(1); bin/setup installs all but the last,
 * which every Debian has.
 */

require __DIR__ . '/../vendor/autoload.php';

const SHORT = 'a short value';

/** The five: name, and the cell of the laboratory, where %s is the placement. */
const CELLS = [
    'APCu get, short' => 'engines/apcu:process:php/short/read/1',
    'APCu get, 50x50 array' => 'engines/apcu:process:php/50x50/read/1',
    'phpredis get, 20 kB, socket' => 'engines/redis:socket:none/20kB/read/1%s',
    'Memcached set, short, socket' => 'engines/memcached_nocompression:socket:php/short/write/1%s',
    'Larder get from SQLite, short, ten keys a request' => 'engines/larder-sqlite:process:igbinary/short/read/1',
];

const BASE = 'APCu get, 50x50 array';

$options = getopt('', ['report:', 'rounds:', 'child:']);
foreach (array_slice($argv, 1) as $argument) {
    preg_match('/^--(report|rounds|child)=./', $argument) === 1 || exit("Usage: php bench/independent.php [--report=FILE] [--rounds=NUMBER]\n");
}
if (!is_string($options['child'] ?? null)) {
    // The loops run on the first core; settings that only count from PHP's start are given here.
    $directory = sys_get_temp_dir() . '/larder-independent-' . getmypid();
    mkdir($directory, 0o700);
    $command = ['taskset', '-c', '0', PHP_BINARY, '-d', 'apc.enable_cli=1', '-d', 'apc.shm_size=256M', '-d', 'apc.serializer=php', __FILE__, "--child=$directory", ...array_slice($argv, 1)];
    $process = proc_open($command, [STDIN, STDOUT, STDERR], $pipes);
    $status = $process === false ? 1 : proc_close($process);
    exec('rm -rf ' . escapeshellarg($directory));
    exit($status);
}
$rounds = max(3, (int) (is_string($options['rounds'] ?? null) ? $options['rounds'] : 21));

// The servers, each on a socket in a directory of this run.
$directory = $options['child'];
$servers = [];
foreach ([
    ['redis-server', '--port', '0', '--unixsocket', "$directory/redis", '--save', '', '--appendonly', 'no', '--daemonize', 'no'],
    ['memcached', '-s', "$directory/memcached", '-m', '256', '-t', '1', '-u', posix_getpwuid(posix_geteuid())['name'] ?? 'nobody'],
] as $command) {
    $process = proc_open($command, [['file', '/dev/null', 'r'], ['file', '/dev/null', 'w'], ['file', '/dev/null', 'w']], $pipes);
    $process !== false || exit("$command[0] cannot be started\n");
    $servers[] = $process;
}
for ($i = 0; $i < 200 && !(file_exists("$directory/redis") && file_exists("$directory/memcached")); $i++) {
    usleep(20_000);
}
register_shutdown_function(static function () use ($servers): void {
    foreach ($servers as $server) {
        proc_terminate($server, SIGKILL);
        proc_close($server);
    }
});
$redis = new Redis();
$redis->connect("$directory/redis");
$memcached = new Memcached();
$memcached->setOption(Memcached::OPT_COMPRESSION, false);
$memcached->setOption(Memcached::OPT_BINARY_PROTOCOL, false);
$memcached->addServer("$directory/memcached", 0);
$larder = Larder\Cache::open("sqlite://$directory/larder?near=none&serializer=igbinary");

// The values.
$long = substr(str_repeat(hash('sha512', 'long'), 200), 0, 20_000);
$array = [];
for ($i = 0; $i < 50; $i++) {
    for ($j = 0; $j < 50; $j++) {
        $array[$i][$j] = "value $i $j";
    }
}
$keys = array_map(static fn(int $i): string => "key:$i", range(0, 349));
$tables = array_map(static fn(int $i): string => "table:$i", range(0, 349));
foreach ($tables as $key) {
    apcu_store($key, $array);
}
foreach ($keys as $key) {
    apcu_store($key, SHORT);
    $redis->set($key, $long);
    $larder->set($key, SHORT);
}

// Each loop goes over its keys for at least ten milliseconds, as a benchmark of one engine does. Microseconds an operation.
const LEAST = 10_000_000;
$loops = [
    static function () use ($keys): float {
        $start = hrtime(true);
        $passes = 0;
        do {
            foreach ($keys as $key) {
                $value = apcu_fetch($key);
            }
            $passes++;
            $time = hrtime(true) - $start;
        } while ($time < LEAST);
        $value === SHORT || exit("APCu has lost a value\n");

        return $time / $passes / count($keys) / 1e3;
    },
    static function () use ($tables, $array): float {
        $start = hrtime(true);
        $passes = 0;
        do {
            foreach ($tables as $key) {
                $value = apcu_fetch($key);
            }
            $passes++;
            $time = hrtime(true) - $start;
        } while ($time < LEAST);
        $value === $array || exit("APCu has lost an array\n");

        return $time / $passes / count($tables) / 1e3;
    },
    static function () use ($keys, $redis, $long): float {
        $start = hrtime(true);
        $passes = 0;
        do {
            foreach ($keys as $key) {
                $value = $redis->get($key);
            }
            $passes++;
            $time = hrtime(true) - $start;
        } while ($time < LEAST);
        $value === $long || exit("Redis has lost a value\n");

        return $time / $passes / count($keys) / 1e3;
    },
    static function () use ($keys, $memcached): float {
        $start = hrtime(true);
        $passes = 0;
        do {
            foreach ($keys as $key) {
                $done = $memcached->set($key, SHORT);
            }
            $passes++;
            $time = hrtime(true) - $start;
        } while ($time < LEAST);
        $done && $memcached->get($keys[0]) === SHORT || exit('Memcached: ' . $memcached->getResultMessage() . "\n");

        return $time / $passes / count($keys) / 1e3;
    },
    static function () use ($keys, $larder): float {
        $start = hrtime(true);
        $passes = 0;
        do {
            foreach ($keys as $i => $key) {
                if ($i % 10 === 0) {
                    $larder->refresh();
                }
                $value = $larder->get($key);
            }
            $passes++;
            $time = hrtime(true) - $start;
        } while ($time < LEAST);
        $value === SHORT || exit("Larder has lost a value\n");

        return $time / $passes / count($keys) / 1e3;
    },
];

/** @var array<string, float> $report microseconds by cell */
$report = [];
if (is_string($options['report'] ?? null)) {
    $json = is_file($options['report']) ? json_decode((string) file_get_contents($options['report']), true) : null;
    /** @var list<array{id: string, median: float|int}> $results */
    $results = is_array($json) && is_array($json['results'] ?? null) ? $json['results'] : [];
    foreach ($results as $result) {
        $report[$result['id']] = (float) $result['median'];
    }
    if (array_intersect_key($report, array_flip(array_map(static fn(string $id): string => sprintf($id, '/same'), CELLS))) === []) {
        exit("$options[report] is no report of the laboratory, or has none of these cells.\n");
    }
}

foreach (['same' => 0, 'other' => 1] as $placement => $core) {
    foreach ($servers as $server) {
        exec('taskset -a -p -c ' . $core . ' ' . proc_get_status($server)['pid'] . ' 2>&1', $said, $status);
        $status === 0 || exit(implode("\n", $said) . "\n");
    }
    $times = array_fill(0, count($loops), []);
    // Two rounds warm up.
    for ($round = -2; $round < $rounds; $round++) {
        foreach ($loops as $i => $loop) {
            $time = $loop();
            if ($round >= 0) {
                $times[$i][] = $time;
            }
        }
    }
    $medians = [];
    foreach ($times as $all) {
        sort($all);
        $medians[] = $all[intdiv(count($all), 2)] ?? 0.0;
    }
    printf("\nclient and servers on %s\n%-52s %10s %10s%s\n", $core === 0 ? 'the same core' : 'two cores', '', 'us', 'to APCu', $report === [] ? '' : sprintf(' %10s %10s %8s', 'lab: us', 'to APCu', 'ours/lab'));
    $base = $report[CELLS[BASE]] ?? 0.0;
    $divisor = $medians[array_search(BASE, array_keys(CELLS), true)];
    foreach (array_keys(CELLS) as $i => $name) {
        $ratio = $medians[$i] / $divisor;
        $line = sprintf('%-52s %10.3f %10.4f', $name, $medians[$i], $ratio);
        $theirs = $report[sprintf(CELLS[$name], "/$placement")] ?? null;
        if ($theirs !== null && $base > 0.0) {
            $line .= sprintf(' %10.3f %10.4f %8.2f', $theirs, $theirs / $base, $ratio / ($theirs / $base));
        }
        echo $line, "\n";
    }
}
