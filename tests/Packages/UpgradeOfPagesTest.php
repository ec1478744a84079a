<?php

declare(strict_types=1);

namespace Larder\Tests\Packages;

use Larder\Tests\Packages\Upgrade\Releases;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** What docs/upgrade.md promises of stored pages: visitors of both releases get no page that either of them has purged. */
#[CoversNothing]
#[Group('long')]
final class UpgradeOfPagesTest extends TestCase
{
    private static ?RedisServer $redis = null;

    public static function tearDownAfterClass(): void
    {
        self::$redis = null;
        Releases::forget();
    }

    /** @return iterable<string, array{array<string, string>, array<string, string>, int}> cache, options of its pages, servers */
    public static function pages(): iterable
    {
        yield 'SQLite' => [['dsn' => 'sqlite://{directory}/cache', 'near' => 'none'], [], 1];
        yield 'APCu over SQLite' => [['dsn' => 'sqlite://{directory}/cache', 'near' => 'apcu'], ['copies' => 'apcu'], 1];
        yield 'files, and a web server' => [['dsn' => 'file://{directory}/cache', 'near' => 'none'], ['static' => '{directory}/static'], 1];
        yield 'Redis, signed' => [['dsn' => 'redis://{redis}', 'near' => 'apcu', 'secret' => 'a secret of enough characters'], [], 2];
        if (\extension_loaded('larder')) {
            yield 'the segment over SQLite, and a web server' => [['dsn' => 'sqlite://{directory}/cache', 'near' => 'segment'], ['static' => '{directory}/static'], 1];
        }
    }

    /**
     * @param array<string, string> $config
     * @param array<string, string> $options
     */
    #[DataProvider('pages')]
    public function testNoPurgedPageComesBack(array $config, array $options, int $servers): void
    {
        self::$redis ??= new RedisServer();
        $releases = new Releases($servers);
        $places = ['{directory}' => \dirname($releases->file('.')), '{redis}' => self::$redis->socket];
        [$config, $options] = \array_map(static fn(array $all): array => \array_map(static fn(string $value): string => \strtr($value, $places), $all), [$config + ['prefix' => 'p' . \bin2hex(\random_bytes(5)), 'timeout' => '5'], $options]);
        isset($options['static']) && \mkdir($options['static'], 0o700);
        // The site is one script, as it is before and after an update.
        $site = $releases->file('site.php');
        \file_put_contents($site, \sprintf(<<<'PHP'
            <?php
            $release = %s[$_SERVER['RELEASE']];
            require "$release[0]/larder-serve.php";
            require $release[1];
            (new Larder\Page\PageCache(Larder\Cache::open(%s), %s))->start();
            header('Cache-Control: max-age=600');
            Larder\Page\PageCache::tag('all', 'tag' . $_SERVER['REQUEST_URI']);
            echo 'by ', $_SERVER['RELEASE'], ': ', file_get_contents(__DIR__ . '/content' . strtr($_SERVER['REQUEST_URI'], '/', '-'));
            PHP, \var_export(['old' => [Releases::root(Releases::OLD), Releases::autoload(Releases::OLD)], 'new' => [Releases::root(Releases::NEW), Releases::autoload(Releases::NEW)]], true), \var_export($config, true), \var_export($options, true)));
        $purge = <<<'PHP'
            $cache = Larder\Cache::open($a[0]);

            return (new Larder\Page\PageCache($cache, $a[1]))->{$a[2]}(...$a[3]);
            PHP;
        $seed = \random_int(0, 1_000_000);
        \mt_srand($seed);
        $release = static fn(): string => [Releases::OLD, Releases::NEW][\mt_rand(0, 1)];
        $content = [];
        $change = static function (string $path, int $number) use (&$content, $releases): void {
            $content[$path] = \str_repeat("$path of $number ", 100);
            \file_put_contents($releases->file('content' . \strtr($path, '/', '-')), $content[$path]);
        };
        foreach (['/a', '/b', '/c'] as $path) {
            $change($path, 0);
        }
        $hits = $files = 0;
        for ($i = 1; $i <= 60; $i++) {
            foreach (\array_keys($content) as $path) {
                // Either release stores it, then both answer.
                $first = $release();
                foreach ([$first, Releases::other($first), $release()] as $visited) {
                    $answer = $releases->visit($site, $path, \mt_rand(0, $servers - 1), ['RELEASE' => $visited]);
                    self::assertSame([200, $content[$path]], [$answer->status, self::made($answer->body)], "$path for the $visited release, after $i changes, seed $seed: $answer->body");
                    $hits += (int) (\preg_match('/; hit/', \implode($answer->headers['cache-status'] ?? [])) === 1);
                }
            }
            $path = ['/a', '/b', '/c'][\mt_rand(0, 2)];
            [$method, $arguments] = match (\mt_rand(0, 5)) {
                0, 1 => ['purge', ["http://example.org$path"]],
                2, 3 => ['purgeTags', ["tag$path"]],
                4 => ['purgeTags', ['all']],
                5 => ['purgeAll', []],
            };
            $change($path, $i);
            $by = $release();
            self::assertTrue($releases->run($by, $purge, [$config, $options, $method, $arguments], \mt_rand(0, $servers - 1)), "$method by the $by release, seed $seed");
            foreach (isset($options['static']) ? self::files($options['static']) : [] as $file) {
                $files++;
                self::assertContains(self::made((string) \file_get_contents($file)), $content, "$file after $method by the $by release, seed $seed");
            }
        }
        self::assertGreaterThan(0, $hits);
        self::assertSame(isset($options['static']), $files > 0);
        self::assertSame('', $releases->complaints());
    }

    /** What the application has printed, without the release in which it ran. */
    private static function made(string $page): string
    {
        return \explode(': ', $page, 2)[1] ?? '';
    }

    /** @return iterable<string> what the web server may send as it is */
    private static function files(string $directory): iterable
    {
        /** @var iterable<string> $files */
        $files = new \RecursiveIteratorIterator(new \RecursiveDirectoryIterator($directory, \FilesystemIterator::CURRENT_AS_PATHNAME | \FilesystemIterator::SKIP_DOTS));
        foreach ($files as $file) {
            if (\ctype_digit(\explode('/', \substr($file, \strlen("$directory/")))[0]) && \str_ends_with($file, '.html')) {
                yield $file;
            }
        }
    }
}
