<?php

declare(strict_types=1);

namespace Larder\Tests\Console\Warm;

use Larder\Console\Application;
use Larder\Console\PageWarmCommand;
use Larder\Tests\Config\Child;
use Larder\Tests\Support\Certificate;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Console\Tester\ApplicationTester;

/** page:warm over real HTTP. */
#[CoversClass(PageWarmCommand::class)]
final class WarmTest extends TestCase
{
    private TemporaryDirectory $root;
    private string $dsn;
    private ?Process $site = null;
    private int $port = 0;

    protected function setUp(): void
    {
        $this->root = new TemporaryDirectory();
        $this->dsn = 'sqlite://' . $this->root->path . '/cache';
    }

    private function site(string ...$arguments): void
    {
        $this->site = Process::php(__DIR__ . '/site.php', \array_values($arguments));
        $this->port = (int) $this->site->line();
    }

    /** A site of PHP's own server with the page cache, whose pages say what $code says. */
    private function cachedSite(string $code): void
    {
        $script = $this->root->write('index.php', '<?php require ' . \var_export(\dirname(__DIR__, 3) . '/vendor/autoload.php', true) . ';'
            . '(new Larder\Page\PageCache(Larder\Cache::open(' . \var_export($this->dsn, true) . '), ["ignoredQuery" => ["utm_*"]]))->start();' . $code);
        $server = new Process([\PHP_BINARY, '-S', '127.0.0.1:0', $script]);
        $this->site = $server;
        for ($end = \hrtime(true) + 30_000_000_000; \preg_match('~http://127\.0\.0\.1:(\d+)\) started~', $server->errors(), $match) !== 1;) {
            self::assertLessThan($end, \hrtime(true), $server->errors());
            \usleep(5_000);
        }
        $this->port = (int) $match[1];
    }

    /**
     * @param array<string, mixed> $arguments
     *
     * @return array{int, list<array<string, mixed>>, string} status, the log, errors
     */
    private function warm(string $sitemap, array $arguments = []): array
    {
        $application = new Application();
        $application->setAutoExit(false);
        $tester = new ApplicationTester($application);
        $tester->run(
            ['command' => 'page:warm', 'sitemap' => $sitemap, '--json' => true] + $arguments + ['--dsn' => $this->dsn],
            ['capture_stderr_separately' => true, 'interactive' => false],
        );
        $log = [];
        foreach (\array_filter(\explode("\n", $tester->getDisplay(true))) as $line) {
            $document = \json_decode($line, true, flags: \JSON_THROW_ON_ERROR);
            self::assertIsArray($document);
            /** @var array<string, mixed> $document */
            $log[] = $document;
        }

        return [$tester->getStatusCode(), $log, $tester->getErrorOutput(true)];
    }

    private function url(string $path): string
    {
        return "http://127.0.0.1:$this->port$path";
    }

    /** A sitemap of these paths, as a file. */
    private function map(string ...$paths): string
    {
        return $this->root->write('map.txt', \implode("\n", \array_map($this->url(...), $paths)));
    }

    /**
     * What the site was asked.
     *
     * @return list<array{target: string, lines: list<string>, open: int}>
     */
    private function asked(): array
    {
        self::assertNotNull($this->site);
        $asked = [];
        while (($line = $this->site->line(0.1)) !== null) {
            /** @var array{target: string, lines: list<string>, open: int} $one */
            $one = \json_decode($line, true, flags: \JSON_THROW_ON_ERROR);
            $asked[] = $one;
        }

        return $asked;
    }

    /**
     * @param list<array<string, mixed>> $log
     *
     * @return array<string, mixed> what became of each page, by its path
     */
    private function deeds(array $log): array
    {
        $deeds = [];
        foreach ($log as $line) {
            if (isset($line['url'])) {
                self::assertIsString($line['url']);
                $deeds[\substr($line['url'], \strlen($this->url('')))] = $line['did'];
            }
        }
        \ksort($deeds);

        return $deeds;
    }

    public function testItFollowsAnIndexRedirectsAndCompressedSitemapsOfItsHost(): void
    {
        $this->site();
        [$status, $log, $errors] = $this->warm($this->url('/index.xml'));

        self::assertSame(0, $status, $errors);
        self::assertSame(['/a' => 'answered', '/b?x=1&y=2' => 'answered', '/c' => 'answered', '/d' => 'answered', '/e' => 'answered'], $this->deeds($log));
        self::assertStringContainsString('left out: http://elsewhere.example/: another host', $errors);
        self::assertStringContainsString('left out: http://elsewhere.example/map.xml: another host', $errors);
        self::assertStringContainsString('/missing.xml: status 404', $errors);
        self::assertSame(['/index.xml', '/packed.xml.gz', '/moved.xml', '/urls.txt', '/missing.xml', '/chunked.xml'], \array_slice(\array_column($this->asked(), 'target'), 0, 6));
    }

    public function testWhatIsNoSitemapEndsItWithOne(): void
    {
        $this->site();
        foreach ([$this->url('/missing.xml'), $this->url('/loop.xml'), $this->url('/a'), $this->root->path . '/none.xml', 'http://127.0.0.1:1/'] as $wrong) {
            [$status, $log, $errors] = $this->warm($wrong);
            self::assertSame([Application::NOT_DONE, []], [$status, $log], $wrong);
            self::assertStringContainsString("No sitemap: $wrong: ", $errors);
        }
    }

    public function testItSendsFieldsAndCookiesAndAsksTheServerThatItIsTold(): void
    {
        $this->site();
        $map = $this->root->write('map.txt', "http://shop.example/a\n");
        [$status] = $this->warm($map, ['--connect' => "127.0.0.1:$this->port", '--header' => ['Accept-Language: de', 'user-agent: mine'], '--cookie' => ['a=1', 'b=2']]);

        self::assertSame(0, $status);
        $lines = $this->asked()[0]['lines'];
        self::assertContains('Host: shop.example', $lines);
        self::assertContains('Accept-Language: de', $lines);
        self::assertContains('Cookie: a=1; b=2', $lines);
        self::assertContains('user-agent: mine', $lines);
    }

    public function testNoMoreRequestsAreUnderWayThanAllowed(): void
    {
        $this->site();
        $map = $this->map(...\array_map(static fn(int $i): string => "/$i?after=0.03", \range(1, 30)));
        foreach ([1, 3] as $most) {
            [$status, $log] = $this->warm($map, ['--concurrency' => (string) $most]);
            self::assertSame(0, $status);
            self::assertCount(31, $log);
            self::assertSame($most, \max(\array_column($this->asked(), 'open')));
        }
        self::assertSame(Application::USAGE, $this->warm($map, ['--concurrency' => '0'])[0]);
    }

    public function testItTriesThreeTimes(): void
    {
        $this->site();
        [$status, $log] = $this->warm($this->map('/broken', '/busy', '/a'));

        self::assertSame(Application::NOT_DONE, $status);
        self::assertSame(['/a' => 'answered', '/broken' => 'failed', '/busy' => 'answered'], $this->deeds($log));
        self::assertSame(['/a' => 1, '/broken' => 3, '/busy' => 3], self::counted(\array_column($this->asked(), 'target')));
        self::assertSame(['pages' => 3, 'answered' => 2, 'failed' => 1, 'not asked for' => 0, 'slowed down' => 5], \array_diff_key((array) ($log[3]['summary'] ?? []), ['seconds' => 0]));
    }

    public function testASiteThatDoesNothingButFailIsLeftAlone(): void
    {
        $this->site();
        [$status, $log] = $this->warm($this->map(...\array_map(static fn(int $i): string => "/broken?$i", \range(1, 30))));

        self::assertSame(Application::NOT_DONE, $status);
        self::assertCount(12, $this->asked());
        $summary = $log[\count($log) - 1]['summary'] ?? null;
        self::assertIsArray($summary);
        self::assertGreaterThan(20, $summary['not asked for']);
    }

    /** @param list<string> $targets @return array<string, int> */
    private static function counted(array $targets): array
    {
        $counts = \array_count_values($targets);
        \ksort($counts);

        return $counts;
    }

    /** @return iterable<string, array{string, string}> */
    public static function failures(): iterable
    {
        yield 'a part' => ['/cut', 'only 3 of 10 bytes came'];
        yield 'nothing' => ['/nothing', 'no answer'];
        yield 'another protocol' => ['/nonsense', 'no HTTP'];
        yield 'none in time' => ['/never', 'no whole answer within 0.2 s'];
    }

    #[DataProvider('failures')]
    public function testAnAnswerThatIsNotWholeIsAFailure(string $path, string $detail): void
    {
        $this->site();
        [$status, $log] = $this->warm($this->map($path), ['--timeout' => '0.2', '--tries' => '1']);

        self::assertSame([Application::NOT_DONE, 'failed', $detail], [$status, $log[0]['did'], $log[0]['detail']]);
    }

    /** @return iterable<string, array{string, string, string}> Cache-Status, and what it means */
    public static function statuses(): iterable
    {
        yield 'stored' => ['Larder; fwd=uri-miss; stored', 'stored', ''];
        yield 'hit' => ['Larder; hit; ttl=5', 'hit', ''];
        yield 'stale' => ['Larder; hit; ttl=-5', 'renewing', ''];
        yield 'reason' => ['Larder; fwd=uri-miss; detail="a \"b\", c; stored"', 'not stored', 'a "b", c; stored'];
        yield 'behind a CDN' => ['ExampleCDN; fwd=miss; stored, Larder; fwd=uri-miss; detail="private"', 'not stored', 'private'];
        yield 'of others only' => ['ExampleCDN; fwd=miss; stored', 'answered', ''];
    }

    #[DataProvider('statuses')]
    public function testItSaysWhatTheSiteSays(string $said, string $did, string $detail): void
    {
        $this->site();
        [$status, $log] = $this->warm($this->map('/?status=' . \rawurlencode($said)));

        self::assertSame([0, $did, $detail], [$status, $log[0]['did'], $log[0]['detail']]);
    }

    public function testItWarmsAPageCacheAndSkipsWhatIsFresh(): void
    {
        $this->cachedSite('if ($_SERVER["REQUEST_URI"] === "/private") { header("Cache-Control: private"); } else { header("Cache-Control: max-age=60"); } echo "page";');
        $map = $this->map('/a', '/private', '/b?utm_source=sitemap');

        [, $log] = $this->warm($map, ['--dry-run' => true]);
        self::assertSame(['/a' => 'wanted', '/b?utm_source=sitemap' => 'wanted', '/private' => 'wanted'], $this->deeds($log));
        [$status, $log] = $this->warm($map);
        self::assertSame(0, $status);
        self::assertSame(['/a' => 'stored', '/b?utm_source=sitemap' => 'stored', '/private' => 'not stored'], $this->deeds($log));
        [, $log] = $this->warm($map);
        self::assertSame(['/a' => 'fresh', '/b?utm_source=sitemap' => 'fresh', '/private' => 'not stored'], $this->deeds($log));
        [, $log] = $this->warm($map, ['--header' => ['X-Forwarded-Proto: https']]);
        self::assertSame('stored', $this->deeds($log)['/a'], 'other requests get other pages');
    }

    public function testPeopleGetALineForEachPage(): void
    {
        $this->site();
        $larder = Child::run([\dirname(__DIR__, 3) . '/bin/larder', 'page:warm', $this->map('/a'), "--dsn=$this->dsn"]);

        self::assertSame(0, $larder->status, $larder->errors);
        self::assertMatchesRegularExpression('~^\d\d:\d\d:\d\d  answered    200  +[\d.]+ [mu]?s  http://127\.0\.0\.1:\d+/a\n1 pages, 1 answered, 0 not asked for, 0 slowed down, [\d.]+ seconds\n$~', $larder->output);
    }

    public function testASignalEndsItAfterTheRequestsUnderWay(): void
    {
        $this->site();
        self::assertNotNull($this->site);
        $larder = new Process([\dirname(__DIR__, 3) . '/bin/larder', 'page:warm', $this->map('/a?after=1', '/b?after=1', '/c?after=1'), '--concurrency=1', '--json', "--dsn=$this->dsn"]);
        self::assertStringContainsString('/a', (string) $this->site->line());
        $larder->signal(\SIGINT);

        self::assertSame(Application::NOT_DONE, $larder->wait());
        $lines = \explode("\n", \trim($larder->output()));
        self::assertCount(2, $lines, $larder->errors());
        self::assertStringContainsString('"did":"answered"', $lines[0]);
        self::assertStringContainsString('"not asked for":2', $lines[1]);
        self::assertSame([], $this->asked());
    }

    public function testASecondSignalEndsThoseToo(): void
    {
        $this->site();
        self::assertNotNull($this->site);
        $larder = new Process([\dirname(__DIR__, 3) . '/bin/larder', 'page:warm', $this->map('/never', '/b'), '--concurrency=1', '--json', "--dsn=$this->dsn"]);
        self::assertStringContainsString('/never', (string) $this->site->line());
        // Two of one kind may arrive as one (signal(7)); one too many would arrive when PHP has given up its handlers.
        $larder->signal(\SIGINT);
        $larder->signal(\SIGTERM);
        self::assertSame(Application::NOT_DONE, $larder->wait());
        self::assertStringContainsString('"did":"failed"', $larder->output());
    }

    public function testItSpeaksTlsAndChecksTheCertificate(): void
    {
        $certificate = $this->root->write('certificate.pem', Certificate::for('shop.example', $this->root));
        $this->site($certificate);
        $map = $this->root->write('map.txt', "https://shop.example/a\n");
        $command = [\dirname(__DIR__, 3) . '/bin/larder', 'page:warm', $map, "--connect=127.0.0.1:$this->port", '--json', "--dsn=$this->dsn"];
        $larder = Child::run($command, ['SSL_CERT_FILE' => $certificate]);
        self::assertSame(0, $larder->status, $larder->output . $larder->errors);
        self::assertStringContainsString('"did":"answered"', $larder->output);

        $other = $this->root->write('other.txt', "https://other.example/a\n");
        $larder = Child::run([...\array_replace($command, [2 => $other]), '--tries=1'], ['SSL_CERT_FILE' => $certificate]);
        self::assertSame(Application::NOT_DONE, $larder->status);
        self::assertStringContainsString('no TLS: ', $larder->output);
    }
}
