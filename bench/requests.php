<?php

declare(strict_types=1);

/*
 * Instructions of one request of php-fpm, with all code in OPcache, counted by callgrind (valgrind): the same on every run.
 * callgrind writes what it has counted each time the worker waits for its next request.
 *
 *     php bench/requests.php [--root=DIRECTORY] [--only=empty,push]      of another checkout too, for a before and after
 *     ext/with php bench/requests.php                                   with the extension: near memory is the segment
 */

use Larder\Lab\Service\Account;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\PhpFpmServer;
use Larder\Lab\Service\RedisServer;
use Larder\Lab\Web\Loader;
use Larder\Tests\Support\FastCgi;

require dirname(__DIR__) . '/vendor/autoload.php';

const REQUESTS = 24;
const SCRIPTS = [
    'empty' => ['nothing', ''],
    'loader' => ['Composer\'s loader, and nothing', '{load}'],
    'get' => ['a value from near memory: get()', '{load} $c = Larder\Cache::open([\'dsn\' => \'sqlite://{directory}/cache\', \'near\' => \'{near}\']); echo $c->get("key") ?? $c->set("key", "value");'],
    'get-counted' => ['the same with metrics=1', '{load} $c = Larder\Cache::open([\'dsn\' => \'sqlite://{directory}/cache\', \'near\' => \'{near}\', \'metrics\' => true]); echo $c->get("key") ?? $c->set("key", "value");'],
    'get-sqlite' => ['the same from SQLite', '{load} $c = Larder\Cache::open([\'dsn\' => \'sqlite://{directory}/cache\', \'near\' => \'none\']); echo $c->get("key") ?? $c->set("key", "value");'],
    'get-redis' => ['the same from Redis', '{load} $c = Larder\Cache::open([\'dsn\' => \'redis://{redis}\', \'near\' => \'none\']); echo $c->get("key") ?? $c->set("key", "value");'],
    'symfony-apcu' => ['the same by Symfony: ApcuAdapter', '{load} echo (new Symfony\Component\Cache\Adapter\ApcuAdapter("app"))->get("key", static fn() => "value");'],
    'symfony-files' => ['FilesystemAdapter', '{load} echo (new Symfony\Component\Cache\Adapter\FilesystemAdapter("", 0, \'{directory}/files\'))->get("key", static fn() => "value");'],
    'symfony-php' => ['PhpFilesAdapter', '{load} echo (new Symfony\Component\Cache\Adapter\PhpFilesAdapter("", 0, \'{directory}/php\'))->get("key", static fn() => "value");'],
    'symfony-pdo' => ['PdoAdapter on SQLite', '{load} echo (new Symfony\Component\Cache\Adapter\PdoAdapter(\'sqlite:{directory}/pdo.db\'))->get("key", static fn() => "value");'],
    'symfony-redis' => ['RedisAdapter', '{load} $r = new Redis(); $r->connect(\'{redis}\'); echo (new Symfony\Component\Cache\Adapter\RedisAdapter($r))->get("key", static fn() => "value");'],
    'remember' => ['Larder, near memory: remember()', '{load} echo Larder\Cache::open([\'dsn\' => \'sqlite://{directory}/cache\', \'near\' => \'{near}\'])->remember("key", static fn() => "value");'],
    'remember-sqlite' => ['the same from SQLite', '{load} echo Larder\Cache::open([\'dsn\' => \'sqlite://{directory}/cache\', \'near\' => \'none\'])->remember("key", static fn() => "value");'],
    'remember-redis' => ['the same from Redis', '{load} echo Larder\Cache::open([\'dsn\' => \'redis://{redis}\', \'near\' => \'none\'])->remember("key", static fn() => "value");'],
    'push' => ['a push on SQLite', '{load} echo strlen(Larder\Queue\Queue::open(\'sqlite://{directory}/queue\')->push("a message"));'],
    'push-redis' => ['a push over Redis', '{load} echo strlen(Larder\Queue\Queue::open(\'redis://{redis}\')->push("a message"));'],
    'list-redis' => ['rPush of phpredis', '$c = new Redis(); $c->connect(\'{redis}\'); echo $c->rPush("list", "a message");'],
    'add' => ['a counter on SQLite', '{load} echo Larder\Counter::open(\'sqlite://{directory}/counters\')->add();'],
    'add-pdo' => ['the same by PDO, and nothing else', '$p = new PDO(\'sqlite:{directory}/bare.db\', null, null, [PDO::ATTR_PERSISTENT => true]); if (!is_file(\'{directory}/bare\')) { $p->exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; CREATE TABLE counter (name BLOB PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID; INSERT INTO counter VALUES (CAST(\'hits\' AS BLOB), 0)"); touch(\'{directory}/bare\'); } $s = $p->prepare("UPDATE counter SET value = value + ? WHERE name = ? RETURNING value"); $s->bindValue(1, 1, PDO::PARAM_INT); $s->bindValue(2, "hits", PDO::PARAM_LOB); $s->execute(); echo $s->fetchColumn(); $s->fetchColumn();'],
    'add-redis' => ['a counter over Redis', '{load} echo Larder\Counter::open(\'redis://{redis}\')->add();'],
    'incr-redis' => ['incr of phpredis', '$c = new Redis(); $c->connect(\'{redis}\'); echo $c->incr("counter");'],
    'wordpress' => ['what WordPress does before', '{wordpress}'],
    'wordpress-start' => ['its object cache, and a value from near', '{wordpress} const LARDER_NEAR = \'{near}\'; require WP_CONTENT_DIR . \'/object-cache.php\'; wp_cache_init(); echo wp_cache_get("key", "options") ?: wp_cache_set("key", "value", "options");'],
    'wordpress-alone' => ['the same without near memory', '{wordpress} require WP_CONTENT_DIR . \'/object-cache.php\'; wp_cache_init(); echo wp_cache_get("key", "options") ?: wp_cache_set("key", "value", "options");'],
    'page' => ['a stored page, by PageCache::start()', '{load} (new Larder\Page\PageCache(Larder\Cache::open([\'dsn\' => \'sqlite://{directory}/page\', \'near\' => \'{near}\'])))->start(); header("Cache-Control: s-maxage=3600"); echo "a page";'],
    'door' => ['a page of 35 kB, by the fast door', 'require \'{root}/larder-serve.php\'; {load} (new Larder\Page\PageCache(Larder\Cache::open([\'dsn\' => \'sqlite://{directory}/door\', \'near\' => \'{near}\'])))->start(); header("Cache-Control: s-maxage=3600"); echo str_repeat("a page ", 5000);'],
    'echo' => ['the same by a script that echoes it', 'header("Cache-Control: s-maxage=3600"); echo include \'{directory}/body.php\';'],
];

/** What WordPress does before it starts its object cache; the plugin lies where it is installed. */
function wordpress(string $root, string $directory): string
{
    mkdir("$directory/site/content/plugins", 0o755, true);
    exec(escapeshellarg("$root/wordpress/build") . ' ' . escapeshellarg("$directory/site/content/plugins"), result_code: $code);
    $code === 0 && copy("$root/wordpress/drop-ins/object-cache.php", "$directory/site/content/object-cache.php") || throw new RuntimeException('the plugin cannot be built');

    $keys = '';
    foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {
        $keys .= ", {$name}_KEY = '" . hash('sha256', "key $name") . "', {$name}_SALT = '" . hash('sha256', "salt $name") . "'";
    }

    return "const ABSPATH = '$directory/site/', WP_CONTENT_DIR = '$directory/site/content', DB_NAME = 'site', DB_PASSWORD = 'secret'$keys;"
        . " \$table_prefix = 'wp_'; function is_multisite() { return false; } function add_filter() {} function remove_filter() {} function wp_using_ext_object_cache() {}"
        // PHP fills these when code that names them is loaded.
        . ' $globals = [$_SERVER, $_REQUEST, $_COOKIE];';
}

function counted(string $script): int
{
    $home = Directory::temporary();
    $counts = $home->file('counts');
    $ini = ['opcache.enable' => 1, 'opcache.revalidate_freq' => 60, 'opcache.file_update_protection' => 0, 'apc.shm_size' => '8M', 'expose_php' => 0, 'larder.state' => $home->file('state')];
    // As a server's php-fpm has it: whoever names $_SERVER pays for each variable of the environment. ext/with loads the extension by one.
    $settings = getenv('PHP_INI_SCAN_DIR');
    $extension = $settings === false ? [] : ["PHP_INI_SCAN_DIR=$settings"];
    $fpm = new PhpFpmServer($home, Account::own(), 1, $ini, prefix: ['env', '-i', 'PATH=' . getenv('PATH'), ...$extension, 'valgrind', '--quiet', '--tool=callgrind', '--dump-before=accept', "--callgrind-out-file=$counts"]);
    try {
        $fpm->start();
        for ($request = 0; $request < REQUESTS; $request++) {
            $answer = FastCgi::visit($fpm->socket(), $script);
            $answer->status === 200 && !str_contains($answer->body, 'rror') || throw new RuntimeException("$script answers $answer->status: $answer->body");
            $request === 0 || !in_array(basename($script), ['page.php', 'door.php'], true) || str_contains($answer->headers['cache-status'][0] ?? '', 'hit') || throw new RuntimeException("$script is not answered by what is stored");
        }
        // Named .1, .2 and so on. The one after the last request may not be whole yet.
        $parts = glob("$counts.*") ?: [];
        natsort($parts);
        $each = [];
        foreach (array_slice($parts, -1 - REQUESTS / 2, REQUESTS / 2) as $part) {
            $each[] = preg_match('/^(?:summary|totals): (\d+)/m', (string) file_get_contents($part), $found) === 1 ? (int) $found[1] : 0;
        }
        sort($each);

        return $each[intdiv(count($each), 2)];
    } finally {
        $fpm->stop();
        $home->remove();
    }
}

$options = getopt('', ['root:', 'only:']);
$root = (string) realpath(is_string($options['root'] ?? null) ? $options['root'] : dirname(__DIR__));
$only = isset($options['only']) && is_string($options['only']) ? explode(',', $options['only']) : array_keys(SCRIPTS);
$home = Directory::temporary();
$redis = new RedisServer($home->sub('redis')->open());
try {
    $redis->start();
    $home->open();
    file_put_contents($home->file('load.php'), Loader::program("$root/src"));
    file_put_contents($home->file('body.php'), '<?php return ' . var_export(str_repeat('a page ', 5000), true) . ';');
    printf("%-40s %12s\n", 'instructions a request, ' . PHP_VERSION, basename($root));
    $wordpress = preg_grep('/^wordpress/', $only) === [] ? '' : wordpress($root, $home->path);
    foreach ($only as $name) {
        [$what, $code] = SCRIPTS[$name] ?? throw new RuntimeException('--only knows ' . implode(', ', array_keys(SCRIPTS)));
        $near = extension_loaded('larder') ? 'segment' : 'apcu';
        file_put_contents($home->file("$name.php"), '<?php ' . strtr($code, ['{load}' => 'require __DIR__ . "/load.php";', '{directory}' => $home->path, '{root}' => $root, '{near}' => $near, '{wordpress}' => $wordpress, '{redis}' => (string) ($redis->address()['socket'] ?? '')]));
        printf("%-40s %12s\n", $what, number_format(counted($home->file("$name.php"))));
    }
} finally {
    $redis->stop();
    $home->remove();
}
