<?php

declare(strict_types=1);

/*
 * How far a reader has to go to follow one operation: the calls of Larder's functions in it, the classes that they belong to,
 * and how often one call leads into another folder than the call before it. Warm, over SQLite without a near tier, and with
 * what the end of the request adds. Counted by Xdebug's trace in php-fpm, so they are the same on every run:
 *
 *     php bench/path.php [--root=DIRECTORY] [--print=set]     of another checkout too; the calls themselves, one a line
 */

use Larder\Lab\Service\Account;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\PhpFpmServer;
use Larder\Tests\Support\FastCgi;

require dirname(__DIR__) . '/vendor/autoload.php';

/** Warm. */
const OPEN = '$c = Larder\Cache::open(["dsn" => "sqlite://$d/cache", "near" => "none"]); $c->get("k"); ';
const PAGE = '$_SERVER["REQUEST_URI"] = "/$page"; $c = Larder\Cache::open(["dsn" => "sqlite://$d/page", "near" => "none"]); ';
/** What is done before, and what is counted. */
const OPERATIONS = [
    'set' => ['one set', OPEN, '$c->set("new", "value");'],
    'remember' => ['a cold remember', OPEN, '$c->remember(uniqid(), static fn() => "value");'],
    'add' => ['an add', OPEN, '$c->add(uniqid(), "value", 60);'],
    'hit' => ['PageCache::start() with a stored page', '$page = "page"; ' . PAGE, '(new Larder\Page\PageCache($c))->start(); header("Cache-Control: s-maxage=3600"); echo "a page";'],
    'store' => ['the same with one that it stores first', '$page = uniqid(); ' . PAGE, '(new Larder\Page\PageCache($c))->start(); header("Cache-Control: s-maxage=3600"); echo "a page";'],
];

/** @return list<string> Class->function, in the order of the calls */
function calls(string $root, string $before, string $counted, Directory $home): array
{
    $trace = $home->file('trace');
    $fpm = new PhpFpmServer($home, Account::own(), 1, ['zend_extension' => 'xdebug', 'xdebug.mode' => 'trace', 'xdebug.start_with_request' => 'no', 'xdebug.use_compression' => 0]);
    file_put_contents($home->file('script.php'), sprintf('<?php [$root, $d] = %s; require "$root/vendor/autoload.php"; %s xdebug_start_trace(%s, XDEBUG_TRACE_COMPUTERIZED); %s', var_export([$root, $home->file('data')], true), $before, var_export($trace, true), $counted));
    try {
        $fpm->start();
        // Before: the directory is made, and what is stored is there.
        foreach ([1, 2, 3] as $ignored) {
            $answer = FastCgi::visit($fpm->socket(), $home->file('script.php'));
            $answer->status === 200 && is_file("$trace.xt") || throw new RuntimeException("PHP's extension xdebug is needed (apt-get install php-xdebug), or this fails: $counted $answer->body");
        }
    } finally {
        $fpm->stop();
    }
    $calls = [];
    foreach (explode("\n", (string) file_get_contents("$trace.xt")) as $line) {
        // Level, number, 0 for an entry, time, memory, function, 1 for PHP's own code: xdebug.org/docs/trace.
        $field = explode("\t", $line);
        if (($field[2] ?? '') === '0' && str_starts_with($field[5] ?? '', 'Larder\\') && ($field[6] ?? '') === '1') {
            $calls[] = $field[5];
        }
    }

    return $calls;
}

$options = getopt('', ['root:', 'print:']);
$root = (string) realpath(is_string($options['root'] ?? null) ? $options['root'] : dirname(__DIR__));
$print = $options['print'] ?? null;
printf("%-42s %8s %8s %8s\n", basename($root), 'calls', 'classes', 'changes of folder');
foreach (OPERATIONS as $name => [$what, $before, $counted]) {
    if (is_string($print) && $print !== $name) {
        continue;
    }
    $home = Directory::temporary();
    try {
        $calls = calls($root, $before, $counted, $home->open());
    } finally {
        $home->remove();
    }
    // A closure stands for its class: Larder\Store\Store->{closure:…}.
    $classes = array_map(static fn(string $call): string => (string) preg_replace('/(->|::|\\\\?\{).*/', '', $call), $calls);
    $folders = array_map(static fn(string $class): string => substr($class, 0, (int) strrpos($class, '\\')), $classes);
    $changes = 0;
    foreach ($folders as $i => $folder) {
        $changes += (int) ($i > 0 && $folder !== $folders[$i - 1]);
    }
    printf("%-42s %8d %8d %8d\n", $what, count($calls), count(array_unique($classes)), $changes);
    is_string($print) && print(implode("\n", $calls) . "\n");
}
