<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Files;

use Larder\Cache;
use Larder\Config\InvalidConfiguration;
use Larder\Console\Application;
use Larder\Page\Files\FileOptions;
use Larder\Page\Files\Tree;
use Larder\Page\PageCache;
use Nyholm\Psr7\Response;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Symfony\Component\Console\Tester\ApplicationTester;

final class TreeTest extends FilesCase
{
    public function testAPageLiesInBucketsOfTimeForTheWebServer(): void
    {
        $before = \time();
        $this->get('/shop/tea/');
        $after = \time();

        self::assertSame(['http/shop.example:80@shop.example/shop/tea@.html', 'http/shop.example:80@shop.example/shop/tea@.html.gz'], $this->files());
        $labels = \array_values(\array_unique(\array_map(static fn(string $file): string => \explode('/', $file)[0], $this->all())));
        self::assertContains($labels[0], [(string) \intdiv($before, 1_000), (string) \intdiv($after, 1_000)]);
        self::assertGreaterThan(2, \count($labels));
        $body = \str_repeat('page ', 100);
        foreach ($labels as $label) {
            $file = "$this->static/$label/http/shop.example:80@shop.example/shop/tea@.html";
            self::assertSame($body, \file_get_contents($file));
            self::assertSame($body, \gzdecode((string) \file_get_contents("$file.gz")));
            $stat = \stat($file);
            self::assertNotFalse($stat);
            self::assertSame([0o100644, \count($labels)], [$stat['mode'], $stat['nlink']]);
        }
        self::assertSame([], \array_merge(\glob("$this->static/state/new-*") ?: [], \glob("$this->static/state/link") ?: []));
        self::assertSame(0o700, \fileperms("$this->static/state") & 0o777);
    }

    public function testTheTimeOfAFileTellsItsContentAndNothingElse(): void
    {
        $time = function (string $path): int {
            $files = \glob("$this->static/*/http/shop.example:80@shop.example/$path.html") ?: [];
            self::assertNotSame([], $files);

            return (int) \filemtime($files[0]);
        };
        $this->get('/a');
        $this->get('/b');
        self::assertSame($time('a'), $time('b'));
        $this->application = static fn(): ResponseInterface => new Response(200, self::HTML, \str_repeat('gape ', 100));
        $this->get('/c');
        self::assertNotSame($time('a'), $time('c'));
        self::assertLessThan(1_100_000_000, \max($time('a'), $time('c')));
    }

    /** @return iterable<string, array{string, string}> */
    public static function addresses(): iterable
    {
        yield 'the root' => ['http://shop.example/', 'http/shop.example:80@shop.example@.html'];
        yield 'without a slash at the end' => ['http://shop.example/a', 'http/shop.example:80@shop.example/a.html'];
        yield 'with its ending' => ['http://shop.example/a.html', 'http/shop.example:80@shop.example/a.html.html'];
        yield 'https' => ['https://shop.example/a', 'https/shop.example:443@shop.example/a.html'];
        yield 'a port' => ['http://shop.example:8080/a', 'http/shop.example:8080:8080@shop.example/a.html'];
        yield 'capitals' => ['http://shop.example/A-b_c~1', 'http/shop.example:80@shop.example/A-b_c~1.html'];
        yield 'letters of another alphabet' => ['http://shop.example/%D1%87%d0%b0%d0%b9/', 'http/shop.example:80@shop.example/%D1%87%d0%b0%d0%b9@.html'];
    }

    #[DataProvider('addresses')]
    public function testEachUrlHasAFileOfItsOwn(string $url, string $file): void
    {
        $this->get($url);

        self::assertSame([$file, "$file.gz"], $this->files());
    }

    /** @return iterable<string, array{string}> */
    public static function hostile(): iterable
    {
        foreach ([
            '/../etc/passwd', '/a/../b', '/./a', '/a/.', '/a/..', '//a', '/a//b', '/.htaccess', '/.well-known/x', '/a/.git/',
            '/index.php', '/index.php/', '/a.php/b', '/a.phtml', '/a.html.php', '/a.cgi', '/a.php.html', '/x.css', '/a.htmlx',
            '/%2e%2e/a', '/%2e%2e%2fa', '/a%2fb', '/a%00', '/a%20b', '/%41', '/a%', '/a%zz', '/a;b', '/a@', '/@', '/a:b', '/a+b', '/a\\b', '/a&b', '/a,b', '/a=b', "/a'b", '/a$b', '/a*b', '/a(b)', '/a!',
            '/a?b', '/?', '/a?', '/a?utm_source=x', '/' . \str_repeat('a', 201), '/' . \str_repeat('a/', 500),
        ] as $path) {
            yield $path => [$path];
        }
    }

    #[DataProvider('hostile')]
    public function testAnUnusualUrlGetsNoFile(string $path): void
    {
        $this->get($path);

        self::assertSame([], $this->all());
        self::assertSame([], \array_diff(\scandir($this->directory->path) ?: [], ['.', '..', 'store', 'static']));
    }

    /** @return iterable<string, array{int, array<string, string|list<string>>}> status and header */
    public static function responses(): iterable
    {
        yield 'not found' => [404, self::HTML];
        yield 'moved' => [301, ['Location' => '/b'] + self::HTML];
        yield 'a variant' => [200, ['Vary' => 'Accept-Language'] + self::HTML];
        yield 'of a cookie' => [200, ['Vary' => 'Cookie, Accept-Encoding'] + self::HTML];
        yield 'another field' => [200, ['X-Frame-Options' => 'DENY'] + self::HTML];
        yield 'another type' => [200, ['Content-Type' => 'application/json'] + self::HTML];
        yield 'another charset' => [200, ['Content-Type' => 'text/html; charset=latin1'] + self::HTML];
        yield 'no type' => [200, ['Cache-Control' => 'max-age=3600']];
        yield 'coded by the application' => [200, ['Content-Encoding' => 'gzip'] + self::HTML];
        yield 'not to be transformed' => [200, ['Cache-Control' => 'max-age=3600, no-transform'] + self::HTML];
        yield 'private' => [200, ['Cache-Control' => 'private, max-age=3600'] + self::HTML];
        yield 'with a cookie' => [200, ['Set-Cookie' => 'a=b'] + self::HTML];
        yield 'to be asked for each time' => [200, ['Cache-Control' => 'no-cache', 'ETag' => '"1"'] + self::HTML];
        yield 'of a short life' => [200, ['Cache-Control' => 'max-age=1'] + self::HTML];
        yield 'old already' => [200, ['Age' => '3599'] + self::HTML];
    }

    /** @param array<string, string|list<string>> $header */
    #[DataProvider('responses')]
    public function testAPageThatTheWebServerCannotSendAsItIsGetsNoFile(int $status, array $header): void
    {
        $this->application = static fn(): ResponseInterface => new Response($status, $header, \str_repeat('page ', 100));
        $this->get('/a');
        $this->get('/a');

        self::assertSame([], $this->all());
    }

    /** @return iterable<string, array{array<string, string>, array<string, mixed>}> */
    public static function requests(): iterable
    {
        yield 'a cookie in the key' => [['Cookie' => 'language=de'], ['varyCookies' => ['language']]];
        yield 'a cookie that nobody knows' => [['Cookie' => 'session=1'], []];
        yield 'another host for links' => [['X-Forwarded-Host' => 'evil.example'], []];
        yield 'identified' => [['Authorization' => 'Basic x'], []];
        yield 'data wanted' => [['Accept' => 'application/json'], []];
        yield 'another site\'s script' => [['Origin' => 'http://x.example'], []];
        yield 'by script' => [['X-Requested-With' => 'XMLHttpRequest'], []];
        yield 'another spelling of the host' => [['Host' => 'Shop.Example'], []];
    }

    /**
     * @param array<string, string> $fields
     * @param array<string, mixed>  $options
     */
    #[DataProvider('requests')]
    public function testAPageOfAKeyThatIsMoreThanItsUrlGetsNoFile(array $fields, array $options): void
    {
        $this->get('/a', $fields, $options);
        $this->get('/a', $fields, $options);

        self::assertSame([], $this->all());
    }

    public function testTheOwnerSaysWhichOtherFieldsTheWebServerSends(): void
    {
        $options = ['staticHeaders' => ['X-Frame-Options: DENY', 'Link']];
        foreach (['/a' => ['x-frame-options' => 'DENY'], '/b' => ['X-Frame-Options' => 'DENY', 'Link' => '</>; rel=home'], '/c' => ['X-Frame-Options' => 'deny'], '/d' => [], '/e' => ['Link' => '</>']] as $path => $header) {
            $this->application = static fn(): ResponseInterface => new Response(200, $header + self::HTML, 'short');
            $this->get($path, [], $options);
        }

        self::assertSame(['http/shop.example:80@shop.example/a.html', 'http/shop.example:80@shop.example/b.html'], $this->files());
    }

    /** @return iterable<string, array{\Closure(self): bool}> */
    public static function purges(): iterable
    {
        yield 'purge' => [static fn(self $test): bool => (new PageCache($test->other()))->purge('http://shop.example/a')];
        yield 'purge on every host' => [static fn(self $test): bool => (new PageCache($test->other()))->purge('/a')];
        yield 'purgeTags' => [static fn(self $test): bool => (new PageCache($test->other()))->purgeTags('menu')];
        yield 'expire' => [static fn(self $test): bool => (new PageCache($test->other()))->expire('/a')];
        yield 'expireTags' => [static fn(self $test): bool => (new PageCache($test->other()))->expireTags('menu')];
        yield 'in a transaction' => [static function (self $test): bool {
            $cache = $test->other();

            return $cache->transaction(static fn(): bool => (new PageCache($cache))->purgeTags('menu'));
        }];
    }

    /** @param \Closure(self): bool $purge */
    #[DataProvider('purges')]
    public function testAPurgeTakesTheFilesOfThePageAndNoOthers(\Closure $purge): void
    {
        $this->application = static fn(ServerRequestInterface $request): ResponseInterface => new Response(200, ['Cache-Tags' => $request->getUri()->getPath() === '/a' ? 'menu, home' : 'home'] + self::HTML, \str_repeat('page ', 100));
        $this->get('/a');
        $this->get('/b');
        self::assertCount(4, $this->files());

        self::assertTrue($purge($this));

        self::assertSame(['http/shop.example:80@shop.example/b.html', 'http/shop.example:80@shop.example/b.html.gz'], $this->files());
        $this->get('/a');
        self::assertCount(4, $this->files());
        self::assertSame(3, $this->runs);
    }

    /** @return iterable<string, array{\Closure(self): mixed}> */
    public static function flushes(): iterable
    {
        yield 'purgeAll' => [static fn(self $test): bool => (new PageCache($test->other()))->purgeAll()];
        yield 'bin/larder flush' => [static function (self $test): void {
            $larder = new Application();
            $larder->setAutoExit(false);
            $tester = new ApplicationTester($larder);
            self::assertSame(0, $tester->run(['flush', '--dsn' => 'sqlite://' . $test->directory->file('store')]), $tester->getDisplay());
        }];
        yield 'a flush of the cache' => [static fn(self $test): bool => $test->other()->flush()];
        yield 'a flush of the cache in a transaction' => [static function (self $test): void {
            $cache = $test->other();
            $cache->transaction($cache->flush(...));
        }];
        yield 'another cache in the place of the old one, at the next request' => [static function (self $test): void {
            \array_map(\unlink(...), \array_filter(\glob($test->directory->file('store/larder*')) ?: [], \is_file(...)));
            unset($test->cache);
            \gc_collect_cycles();
            $test->cache = $test->other();
            $test->get('/private', ['Cookie' => 'session=1']);
        }];
    }

    /** @param \Closure(self): mixed $flush */
    #[DataProvider('flushes')]
    public function testAFlushTakesAllFiles(\Closure $flush): void
    {
        $this->get('/a');
        $this->get('/b');
        self::assertCount(4, $this->files());

        $flush($this);

        self::assertSame([], $this->all());
        $this->get('/a');
        self::assertCount(2, $this->files());
    }

    public function testAnotherServersPurgeTakesTheFilesAtTheNextRequestHere(): void
    {
        $this->get('/a');
        $this->get('/b');
        // Of a server that knows nothing of this one's files.
        $name = $this->cache->internals()->local() . '-trees';
        \rename($name, "$name-away");
        self::assertTrue((new PageCache($this->other()))->purge('/a'));
        \rename("$name-away", $name);
        self::assertCount(4, $this->files());

        $this->get('/private', ['Cookie' => 'session=1']);

        self::assertSame(['http/shop.example:80@shop.example/b.html', 'http/shop.example:80@shop.example/b.html.gz'], $this->files());
    }

    public function testWhatWasPurgedWhileItWasMadeGetsNoFile(): void
    {
        $this->application = function (): ResponseInterface {
            (new PageCache($this->other()))->purgeTags('menu');

            return new Response(200, ['Cache-Tags' => 'menu'] + self::HTML, \str_repeat('old ', 100));
        };
        $this->get('/a');

        self::assertSame([], $this->all());
    }

    public function testWhatWasPurgedAfterItWasStoredGetsNoFile(): void
    {
        $options = FileOptions::from(['static' => $this->static], 1 << 20);
        \assert($options !== null);
        $group = $this->cache->group('page');
        $page = ['made' => \time(), 'age' => 0, 'life' => 3_600, 'status' => 200, 'headers' => ['Content-Type: text/html; charset=utf-8'], 'etag' => '', 'forms' => ['' => 4]];
        $tree = new Tree($group, $this->static);
        $tree->publish($options, $group, 'http://shop.example/a', $page, 'page', $group->internals()->journalled('pa', 'menu'), static fn(): bool => false);

        self::assertSame([], $this->all());
        $tree->publish($options, $group, 'http://shop.example/a', $page, 'page', $group->internals()->journalled('pa', 'menu'), static fn(): bool => true);
        self::assertCount(1, $this->files());
    }

    public function testANewerPageTakesThePlaceOfTheOldOne(): void
    {
        $this->get('/a');
        $this->application = static fn(): ResponseInterface => new Response(200, self::HTML, 'newer');
        $this->get('/a', ['Cache-Control' => 'no-cache']);

        self::assertSame(['http/shop.example:80@shop.example/a.html'], $this->files());
        foreach ($this->all() as $file) {
            self::assertSame('newer', \file_get_contents("$this->static/$file"));
        }
    }

    public function testAHitPutsThePageWhereItIsMissing(): void
    {
        $this->get('/a');
        foreach ($this->all() as $file) {
            \unlink("$this->static/$file");
        }
        $this->get('/a');

        self::assertCount(2, $this->files());
        self::assertSame(1, $this->runs);
        // Purged all the same: the index has it.
        self::assertTrue((new PageCache($this->other()))->purge('/a'));
        self::assertSame([], $this->all());
    }

    public function testTheFilesLifeIsAnOption(): void
    {
        $this->get('/a', [], ['staticLife' => 25]);
        $labels = \array_unique(\array_map(static fn(string $file): string => \explode('/', $file)[0], $this->all()));

        self::assertNotSame([], $labels);
        foreach ($labels as $label) {
            // Without its last digits: three of a long bucket that is about to end, one of a short one.
            self::assertLessThan(\time() + 25, ((int) $label + 1) * 10 ** (10 - \strlen($label)));
        }
    }

    public function testBucketsThatAreOverAreDeleted(): void
    {
        $this->get('/b');
        \mkdir("$this->static/1600000/http", 0o755, true);
        \touch("$this->static/1600000/http/old.html");
        $this->get('/a');

        self::assertDirectoryDoesNotExist("$this->static/1600000");
        self::assertSame([], \glob("$this->static/state/trash-*"));
    }

    public function testTheOldestPagesGoWhenTheBudgetIsUsed(): void
    {
        $this->application = static fn(): ResponseInterface => new Response(200, self::HTML, \bin2hex(\random_bytes(10_000)));
        for ($i = 0; $i < 30; $i++) {
            $this->get("/page-$i", [], ['budget' => '1M']);
        }
        $files = $this->files();
        $bytes = 0;
        foreach ($files as $file) {
            $bytes += (int) \filesize((\glob("$this->static/*/$file") ?: [''])[0]);
        }

        self::assertLessThan(512 << 10, $bytes);
        self::assertGreaterThan(192 << 10, $bytes);
        self::assertContains('http/shop.example:80@shop.example/page-29.html', $files);
        self::assertNotContains('http/shop.example:80@shop.example/page-0.html', $files);
        self::assertTrue((new PageCache($this->other()))->purge('/page-29'));
        self::assertNotContains('http/shop.example:80@shop.example/page-29.html', $this->files());
    }

    #[Group('slow')]
    public function testManyPagesOfOneTagGoAtOnce(): void
    {
        $this->application = static fn(): ResponseInterface => new Response(200, ['Cache-Tags' => 'menu'] + self::HTML, 'short');
        for ($i = 0; $i < 502; $i++) {
            $this->get("/page-$i");
        }
        self::assertCount(502, $this->files());
        self::assertTrue((new PageCache($this->other()))->purgeTags('menu'));
        self::assertSame([], $this->all());
    }

    public function testALinkInTheTreeIsNotFollowed(): void
    {
        $this->get('/a');
        $elsewhere = $this->directory->file('elsewhere');
        \mkdir($elsewhere);
        foreach (\glob("$this->static/*/http", \GLOB_ONLYDIR) ?: [] as $directory) {
            \symlink($elsewhere, "$directory/other.example:80@other.example");
        }
        $log = $this->logged(fn() => $this->get('http://other.example/a'));

        self::assertSame(['.', '..'], \scandir($elsewhere));
        self::assertStringContainsString('is not the directory that it has to be', $log);
    }

    public function testADirectoryOfOthersIsRefused(): void
    {
        \mkdir($this->static);
        \chmod($this->static, 0o777);
        $log = $this->logged(fn() => self::assertSame(200, $this->get('/a')->getStatusCode()));
        self::assertStringContainsString('writable for others', $log);
        \rmdir($this->static);
        \mkdir($this->directory->file('target'));
        \symlink($this->directory->file('target'), $this->static);
        $this->logged(fn() => $this->get('/b'));

        self::assertSame(['.', '..'], \scandir($this->directory->file('target')));
    }

    public function testADirectoryOfAnotherCacheIsRefused(): void
    {
        $this->get('/a');
        $this->cache = Cache::open('sqlite://' . $this->directory->file('another'));
        $log = $this->logged(fn() => $this->get('/b'));

        self::assertStringContainsString('another cache\'s pages lie there', $log);
        // Nobody who purges this cache would take them out.
        self::assertSame([], $this->files());
    }

    /** @return iterable<string, array{\Closure(string): mixed, \Closure(Cache): bool, bool}> */
    public static function damages(): iterable
    {
        $damages = [
            'removed' => \unlink(...),
            'emptied' => static fn(string $file): mixed => \file_put_contents($file, ''),
            'cut' => static fn(string $file): mixed => \file_put_contents($file, \substr((string) \file_get_contents($file), 0, 20)),
            'a directory' => static fn(string $file): bool => \unlink($file) && \mkdir($file),
        ];
        $purges = [
            'tag' => static fn(Cache $cache): bool => (new PageCache($cache))->purgeTags('menu'),
            'page' => static fn(Cache $cache): bool => (new PageCache($cache))->purge('http://shop.example/a'),
            'flush' => static fn(Cache $cache): bool => $cache->flush(),
        ];
        foreach (['cache', 'cache-sum', 'index', 'index-bytes', 'applied'] as $name) {
            foreach ($damages as $what => $damage) {
                foreach ($purges as $how => $purge) {
                    // What is in its way can be noted nowhere, and the caller is told.
                    $isNoted = $how === 'flush' || "$name $what" !== 'applied a directory';
                    yield "$name $what, $how" => [static fn(string $state): mixed => $damage("$state/$name"), $purge, $isNoted];
                }
            }
        }
        yield 'another cache\'s name' => [static fn(string $state): mixed => \file_put_contents("$state/cache", \strtr((string) \file_get_contents("$state/cache"), 'abcdef', 'bcdefa')), $purges['tag'], true];
    }

    /**
     * What the damaged file told may have concerned any page: all go, and come back.
     *
     * @param \Closure(string): mixed $damage
     * @param \Closure(Cache): bool   $purge
     */
    // Seen to fail: an exception out of flush() and of each request; old pages after a purge that had returned true.
    #[DataProvider('damages')]
    public function testAPurgeTakesThePagesOutWhateverIsDamagedBesideThem(\Closure $damage, \Closure $purge, bool $isNoted): void
    {
        $this->application = static fn(): ResponseInterface => new Response(200, self::HTML + ['Cache-Tags' => 'menu'], \str_repeat('page ', 100));
        $this->get('/a');
        self::assertNotSame([], $this->files());
        $damage("$this->static/state");
        $this->logged(function () use ($purge, $isNoted): void {
            self::assertSame($isNoted, $purge($this->other()));
            self::assertSame([], $this->files());
            $this->cache = $this->other();
            // Where it gets no file, PHP answers.
            self::assertSame(200, $this->get('/a')->getStatusCode());
        });
        $this->logged(function () use ($purge, $isNoted): void {
            $this->get('/b');
            self::assertSame($isNoted, $purge($this->other()));
        });
        self::assertNotContains('http/shop.example:80@shop.example/a.html', $this->files());
    }

    /** Otherwise the next page's line makes the index look whole. Seen to fail. */
    #[TestWith(['index'])]
    #[TestWith(['index-bytes'])]
    public function testAPageThatComesAfterTheDamageHidesNothing(string $name): void
    {
        $this->application = static fn(): ResponseInterface => new Response(200, self::HTML + ['Cache-Tags' => 'menu'], \str_repeat('page ', 100));
        $this->get('/a');
        \unlink("$this->static/state/$name");
        $this->get('/b');
        self::assertTrue((new PageCache($this->other()))->purgeTags('menu'));
        self::assertSame([], $this->files());
    }

    public function testADamagedNameOfTheCacheIsWrittenAnew(): void
    {
        $this->get('/a');
        \file_put_contents("$this->static/state/cache", 'x');
        $this->cache = $this->other();
        $this->get('/b');
        self::assertSame(['http/shop.example:80@shop.example/b.html', 'http/shop.example:80@shop.example/b.html.gz'], $this->files());
        $this->get('/a');
        self::assertCount(4, $this->files());
        (new PageCache($this->other()))->purge('http://shop.example/a');
        self::assertCount(2, $this->files());
    }

    /** @return iterable<string, array{array<string, mixed>}> */
    public static function wrong(): iterable
    {
        yield 'no whole path' => [['static' => 'pages']];
        yield 'a step back' => [['static' => '/var/../tmp']];
        yield 'what a configuration would take for its own' => [['static' => '/tmp/a b;']];
        yield 'no life' => [['static' => '/tmp/a', 'staticLife' => 0]];
        yield 'two lines' => [['static' => '/tmp/a', 'staticHeaders' => ["A: b\r\nC: d"]]];
        yield 'no list' => [['static' => '/tmp/a', 'staticHeaders' => 'A: b']];
        yield 'no size' => [['static' => '/tmp/a', 'budget' => 'much']];
    }

    /** @param array<string, mixed> $options */
    #[DataProvider('wrong')]
    public function testAWrongOptionIsRefused(array $options): void
    {
        $this->expectException(InvalidConfiguration::class);
        new PageCache($this->cache, $options);
    }

    /** @param \Closure(): mixed $work */
    private function logged(\Closure $work): string
    {
        $file = $this->directory->file('log');
        $old = \ini_set('error_log', $file);
        try {
            $work();
        } finally {
            \ini_set('error_log', (string) $old);
        }

        return \is_file($file) ? (string) \file_get_contents($file) : '';
    }
}
