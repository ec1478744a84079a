<?php

declare(strict_types=1);

namespace Larder\Tests\Console;

use Larder\Cache;
use Larder\Console\Application;
use Larder\Page\Exchange;
use Larder\Page\PageCache;
use Larder\Page\Pages;
use Larder\Page\Reply;
use Larder\Page\Settings;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Console\Tester\ApplicationTester;

/** The commands of the page cache. */
#[CoversClass(Application::class)]
final class PagesTest extends TestCase
{
    private TemporaryDirectory $root;
    private string $dsn;

    protected function setUp(): void
    {
        $this->root = new TemporaryDirectory();
        $this->dsn = 'sqlite://' . $this->root->path . '/cache';
    }

    /**
     * @param array<string, mixed> $arguments
     *
     * @return array{int, string, string} status, output, errors
     */
    private function tell(string $command, array $arguments = []): array
    {
        $application = new Application();
        $application->setAutoExit(false);
        $tester = new ApplicationTester($application);
        $tester->run(
            ['command' => $command] + $arguments + ['--dsn' => $this->dsn],
            ['capture_stderr_separately' => true, 'interactive' => false],
        );

        return [$tester->getStatusCode(), $tester->getDisplay(true), $tester->getErrorOutput(true)];
    }

    /**
     * @param array<string, mixed> $arguments
     *
     * @return array<array-key, mixed>
     */
    private function json(string $command, array $arguments = [], int $status = Application::OK): array
    {
        [$got, $output, $errors] = $this->tell($command, $arguments + ['--json' => true]);
        self::assertSame($status, $got, $errors);
        $document = \json_decode($output, true, flags: \JSON_THROW_ON_ERROR);
        self::assertIsArray($document);

        return $document;
    }

    /**
     * A visitor asks, and the application answers where the store does not.
     *
     * @param list<string>            $lines     of the application's response
     * @param array<string, string>   $variables of the request
     * @param array<array-key, mixed> $options   of the page cache
     * @param list<string>            $tags
     *
     * @return string the answer's Cache-Status
     */
    private function visit(string $url, array $lines = ['Cache-Control: max-age=60'], array $variables = [], array $options = [], array $tags = [], string $broken = '', int $status = 200, ?string $group = null, ?string $body = null): string
    {
        $cache = Cache::open($this->dsn);
        $variables += ['REQUEST_METHOD' => 'GET', 'HTTP_HOST' => (string) \parse_url($url, \PHP_URL_HOST), 'SERVER_PORT' => '443', 'SERVER_NAME' => (string) \parse_url($url, \PHP_URL_HOST), 'HTTPS' => 'on', 'REQUEST_URI' => \substr($url, (int) \strpos($url, '/', 8))];
        $settings = Settings::from($options);
        $exchange = Exchange::of(new Pages($group === null ? $cache : $cache->group($group), $settings), $settings, $variables);
        $reply = $exchange->answer() ?? $exchange->conclude(new Reply($status, ['Content-Type: text/html', ...$lines], $body ?? \str_repeat('<p>page</p>', 100)), $tags, $broken);

        return $reply->fields()['cache-status'][0] ?? '';
    }

    public function testWhyTellsOfAPageThatTheStoreAnswers(): void
    {
        $this->visit('https://shop.example/a', ['Cache-Control: max-age=600, stale-while-revalidate=30', 'Vary: Accept-Language'], ['HTTP_ACCEPT_LANGUAGE' => 'de'], tags: ['menu', 'product-7']);
        $told = $this->json('page:why', ['url' => 'https://SHOP.example:443/a', '--header' => ['accept-language: de']]);

        self::assertSame(['hit', true, 'https://shop.example/a'], [$told['outcome'], $told['served'], $told['url']]);
        self::assertIsArray($told['page']);
        self::assertSame([600, 30, ['menu', 'product-7'], ['Accept-Language: de']], [$told['page']['life'], $told['page']['stale_while_revalidate'], $told['page']['tags'], $told['page']['depends_on']]);
        self::assertIsArray($told['page']['forms']);
        self::assertSame(1_100, $told['page']['forms']['']);
        self::assertArrayHasKey('gzip', $told['page']['forms']);

        [$status, $output] = $this->tell('page:why', ['url' => 'https://shop.example/a', '--header' => ['Accept-Language: de']]);
        self::assertSame(0, $status);
        self::assertStringContainsString('from the store; the application does not run', $output);
        self::assertStringContainsString('RFC 9111, section 4.2)', $output);
        self::assertStringContainsString('menu product-7', $output);
        self::assertMatchesRegularExpression('/fresh +until \d{4}-/', $output);
    }

    public function testWhyShowsWhatOtherRequestsOfThePathGet(): void
    {
        $this->visit('https://shop.example/a', variables: ['HTTP_X_FORWARDED_PROTO' => 'https']);
        $this->visit('https://shop.example/a?b=1');
        $this->visit('https://shop.example/ab');
        $told = $this->json('page:why', ['url' => 'http://shop.example/a'], Application::NOT_DONE);

        self::assertSame(['built', 'uri-miss'], [$told['outcome'], $told['forward'] ?? 'uri-miss']);
        self::assertSame('nothing is stored under its key', $told['because']);
        self::assertSame(['https://shop.example/a; X-Forwarded-Proto: https', 'https://shop.example/a?b=1'], $told['stored_for_this_path']);
        self::assertStringContainsString('but stored', $this->tell('page:why', ['url' => 'http://shop.example/a'])[1]);
    }

    public function testWhyNamesTheVariantsThatAreStored(): void
    {
        $this->visit('https://shop.example/a', ['Cache-Control: max-age=60', 'Vary: Accept-Language'], ['HTTP_ACCEPT_LANGUAGE' => 'de']);
        $told = $this->json('page:why', ['url' => 'https://shop.example/a'], Application::NOT_DONE);

        self::assertIsString($told['because']);
        self::assertStringStartsWith('other variants of the page are stored', $told['because']);
        self::assertSame(['https://shop.example/a; Accept-Language: de'], $told['stored_for_this_path']);
    }

    public function testWhyTellsThatTheStoreDidNotTakeAPage(): void
    {
        $this->visit('https://shop.example/large', body: \bin2hex(\random_bytes(6 << 20)), options: ['largest' => 32 << 20]);
        $told = $this->json('page:why', ['url' => 'https://shop.example/large'], Application::NOT_DONE);
        self::assertSame(['marked', 'it takes more than a quarter of the bytes that all pages together may take'], [$told['outcome'], $told['reason']]);
        self::assertNotSame('', $told['advice']);

        $cache = Cache::open($this->dsn);
        $exchange = Exchange::of(new Pages($cache), Settings::from([]), ['REQUEST_METHOD' => 'GET', 'HTTP_HOST' => 'shop.example', 'SERVER_PORT' => '443', 'SERVER_NAME' => 'shop.example', 'HTTPS' => 'on', 'REQUEST_URI' => '/purged']);
        self::assertNull($exchange->answer());
        self::assertTrue((new PageCache(Cache::open($this->dsn)))->purge('/purged'));
        $exchange->conclude(new Reply(200, ['Cache-Control: max-age=60'], 'page'));
        $told = $this->json('page:why', ['url' => 'https://shop.example/purged'], Application::NOT_DONE);
        self::assertSame(['built', 'nothing is stored under its key; last time: it was purged while it was made, or the cache could not be written'], [$told['outcome'], $told['because']]);
        self::assertNotSame('', $told['advice']);
        $this->visit('https://shop.example/purged');
        self::assertSame(['hit', ''], [($told = $this->json('page:why', ['url' => 'https://shop.example/purged']))['outcome'], $told['reason']]);
    }

    /** The web notes it, for the command line cannot see it. */
    public function testWhyKnowsThePortAndNameThatTheWebServerGivesItself(): void
    {
        $this->visit('https://shop.example/a', variables: ['HTTP_HOST' => 'shop.example', 'SERVER_PORT' => '8443', 'SERVER_NAME' => '*.example']);
        foreach (['https://shop.example/a', 'https://shop.example:8443/a'] as $url) {
            self::assertSame(['hit', ''], [($told = $this->json('page:why', ['url' => $url]))['outcome'], $told['reason']], $url);
        }
    }

    public function testWhyTellsOfTheWebServersFile(): void
    {
        $static = $this->root->file('static');
        $lines = ['Content-Type: text/html; charset=utf-8', 'Cache-Control: max-age=3600'];
        $this->visit('https://shop.example/a', $lines, options: ['static' => $static]);
        $file = fn(string $url): mixed => \is_array($page = $this->json('page:why', ['url' => $url])['page']) ? $page['file'] ?? $page['no_file'] : null;
        self::assertIsString($path = $file('https://shop.example/a'));
        self::assertStringEndsWith('/https/shop.example:443@shop.example/a.html', $path);
        self::assertFileExists($path);
        self::assertStringContainsString("without PHP, to visitors whose fields and cookies do not matter: $static", $this->tell('page:why', ['url' => 'https://shop.example/a'])[1]);

        $this->visit('https://shop.example/b', [...$lines, 'X-Frame-Options: DENY'], options: ['static' => $static]);
        self::assertSame('the web server does not send "x-frame-options" (staticHeaders)', $file('https://shop.example/b'));
        // In the bucket of now, and of the next ones.
        \array_map(\unlink(...), \glob("$static/*/https/*/" . \basename($path)) ?: []);
        self::assertSame('no request has had it made yet, or its life ends soon', $file('https://shop.example/a'));
        $this->visit('https://other.example/a');
        self::assertNull($file('https://other.example/a'), 'nobody wants files there');
    }

    public function testWhyTellsThatAPageHasBeenExpired(): void
    {
        $this->visit('https://shop.example/a', ['Cache-Control: max-age=60, stale-while-revalidate=60']);
        self::assertTrue((new PageCache(Cache::open($this->dsn)))->expire('/a'));
        $told = $this->json('page:why', ['url' => 'https://shop.example/a']);

        self::assertSame('stale', $told['outcome']);
        self::assertSame('the page was expired by a purge, and it may be served until it is renewed (RFC 5861, section 3)', $told['because']);
        $list = $this->json('page:list');
        self::assertSame([true, 0], [$list['expired'], $list['fresh_for']]);
    }

    /** @return iterable<string, array{list<string>, array<string, string>, int, string}> what the application said, asked how, and the reason */
    public static function refusals(): iterable
    {
        yield 'private' => [['Cache-Control: private'], [], 200, 'section 5.2.2.7'];
        yield 'no-store' => [['Cache-Control: no-store'], [], 200, 'section 5.2.2.5'];
        yield 'Set-Cookie' => [['Cache-Control: max-age=60', 'Set-Cookie: a=b'], [], 200, 'replays no Set-Cookie'];
        yield 'nothing' => [[], [], 200, 'the option ttl'];
        yield 'stale' => [['Cache-Control: max-age=0'], [], 200, 'longer life'];
        yield 'Vary: *' => [['Cache-Control: max-age=60', 'Vary: *'], [], 200, 'section 4.1'];
        yield 'a malformed Vary' => [['Cache-Control: max-age=60', 'Vary: X Foo'], [], 200, 'section 12.5.5'];
        yield 'a malformed Cache-Control' => [['Cache-Control: max-age=60 s'], [], 200, 'by commas'];
        yield 'a stream of events' => [['Cache-Control: max-age=60', 'Content-Type: text/event-stream'], [], 200, 'another type'];
        yield 'a download' => [['Cache-Control: max-age=60', 'Content-Disposition: attachment'], [], 200, 'send files that are the same for all'];
        yield 'a part' => [['Cache-Control: max-age=60', 'Content-Range: bytes 0-1/2'], [], 200, 'section 14.4'];
        yield '206' => [['Cache-Control: max-age=60'], [], 206, 'no whole, final response'];
        yield 'must-understand' => [['Cache-Control: max-age=60, must-understand'], [], 299, 'section 5.2.2.3'];
        yield 'too long' => [['Cache-Control: max-age=60'], ['options' => '{"largest": 10}'], 200, 'the option largest'];
        yield 'no-store in capitals' => [['Cache-Control: NO-STORE'], [], 200, 'section 5.2.2.5'];
        yield 'empty' => [['Cache-Control: max-age=60'], ['body' => ''], 200, 'error log'];
        yield 'tags' => [['Cache-Control: max-age=60', 'Cache-Tags: ' . \str_repeat('x', 2_000)], [], 200, 'fewer tags'];
        foreach (['its Content-Length is not its length', 'the application ended with a fatal error', 'the application was stopped before its end', 'the application has ended the output buffer itself, so what it printed after that is unknown', 'it is a stream, or too long'] as $broken) {
            yield $broken => [['Cache-Control: max-age=60'], ['broken' => $broken], 200, ''];
        }
    }

    /**
     * @param list<string>          $lines
     * @param array<string, string> $how
     */
    #[DataProvider('refusals')]
    public function testWhyTellsWhyAPageWasNotStoredAndWhatToDo(array $lines, array $how, int $status, string $rule): void
    {
        /** @var array<string, mixed> $options */
        $options = \json_decode($how['options'] ?? '{}', true);
        self::assertStringContainsString('; detail="', $this->visit('https://shop.example/a', $lines, options: $options, broken: $how['broken'] ?? '', status: $status, body: $how['body'] ?? null));
        $told = $this->json('page:why', ['url' => 'https://shop.example/a'], Application::NOT_DONE);

        self::assertSame('marked', $told['outcome']);
        self::assertIsString($told['rule']);
        self::assertIsString($told['advice']);
        self::assertNotSame('', $told['advice'], 'each reason has advice');
        self::assertStringContainsString($rule, $told['rule'] . $told['advice']);
    }

    /** @return iterable<string, array{array<string, mixed>, string, string}> the command's arguments, reason and rule */
    public static function requests(): iterable
    {
        yield 'session' => [['--cookie' => ['PHPSESSID=1', '_ga=2']], 'the visitor has a cookie that may make the page private (PHPSESSID)', 'ignoredCookies'];
        yield 'identity' => [['--header' => ['Authorization: Basic eA==']], 'the visitor has identified himself (HTTP_AUTHORIZATION)', 'section 3.5'];
        yield 'override' => [['--header' => ['X-HTTP-Method-Override: DELETE']], 'HTTP_X_HTTP_METHOD_OVERRIDE may change what the application does', 'remove this field'];
        yield 'a proxy\'s identity' => [['--header' => ['X-Forwarded-User: me']], 'the visitor has identified himself (HTTP_X_FORWARDED_USER)', 'section 3.5'];
        yield 'another host' => [['--header' => ['X-Original-Host: me']], 'HTTP_X_ORIGINAL_HOST may change what the application does', 'remove this field'];
        yield 'no address' => [['--header' => ['X-Forwarded-For: <b>']], 'HTTP_X_FORWARDED_FOR is no address', 'set this field anew'];
        yield 'a body' => [['--header' => ['Content-Length: 5']], 'the request has a body', 'section 9.3.1'];
        yield 'host' => [['--header' => ['Host: a b']], 'the host is none', 'section 7.2'];
        yield 'target' => [['url' => 'https://shop.example/' . \str_repeat('x', 3_000)], 'the target is none, or longer than 2048 bytes', 'too long'];
        yield 'no-store' => [['--header' => ['Cache-Control: no-store']], 'the request says no-store', 'clientControl'];
        yield 'range' => [['--header' => ['Range: bytes=0-1']], 'the request asks for a part', 'section 14.2'];
    }

    /** @param array<string, mixed> $arguments */
    #[DataProvider('requests')]
    public function testWhyTellsWhyARequestIsNotAnswered(array $arguments, string $reason, string $rule): void
    {
        $told = $this->json('page:why', $arguments + ['url' => 'https://shop.example/a'], Application::NOT_DONE);

        self::assertSame(['passed', $reason], [$told['outcome'], $told['reason']]);
        self::assertIsString($told['rule']);
        self::assertIsString($told['advice']);
        self::assertStringContainsString($rule, $told['rule'] . $told['advice']);
    }

    public function testWhyTakesTheOptionsThatTheWebHasUsed(): void
    {
        $options = ['ignoredQuery' => ['utm_*']];
        $this->visit('https://shop.example/a', options: $options);

        self::assertSame('hit', $this->json('page:why', ['url' => 'https://shop.example/a?utm_source=x'])['outcome']);
        self::assertSame($options, $this->json('page:why', ['url' => 'https://shop.example/a?utm_source=x'])['options']);
        self::assertSame('built', $this->json('page:why', ['url' => 'https://shop.example/a?utm_source=x', '--options' => '{}'], Application::NOT_DONE)['outcome']);

        $this->visit('https://other.example/a', options: ['ignoredQuery' => ['ref']]);
        self::assertSame($options, $this->json('page:why', ['url' => 'https://shop.example/a'])['options'], 'another host has its own');
    }

    public function testOptionsComeFromTextOrAFile(): void
    {
        $this->visit('https://shop.example/a');
        foreach (['{"ignoredQuery": ["x"]}', $this->root->write('options.json', '{"ignoredQuery": ["x"]}'), $this->root->write('options.php', '<?php return ["ignoredQuery" => ["x"]];')] as $options) {
            self::assertSame('hit', $this->json('page:why', ['url' => 'https://shop.example/a?x=1', '--options' => $options])['outcome'], $options);
        }
        foreach (['{"ignored": 1}', '{', 'nothing.json', $this->root->write('none.php', '<?php return 1;')] as $wrong) {
            [$status, , $errors] = $this->tell('page:why', ['url' => 'https://shop.example/a', '--options' => $wrong]);
            self::assertSame(Application::USAGE, $status, $wrong);
            self::assertNotSame('', $errors);
        }
    }

    public function testWhatIsNoRequestIsRefused(): void
    {
        foreach ([['url' => '/a'], ['url' => 'ftp://a/'], ['--header' => ['no field']], ['--header' => ["A: b\r\nC: d"]], ['--cookie' => ['a']], ['--method' => 'G T']] as $arguments) {
            self::assertSame(Application::USAGE, $this->tell('page:why', $arguments + ['url' => 'https://shop.example/'])[0], (string) \json_encode($arguments));
        }
    }

    public function testListShowsPagesByUrlAndTag(): void
    {
        $this->visit('https://shop.example/blog/2', tags: ['post-2', 'blog']);
        $this->visit('https://shop.example/blog/1', ['Cache-Control: max-age=60', 'Vary: Accept-Language'], ['HTTP_ACCEPT_LANGUAGE' => 'en'], tags: ['post-1', 'blog']);
        $this->visit('https://other.example/blog/1');
        Cache::open($this->dsn)->set('p', 'another value');

        self::assertSame(['https://other.example/blog/1', 'https://shop.example/blog/1', 'https://shop.example/blog/2'], $this->listed());
        self::assertSame(['https://shop.example/blog/1', 'https://shop.example/blog/2'], $this->listed(['--url' => 'https://shop.example/']));
        self::assertSame(['https://other.example/blog/1', 'https://shop.example/blog/1'], $this->listed(['--url' => '/blog/1']));
        self::assertSame(['https://shop.example/blog/2'], $this->listed(['--tag' => ['post-2']]));
        self::assertSame(['https://shop.example/blog/1', 'https://shop.example/blog/2'], $this->listed(['--tag' => ['post-2', 'post-1']]));
        self::assertSame([], $this->listed(['--tag' => ['nothing']]));

        [$status, $output] = $this->tell('page:list', ['--tag' => ['post-1']]);
        self::assertSame(0, $status);
        self::assertMatchesRegularExpression('~shop\.example/blog/1; Accept-Language: en +\| 200 +\|.+\| gzip .*\| post-1 blog~', $output);
        self::assertStringContainsString("\n1 page, ", $output);
    }

    public function testListShowsThePagesOfAGroup(): void
    {
        $this->visit('https://shop.example/a', tags: ['inside'], group: 'site');
        $this->visit('https://shop.example/a', tags: ['outside']);
        $this->visit('https://shop.example/b');

        self::assertSame(['inside'], $this->json('page:list', ['--group' => 'site'])['tags']);
        self::assertSame(['outside'], $this->json('page:list', ['--url' => '/a'])['tags']);
        self::assertSame(['https://shop.example/a', 'https://shop.example/b'], $this->listed());
    }

    /**
     * @param array<string, mixed> $arguments
     *
     * @return list<string>
     */
    private function listed(array $arguments = []): array
    {
        [$status, $output] = $this->tell('page:list', $arguments + ['--json' => true]);
        self::assertSame(0, $status);
        $urls = [];
        foreach (\array_filter(\explode("\n", $output)) as $line) {
            $document = \json_decode($line, true, flags: \JSON_THROW_ON_ERROR);
            self::assertIsArray($document);
            self::assertIsString($document['url']);
            $urls[] = $document['url'];
        }

        return $urls;
    }

    public function testPurge(): void
    {
        $options = ['ignoredQuery' => ['utm_*']];
        foreach (['a', 'b', 'c', 'd'] as $page) {
            $this->visit("https://shop.example/$page", options: $options, tags: ["tag-$page"]);
        }
        self::assertSame([0, "purged\n"], \array_slice($this->tell('page:purge', ['url' => ['https://shop.example/a?utm_source=x', '/b'], '--tag' => ['tag-c']]), 0, 2));
        self::assertSame(['https://shop.example/d'], $this->listed());
        // As --tag="$TAG" with an empty variable.
        foreach (['', ' '] as $tag) {
            self::assertSame(Application::USAGE, $this->tell('page:purge', ['--tag' => [$tag]])[0]);
        }

        Cache::open($this->dsn)->set('k', 'another value');
        self::assertSame(['urls' => [], 'tags' => [], 'all' => true, 'expired' => false, 'done' => true], $this->json('page:purge', ['--all' => true]));
        self::assertSame([], $this->listed());
        self::assertSame('another value', Cache::open($this->dsn)->get('k'));
    }

    public function testAPurgeTellsTheProxiesThatTheWebHasNoted(): void
    {
        $server = \stream_socket_server('tcp://127.0.0.1:0');
        self::assertIsResource($server);
        $address = (string) \stream_socket_get_name($server, false);
        // Nobody answers there, so the purge is not done.
        foreach ([['--tag' => ['menu']], ['url' => ['/a']], ['--all' => true], ['--tag' => ['menu'], '--expire' => true]] as $arguments) {
            $this->visit('https://shop.example/a', options: ['proxies' => [$address]]);
            $this->visit('https://other.example/a');
            self::assertSame(Application::NOT_DONE, $this->tell('page:purge', $arguments)[0], (string) \json_encode($arguments));
            $connection = \stream_socket_accept($server, 0.0);
            self::assertIsResource($connection);
            self::assertStringStartsWith('BAN ', (string) \fgets($connection));
            \fclose($connection);
        }
        self::assertSame(Application::OK, $this->tell('page:purge', ['--tag' => ['menu'], '--options' => '{}'])[0], 'who gives options has said all');
    }

    public function testExpire(): void
    {
        foreach (['a', 'b', 'c'] as $page) {
            $this->visit("https://shop.example/$page", ['Cache-Control: max-age=60, stale-while-revalidate=60'], tags: ["tag-$page"]);
        }
        self::assertSame([0, "expired\n"], \array_slice($this->tell('page:purge', ['url' => ['/a'], '--tag' => ['tag-b'], '--expire' => true]), 0, 2));

        self::assertSame(['stale', 'stale', 'hit'], \array_map(fn(string $page): mixed => $this->json('page:why', ['url' => "https://shop.example/$page"])['outcome'], ['a', 'b', 'c']));
    }

    public function testAPurgeOfNothingIsRefused(): void
    {
        $this->visit('https://shop.example/a');
        foreach ([[], ['--expire' => true], ['--all' => true, 'url' => ['/a']], ['--all' => true, '--expire' => true], ['--all' => true, '--tag' => ['x']], ['url' => ['a']]] as $arguments) {
            self::assertSame(Application::USAGE, $this->tell('page:purge', $arguments)[0], (string) \json_encode($arguments));
        }
        self::assertSame(['https://shop.example/a'], $this->listed());
    }
}
