<?php

declare(strict_types=1);

/*
 * What a call over SQLite is made of, and the first get of a key from near memory (the segment, or APCu without the
 * extension): instructions, counted by callgrind (valgrind), without what the kernel does for them.
 *
 *     php bench/parts.php                without the extension
 *     ext/with php bench/parts.php       with it
 */

use Larder\Cache;
use Larder\Lab\Instructions\Count;
use Larder\Lab\Service\Directory;
use Larder\Store\Change;
use Larder\Store\Sqlite\SqliteStore;

require dirname(__DIR__) . '/vendor/autoload.php';

const CALLS = 4096;
const PARTS = [
    'set' => 'a set of 35 bytes that expire',
    'entry' => '  the value encoded, its entry',
    'body' => '  the record\'s body',
    'append' => '  appended to the log, through truth tier and store',
    'log' => '    of these: the log',
    'sql' => '  later: its row, by plain SQL, 256 a transaction',
    'get' => 'a get of it by the next request',
    'select' => '  plain SELECT',
    'delete' => 'a delete that says whether there was a value',
    'there' => '  whether there was one',
    'near' => 'the first get of a key from near memory',
    'apcu' => '  apcu_fetch()',
];

/** @return mixed what the object has under a name that is not public */
function inside(object $object, string $name): mixed
{
    return (new ReflectionProperty($object, $name))->getValue($object);
}

/** A plain database with the tables of Larder's, without Larder. */
function plain(string $file): PDO
{
    $pdo = new PDO("sqlite:$file");
    $pdo->exec('PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF');
    Larder\Store\Sqlite\Schema::create($pdo);

    return $pdo;
}

function rows(PDO $pdo, int $count): void
{
    $row = '(?, ?, ?, ?, ?, 0, ?, ?)';
    $put = $pdo->prepare("INSERT INTO e(k, pos, writer, kind, expiry, used, sum, body) VALUES $row" . str_repeat(", $row", 7) . ' ON CONFLICT(k) DO UPDATE SET'
        . ' pos = excluded.pos, writer = excluded.writer, kind = excluded.kind, expiry = excluded.expiry, used = 0, sum = excluded.sum, body = excluded.body');
    $types = [PDO::PARAM_LOB, PDO::PARAM_INT, PDO::PARAM_STR, PDO::PARAM_STR, PDO::PARAM_INT, PDO::PARAM_INT, PDO::PARAM_LOB];
    $values = [];
    for ($i = 0; $i < 56; $i++) {
        $put->bindParam($i + 1, $values[$i], $types[$i % 7]);
    }
    $body = str_repeat('b', 71);
    for ($i = 0; $i < $count; $i++) {
        $i % 256 === 0 && $pdo->exec('BEGIN IMMEDIATE');
        foreach (["e:transient:key $i", $i + 1, 'abcdefghijkl', 's', 1_000_000, 1_234_567_890, $body] as $column => $value) {
            $values[$i % 8 * 7 + $column] = $value;
        }
        $i % 8 === 7 && $put->execute();
        $i % 256 === 255 && $pdo->exec('COMMIT');
    }
}

function near(string $part, int $calls, string $directory, string $value): void
{
    $source = ['dsn' => "sqlite://$directory/cache", 'near' => extension_loaded('larder') ? 'segment' : 'apcu'];
    $filled = Cache::open($source);
    for ($i = 0; $i < CALLS; $i++) {
        $part === 'apcu' ? apcu_store("key $i", $value) : $filled->set("key $i", $value);
    }
    $filled->refresh();
    for ($i = 0; $part === 'near' && $i < CALLS; $i++) {
        $filled->get("key $i");
    }
    $filled->writeFills();
    // Another request: it has no copies of its own yet.
    $cache = Cache::open($source);
    for ($i = 0; $i < $calls; $i++) {
        ($part === 'apcu' ? apcu_fetch("key $i") : $cache->get("key $i")) === $value || throw new RuntimeException("$part: key $i has another value");
    }
}

function perform(string $part, int $calls, string $directory): void
{
    $value = 'a value of thirty-five bytes, or so.';
    if ($part === 'sql' || $part === 'select') {
        $pdo = plain("$directory/plain.db");
        rows($pdo, $part === 'sql' ? $calls : CALLS);
        $select = $pdo->prepare('SELECT body, pos, used, sum FROM e WHERE k = ?');
        $select->bindParam(1, $key, PDO::PARAM_LOB);
        for ($i = 0; $part === 'select' && $i < $calls; $i++) {
            $key = "e:transient:key $i";
            $select->execute();
            $select->fetch(PDO::FETCH_NUM);
            $select->closeCursor();
        }

        return;
    }
    if ($part === 'near' || $part === 'apcu') {
        near($part, $calls, $directory, $value);

        return;
    }
    $root = Cache::open(['dsn' => "sqlite://$directory/cache", 'near' => 'none']);
    $cache = $root->group('transient', cacheOnly: true);
    $cache->set('warm', $value, 3600);
    $cache->get('warm');
    if (in_array($part, ['get', 'delete', 'there'], true)) {
        for ($i = 0; $i < CALLS; $i++) {
            $cache->set("key $i", $value, 3600);
        }
    }
    $root->refresh();
    $cache->get('warm');
    /** @var Larder\Request\Request $request */
    $request = inside($cache, 'request');
    $deletes = $request->deletes();
    $truth = $request->truth;
    /** @var SqliteStore $store */
    $store = inside($truth->guard, 'store');
    /** @var Larder\Store\Sqlite\Database $database */
    $database = inside($store, 'database');
    $log = $database->changeLog;
    /** @var Larder\Request\Space $space */
    $space = inside($cache, 'space');
    $make = new ReflectionMethod($cache, 'entry');
    /** @var Larder\Codec\Entry $entry */
    $entry = $make->invoke($cache, $value, 3600, [], null);
    $body = $entry->body(...);
    $entries = $make->getClosure($cache);
    $change = new Change('e:transient:key', $entry->body(), $truth->writer, expiry: $entry->expiry);
    $change->asks = false;
    $store->write([$change]);
    $size = $database->counter->size;
    $there = null;
    for ($i = 0; $i < $calls; $i++) {
        match ($part) {
            'set' => $cache->set("key $i", $value, 3600),
            'get' => $cache->get("key $i"),
            'delete' => $cache->delete("key $i", $there),
            'entry' => $entries($value, 3600, [], null),
            'body' => $body(),
            'append' => $truth->write([$change]),
            'log' => $size = $log->append($change, $size),
            default => $deletes->isThere("e:transient:key $i", $space),
        };
    }
    if ($part === 'append' || $part === 'log') {
        // Nobody is to apply them.
        exec('rm -rf ' . escapeshellarg("$directory/cache"));
    }
}

if (isset($argv[1])) {
    perform($argv[1], (int) $argv[2], $argv[3]);
    exit;
}
$php = [PHP_BINARY, '-d', 'zend.assertions=-1', '-d', 'apc.enable_cli=1', '-d', 'opcache.enable_cli=1', '-d', 'opcache.jit=off', __FILE__];
printf("%-56s %12s\n", 'PHP ' . PHP_VERSION . (extension_loaded('larder') ? ', with the extension' : ''), 'instructions');
foreach (PARTS as $part => $what) {
    $instructions = Count::ofCall(static function (int $calls) use ($php, $part): int {
        $home = Directory::temporary();
        $home->open();
        $count = Count::ofProcess([...$php, $part, (string) $calls, $home->path]);
        $home->remove();

        return $count;
    }, CALLS);
    printf("%-56s %12s\n", $what, number_format($instructions));
}
