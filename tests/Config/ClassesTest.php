<?php

declare(strict_types=1);

namespace Larder\Tests\Config;

use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** The files in classes/, which `make build` makes, and of which a request of a web server loads one in place of forty of src/. */
#[CoversNothing]
final class ClassesTest extends TestCase
{
    /** What a release has. */
    private static TemporaryDirectory $release;

    public static function setUpBeforeClass(): void
    {
        $root = \dirname(__DIR__, 2);
        self::$release = new TemporaryDirectory();
        self::assertSame(0, (new Process(['cp', '-r', "$root/src", "$root/larder-serve.php", self::$release->path]))->wait());
        $build = new Process([\PHP_BINARY, "$root/bin/classes", self::$release->path]);
        self::assertSame(0, $build->wait(), $build->errors());
    }

    /**
     * @param string       $before code that runs first
     * @param list<string> $loaded of src/, by the door in any case
     */
    #[DataProvider('doors')]
    public function testARequestLoadsThem(string $door, string $before, string $code, string $answer, array $loaded): void
    {
        if (!FpmServer::isAvailable()) {
            self::markTestSkipped('Needs php-fpm.');
        }
        $directory = new TemporaryDirectory();
        $redis = !\str_contains($before . $code, '$redis') ? null : (RedisServer::program() === null ? self::markTestSkipped('There is no Redis.') : new RedisServer());
        $before = "\$redis = '" . $redis?->socket . "'; $before";
        $fpm = new FpmServer(1, ini: ['display_errors' => 1, 'opcache.enable' => 1]);
        $root = self::$release->path;
        $autoload = \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true);
        $script = $fpm->script('classes.php', "<?php error_reporting(-1); require $autoload; spl_autoload_register(static fn(string \$class) => is_file(\$file = '$root/src/' . strtr(substr(\$class, 7), '\\\\', '/') . '.php') && require \$file, prepend: true); \$d = '{$directory->path}/data'; $before $code"
            . ' echo "\n", implode(" ", array_map(static fn(string $file): string => substr($file, strlen(' . \var_export("$root/", true) . ')),'
            . ' preg_grep(' . \var_export('~^' . \preg_quote($root, '~') . '/(src|classes)/~', true) . ', get_included_files())));');
        // The first finds nothing, and makes what is missing; the second brings it near.
        $fpm->request($script);
        $fpm->request($script);
        [$result, $files] = \explode("\n", $fpm->request($script)->body);
        self::assertSame($answer, $result);
        $files = \explode(' ', $files);
        if ($loaded === []) {
            self::assertNotContains("classes/$door.all.php", $files);
        } else {
            self::assertEqualsCanonicalizing([...$loaded, "classes/$door.all.php", "classes/$door.php"], $files);
        }
    }

    /** @param list<string> $loaded */
    #[TestWith(['', ['classes/serve.all.php', 'larder-serve.php']])]
    #[TestWith(["require 'RELEASE/src/Page/RequestKey.php';", ['larder-serve.php', 'src/Page/RequestKey.php', 'src/Page/Serve.php', 'src/Page/StoredReply.php']])]
    public function testTheFastDoorLoadsOneFile(string $before, array $loaded): void
    {
        if (!FpmServer::isAvailable()) {
            self::markTestSkipped('Needs php-fpm.');
        }
        $fpm = new FpmServer(1, ini: ['display_errors' => 1, 'opcache.enable' => 1]);
        $root = self::$release->path;
        $script = $fpm->script('serve.php', '<?php ' . \strtr("$before require 'RELEASE/larder-serve.php'; echo implode(' ', preg_grep('~^RELEASE/~', get_included_files()));", ['RELEASE' => $root]));
        $fpm->request($script);

        self::assertEqualsCanonicalizing(\array_map(static fn(string $file): string => "$root/$file", $loaded), \explode(' ', $fpm->request($script)->body));
    }

    /** @return iterable<string, array{string, string, string, string, list<string>}> */
    public static function doors(): iterable
    {
        $cache = '$c = Larder\Cache::open(["dsn" => "sqlite://$d", "near" => "apcu"])->group("g"); echo $c->get("k") ?? $c->set("k", "v");';
        $counter = 'echo Larder\Counter::open("sqlite://$d", "hits")->add() > 1;';
        $push = 'echo strlen(Larder\Queue\Queue::open("sqlite://$d", "mail")->push("body"));';
        yield 'cache' => ['cache', '', $cache, 'v', ['src/Cache.php']];
        yield 'a miss near' => ['store', '', \strtr($cache, ['apcu' => 'none']), 'v', ['classes/cache.all.php', 'classes/cache.php', 'src/Cache.php']];
        yield 'a miss near, and then below' => ['store', '', \strtr($cache, ['echo $c->get("k")' => 'echo $c->get(bin2hex(random_bytes(4)), $c->get("k"))']), 'v', ['classes/cache.all.php', 'classes/cache.php', 'src/Cache.php']];
        yield 'over Redis' => ['redis', '', \strtr($cache, ['sqlite://$d' => 'redis://$redis', 'apcu' => 'none']), 'v', ['classes/cache.all.php', 'classes/cache.php', 'src/Cache.php']];
        yield 'page' => ['page', '', 'new Larder\Page\PageCache(Larder\Cache::open(["dsn" => "sqlite://$d", "near" => "apcu"])); echo "made";', 'made', ['classes/cache.all.php', 'classes/cache.php', 'src/Cache.php', 'src/Page/PageCache.php']];
        yield 'counter' => ['counter', '', $counter, '1', ['src/Counter.php']];
        yield 'queue' => ['queue', '', $push, '28', ['src/Queue/Queue.php']];
        $far = \strtr($counter, ['sqlite://$d' => 'redis://$redis']);
        yield 'counter over Redis' => ['keeping-redis', '', $far, '1', ['classes/counter-redis.all.php', 'classes/counter-redis.php', 'src/Config/KeepingDsn.php', 'src/Counter.php']];
        yield 'queue over Redis' => ['keeping-redis', '', \strtr($push, ['sqlite://$d' => 'redis://$redis']), '21', ['classes/queue-redis.all.php', 'classes/queue-redis.php', 'classes/queue.all.php', 'classes/queue.php', 'src/Config/KeepingDsn.php', 'src/Queue/Queue.php']];
        yield 'the cache over Redis before the counter' => ['keeping-redis', \strtr($cache, ['sqlite://$d' => 'redis://$redis']), $far, 'v1', []];
        yield 'the queue before the cache' => ['cache', $push, $cache, '28v', []];
        yield 'one class of the page cache alone before' => ['page', 'class_exists(Larder\Page\Pages::class);', 'new Larder\Page\PageCache(Larder\Cache::open("sqlite://$d")); echo "made";', 'made', []];
        yield 'one class alone before' => ['cache', 'new Larder\Request\Space("", false);', $cache, 'v', []];
        yield 'the cache before the queue' => ['queue', $cache, $push, 'v28', ['classes/cache.all.php', 'classes/cache.php', 'src/Cache.php', 'src/Queue/Queue.php']];
    }
}
