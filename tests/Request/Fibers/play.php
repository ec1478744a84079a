<?php

declare(strict_types=1);

/*
 * Eight fibers over one Cache, another request that changes what they read, and a database that is an array: random
 * interleavings, which must leave no value in the cache that the database does not have. Prints what it saw as JSON.
 *
 *     php tests/Request/Fibers/play.php DSN NEAR LOOP COUNT [SEED]     LOOP: plain, react, revolt, amp
 */

use Larder\Cache;
use React\EventLoop\Loop;
use Revolt\EventLoop;

require dirname(__DIR__, 3) . '/vendor/autoload.php';

[, $dsn, $near, $loop, $count] = $argv;
$seed = (int) ($argv[5] ?? random_int(1, PHP_INT_MAX));
mt_srand($seed);

$cache = Cache::open(['dsn' => $dsn, 'near' => $near]);
$other = Cache::open(['dsn' => $dsn, 'near' => $near]);
/** @var array<string, int> $database */
$database = ['a' => 1, 'b' => 1];
$version = 1;
$stale = [];
$most = $computed = $refused = 0;

// Lets others go on, for as long as they like.
$pause = match ($loop) {
    'plain', 'react' => static fn() => Fiber::suspend(),
    'revolt' => static function (): void {
        $suspension = EventLoop::getSuspension();
        $later = static function (int $times, Closure $later) use ($suspension): void {
            EventLoop::defer(static function () use ($times, $later, $suspension): void {
                $times === 0 ? $suspension->resume() : $later($times - 1, $later);
            });
        };
        $later(mt_rand(0, 3), $later);
        $suspension->suspend();
    },
    'amp' => static function (): void {
        for ($i = mt_rand(1, 3); $i > 0; $i--) {
            Amp\delay(0);
        }
    },
    default => throw new InvalidArgumentException($loop),
};
$run = match ($loop) {
    'plain' => static function (array $programs): void {
        $fibers = array_map(static fn(Closure $program): Fiber => new Fiber($program), $programs);
        while ($fibers !== []) {
            $i = array_rand($fibers);
            $fibers[$i]->isStarted() ? $fibers[$i]->resume() : $fibers[$i]->start();
            if ($fibers[$i]->isTerminated()) {
                unset($fibers[$i]);
            }
        }
    },
    'react' => static function (array $programs): void {
        $step = static function (Fiber $fiber, Closure $step): void {
            $fiber->isStarted() ? $fiber->resume() : $fiber->start();
            $next = static fn() => $step($fiber, $step);
            $fiber->isTerminated() || (mt_rand(0, 1) === 0 ? Loop::futureTick($next) : Loop::addTimer(0, $next));
        };
        foreach ($programs as $program) {
            Loop::futureTick(static fn() => $step(new Fiber($program), $step));
        }
        Loop::run();
    },
    'revolt' => static function (array $programs): void {
        array_map(EventLoop::queue(...), $programs);
        EventLoop::run();
    },
    'amp' => static function (array $programs): void {
        Amp\Future\await(array_map(Amp\async(...), $programs));
    },
};

$steps = [
    'get and fill' => static function (string $key) use ($cache, $pause, &$database, &$refused): void {
        $value = $cache->get($key);
        $pause();
        if ($value === null) {
            $read = $database[$key];
            $pause();
            $cache->fill($key, $read) || $refused++;
        }
    },
    'remember' => static function (string $key) use ($cache, $pause, &$database): void {
        $cache->remember($key, static function () use ($key, $pause, &$database): int {
            $read = $database[$key];
            $pause();

            return $read;
        });
    },
    'refresh' => static function (string $key) use ($cache, &$database, &$stale): void {
        $cache->refresh();
        $value = $cache->get($key);
        $value === null || $value === $database[$key] || $stale[] = "$key: read $value, not $database[$key]";
    },
    'read and set' => static function (string $key) use ($cache, $pause, &$database): void {
        $cache->refresh();
        $read = $database[$key];
        $pause();
        $cache->set($key, $read);
    },
    'change' => static function (string $key) use ($cache, $pause, &$database, &$version): void {
        $cache->intend($key);
        $pause();
        $database[$key] = ++$version;
        $pause();
        $cache->delete($key);
    },
    'writeFills' => static function () use ($cache): void {
        $cache->writeFills();
    },
    'another request' => static function (string $key) use ($other, &$database, &$version): void {
        $other->refresh();
        $other->intend($key);
        $database[$key] = ++$version;
        mt_rand(0, 1) === 0 ? $other->delete($key) : $other->set($key, $version);
    },
];

for ($round = 0; $round < (int) $count; $round++) {
    $programs = [];
    for ($i = 0; $i < 8; $i++) {
        $plan = [];
        for ($n = mt_rand(1, 3); $n > 0; $n--) {
            $plan[] = [array_rand($steps), mt_rand(0, 1) === 0 ? 'a' : 'b'];
        }
        $programs[] = static function () use ($plan, $steps, $pause): void {
            foreach ($plan as [$step, $key]) {
                $steps[$step]($key);
                $pause();
            }
        };
    }
    $run($programs);
    $cache->refresh();
    $other->refresh();
    foreach (['a', 'b'] as $key) {
        foreach ([$cache, $other] as $reader) {
            $value = $reader->get($key);
            $value === null || $value === $database[$key] || $stale[] = "round $round: $key is $value, not $database[$key]";
        }
    }

    // One computation of a cold key; without an event loop that can resume the first, one for each fiber.
    $calls = 0;
    $values = [];
    $run(array_fill(0, 8, static function () use ($cache, $pause, $round, &$calls, &$values): void {
        $pause();
        $values[] = $cache->remember("cold $round", static function () use ($pause, &$calls): int {
            $calls++;
            $pause();

            return 7;
        });
    }));
    $values === array_fill(0, 8, 7) || $stale[] = "round $round: " . json_encode($values);
    $most = max($most, $calls);
    $computed += $calls;
}
$counts = (new ReflectionProperty($cache, 'request'))->getValue($cache)->counts();
echo json_encode(['seed' => $seed, 'rounds' => (int) $count, 'stale' => $stale, 'most' => $most, 'computed' => $computed, 'refused' => $refused, 'conflicts' => $counts['refused']]), "\n";
