<?php

declare(strict_types=1);

/*
 * Instructions of one call, counted by callgrind (valgrind), without the once-a-second renewal of a view: nearly the same on
 * every run. A call's count is what some hundred or thousand more calls add to a run, divided by them: the least of
 * three runs with them, less the least of three without.
 *
 *     php bench/instructions.php [--root=DIRECTORY ...] [--only=get,set]      of other checkouts too, for a before and after
 */

/** Calls that are counted: more of the cheap ones, which the noise of a process's start would hide. */
const CALLS = ['hit' => 20_000, 'near' => 3_000, 'prefetch' => 1_000, 'wordpress' => 20_000];
const FEW = 300;
const OPERATIONS = [
    'hit' => 'get, again in the same request',
    'near' => 'get, first in the request, from APCu',
    'get' => 'get, first in the request, from SQLite',
    'prefetch' => 'prefetch from SQLite and first get, a key',
    'set' => 'set over SQLite',
    'fill' => 'fill over SQLite, with its share of the commit',
    'remember' => 'remember over SQLite, of a missing key',
    'delete' => 'delete over SQLite',
    'wordpress' => 'wp_cache_get(), again in the same request',
];

function is_multisite(): bool
{
    return false;
}

/** Does the calls, in a process of its own. */
function work(string $root, string $operation, int $calls, string $directory): void
{
    spl_autoload_register(static function (string $class) use ($root): void {
        foreach (['Larder\\WordPress\\' => '/wordpress/src/', 'Larder\\' => '/src/'] as $prefix => $folder) {
            $file = $root . $folder . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
            if (str_starts_with($class, $prefix) && is_file($file)) {
                require $file;

                return;
            }
        }
    });
    $open = static fn(): Larder\Cache => Larder\Cache::open(['dsn' => "sqlite://$directory", 'near' => $operation === 'near' ? 'apcu' : 'none']);
    $cache = $open();
    $warm = [];
    $counted = CALLS[$operation] ?? FEW;
    for ($i = 0; $i < $counted * 2 + 32; $i++) {
        $warm["k$i"] = 'some value';
    }
    if (in_array($operation, ['near', 'get', 'prefetch', 'delete'], true)) {
        $cache->setMultiple($warm);
        $operation === 'near' && $open()->getMultiple(array_keys($warm));
        $cache = $open();
    }
    $wordpress = null;
    if ($operation === 'wordpress') {
        $wordpress = new Larder\WordPress\ObjectCache(Larder\Cache::open('memory://'));
        // As in a page: on the command line each hit looks at the clock.
        (new ReflectionProperty($wordpress, 'mask'))->isReadOnly() || $wordpress->mask = 15;
        $wordpress->set('k', 'some value', 'posts');
        $GLOBALS['wp_object_cache'] = $wordpress;
        require $root . '/wordpress/functions.php';
    }
    $cache->set('hit', 'some value');
    freeze($cache);
    if ($operation === 'prefetch') {
        $cache->prefetch([[$cache, array_slice(array_keys($warm), 0, $counted + $calls)]]);
    }
    for ($i = 0; $i < $counted + $calls; $i++) {
        // The first ones warm up, and are in both runs.
        match ($operation) {
            'hit' => $cache->get('hit'),
            'near', 'get', 'prefetch' => $cache->get("k$i"),
            'set' => $cache->set("s$i", 'some value'),
            'fill' => $cache->fill("f$i", 'some value'),
            'remember' => $cache->remember("r$i", static fn(): string => 'some value'),
            'delete' => $cache->delete("k$i"),
            default => wp_cache_get('k', 'posts'),
        };
    }
    $cache->commit();
}

/** No renewal of the view: how many come depends on how fast the machine is. */
function freeze(Larder\Cache $cache): void
{
    foreach (['view', 'stack'] as $name) {
        if (property_exists($cache, $name)) {
            $view = (new ReflectionProperty($cache, $name))->getValue($cache);
            is_object($view) && (new ReflectionProperty($view, 'due'))->setValue($view, PHP_INT_MAX);
        }
    }
}

function instructions(string $root, string $operation, int $calls): int
{
    // The same for all: its name decides where its keys lie in APCu's table.
    $directory = sys_get_temp_dir() . '/larder-instructions';
    exec('rm -rf ' . escapeshellarg($directory));
    $command = ['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null', PHP_BINARY, '-d', 'apc.enable_cli=1', __FILE__, 'work', $root, $operation, (string) $calls, $directory];
    $process = proc_open($command, [1 => STDERR, 2 => ['pipe', 'w']], $pipes);
    if ($process === false) {
        throw new RuntimeException('valgrind cannot be started; type: apt-get install valgrind');
    }
    $said = (string) stream_get_contents($pipes[2]);
    $status = proc_close($process);
    exec('rm -rf ' . escapeshellarg($directory));
    if ($status !== 0 || preg_match('/Collected : (\d+)/', $said, $count) !== 1) {
        throw new RuntimeException("$operation in $root failed:\n$said");
    }

    return (int) $count[1];
}

if (($argv[1] ?? '') === 'work') {
    work($argv[2], $argv[3], (int) $argv[4], $argv[5]);
    exit;
}
$options = getopt('', ['root:', 'only:']);
$roots = array_map(static fn(mixed $root): string => (string) realpath(is_string($root) ? $root : '.'), (array) ($options['root'] ?? dirname(__DIR__)));
$only = isset($options['only']) && is_string($options['only']) ? explode(',', $options['only']) : array_keys(OPERATIONS);
printf("%-50s %s\n", 'instructions a call, ' . PHP_VERSION, implode(' ', array_map(static fn(string $root): string => sprintf('%12s', substr(basename($root), 0, 12)), $roots)));
foreach ($only as $operation) {
    $line = sprintf('%-50s', OPERATIONS[$operation] ?? throw new RuntimeException("--only knows " . implode(', ', array_keys(OPERATIONS))));
    foreach ($roots as $root) {
        $calls = CALLS[$operation] ?? FEW;
        $with = $without = PHP_INT_MAX;
        // Noise only adds: a busy machine renews, asks for the time and waits more often.
        for ($round = 0; $round < 3; $round++) {
            $with = min($with, instructions($root, $operation, $calls));
            $without = min($without, instructions($root, $operation, 0));
        }
        $line .= sprintf(' %12s', number_format(intdiv($with - $without, $calls)));
    }
    echo $line, "\n";
}
