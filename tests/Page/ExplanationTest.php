<?php

declare(strict_types=1);

namespace Larder\Tests\Page;

use Larder\Cache;
use Larder\Page\Exchange;
use Larder\Page\Explanation;
use Larder\Page\PageCache;
use Larder\Page\PageOutcome;
use Larder\Page\Pages;
use Larder\Page\Reply;
use Larder\Page\Settings;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** What explain() says is what answer() then does. */
#[CoversClass(Explanation::class)]
final class ExplanationTest extends TestCase
{
    private Cache $cache;
    private Pages $pages;

    protected function setUp(): void
    {
        $this->cache = Cache::open('memory://');
        $this->pages = new Pages($this->cache);
    }

    /** @param array<string, string> $variables */
    private function exchange(array $variables = []): Exchange
    {
        $settings = Settings::from(['wait' => 0, 'ignoredQuery' => ['utm_*'], 'varyCookies' => ['language']]);

        return Exchange::of($this->pages, $settings, $variables + ['REQUEST_METHOD' => 'GET', 'HTTP_HOST' => 'shop.example', 'SERVER_PORT' => '80', 'SERVER_NAME' => 'shop.example', 'REQUEST_URI' => '/']);
    }

    /**
     * The application makes the page now, or tries to.
     *
     * @param list<string>          $lines
     * @param array<string, string> $variables
     */
    private function make(array $lines, array $variables = [], int $status = 200): void
    {
        $exchange = $this->exchange($variables);
        $exchange->answer();
        $exchange->conclude(new Reply($status, ['Content-Type: text/plain', ...$lines], 'page'));
        $this->pages->refresh();
    }

    /** What the store has, by name. */
    private function prepare(string $state): void
    {
        match ($state) {
            'nothing' => null,
            'fresh' => $this->make(['Cache-Control: max-age=60']),
            'fresh for cookie' => $this->make(['Cache-Control: max-age=60'], ['HTTP_COOKIE' => 'language=de']),
            'fresh variant' => $this->make(['Cache-Control: max-age=60', 'Vary: Accept-Language'], ['HTTP_ACCEPT_LANGUAGE' => 'de']),
            'old' => $this->make(['Cache-Control: max-age=60', 'Age: 70', 'ETag: "1"']),
            'stale' => $this->make(['Cache-Control: max-age=60, stale-while-revalidate=60', 'Age: 70', 'ETag: "1"']),
            'expired' => $this->expire(['Cache-Control: max-age=60, stale-while-revalidate=60']),
            'expired for good' => $this->expire(['Cache-Control: max-age=60']),
            'private' => $this->make(['Cache-Control: private']),
            default => self::assertTrue($state === 'building' && $this->pages->builders()->take('http://shop.example/')),
        };
    }

    /** @param list<string> $lines */
    private function expire(array $lines): void
    {
        $this->make($lines);
        self::assertTrue((new PageCache($this->cache))->expire('http://shop.example/'));
        $this->pages->refresh();
    }

    /** @return iterable<string, array{string, array<string, string>}> */
    public static function cases(): iterable
    {
        $requests = [
            'plain' => [],
            'utm' => ['REQUEST_URI' => '/?utm_source=x'],
            'other query' => ['REQUEST_URI' => '/?a=1'],
            'HEAD' => ['REQUEST_METHOD' => 'HEAD'],
            'POST' => ['REQUEST_METHOD' => 'POST'],
            'POST only-if-cached' => ['REQUEST_METHOD' => 'POST', 'HTTP_CACHE_CONTROL' => 'only-if-cached'],
            'cookie' => ['HTTP_COOKIE' => 'PHPSESSID=1'],
            'cookie that pages differ by' => ['HTTP_COOKIE' => 'language=de'],
            'cookie of analytics' => ['HTTP_COOKIE' => '_ga=1'],
            'authorization' => ['HTTP_AUTHORIZATION' => 'Basic eA=='],
            'proxy' => ['HTTP_X_FORWARDED_PROTO' => 'https'],
            'override' => ['HTTP_X_HTTP_METHOD_OVERRIDE' => 'DELETE'],
            'odd host' => ['HTTP_HOST' => 'a b'],
            'language' => ['HTTP_ACCEPT_LANGUAGE' => 'de'],
            'no-cache' => ['HTTP_CACHE_CONTROL' => 'no-cache'],
            'pragma' => ['HTTP_PRAGMA' => 'no-cache'],
            'no-store' => ['HTTP_CACHE_CONTROL' => 'no-store'],
            'max-age=0' => ['HTTP_CACHE_CONTROL' => 'max-age=0'],
            'max-stale' => ['HTTP_CACHE_CONTROL' => 'max-stale'],
            'only-if-cached' => ['HTTP_CACHE_CONTROL' => 'only-if-cached'],
            'body' => ['CONTENT_LENGTH' => '5'],
            'identity in a field' => ['HTTP_X_API_KEY' => 'a'],
            'min-fresh' => ['HTTP_CACHE_CONTROL' => 'min-fresh=5'],
            'JSON' => ['HTTP_ACCEPT' => 'application/json'],
            'range' => ['HTTP_RANGE' => 'bytes=0-1'],
            'prefetch' => ['HTTP_SEC_PURPOSE' => 'prefetch'],
        ];
        foreach (['nothing', 'fresh', 'fresh for cookie', 'fresh variant', 'old', 'stale', 'expired', 'expired for good', 'private', 'building'] as $state) {
            foreach ($requests as $name => $request) {
                yield "$state, $name" => [$state, $request];
            }
        }
    }

    /** @param array<string, string> $request */
    #[DataProvider('cases')]
    public function testItSaysWhatIsThenDone(string $state, array $request): void
    {
        $this->prepare($state);
        $said = $this->exchange($request)->explain();
        // A second may pass in between.
        $ageless = static fn(Explanation $of): string => (string) \preg_replace('/\'age\' => \d+/', '', \var_export($of, true));
        self::assertSame($ageless($said), $ageless($this->exchange($request)->explain()), 'it changes nothing');

        $isBuilt = $said->key !== null && $this->pages->builders()->isBuilt($said->key);
        $exchange = $this->exchange($request);
        $reply = $exchange->answer();
        $status = $reply === null ? '' : \implode(' ', $reply->fields()['cache-status'] ?? []);
        $done = match (true) {
            $reply === null => $exchange->isRecorded ? 'recorded' : 'passed',
            $reply->status === 504 => 'refused',
            $reply->status === 503 => 'busy',
            $exchange->renewal !== null => 'stale',
            default => 'hit',
        };
        self::assertSame(match ($said->outcome) {
            PageOutcome::Hit => 'hit',
            // A prefetch renews nothing.
            PageOutcome::Stale => isset($request['HTTP_SEC_PURPOSE']) ? 'hit' : 'stale',
            PageOutcome::Refused => 'refused',
            PageOutcome::Busy => 'busy',
            PageOutcome::Built, PageOutcome::Marked, PageOutcome::Waits => 'recorded',
            PageOutcome::Passed => 'passed',
        }, $done, $status);
        self::assertTrue($isBuilt ? $said->outcome !== PageOutcome::Built : $said->outcome !== PageOutcome::Waits);
        if ($reply === null) {
            $passed = $exchange->conclude(new Reply(200, ['Cache-Control: no-store'], ''))->fields()['cache-status'] ?? [];
            self::assertStringStartsWith("Larder; fwd=$said->forward", $passed[0] ?? '');
            if ($said->outcome === PageOutcome::Passed && $said->detail !== '') {
                self::assertStringContainsString("; detail=\"$said->detail\"", $passed[0] ?? '');
            }
        }
    }

    public function testAMarkTellsWhyThePageCouldNotBeStored(): void
    {
        $this->make(['Cache-Control: private']);
        $said = $this->exchange()->explain();

        self::assertSame([PageOutcome::Marked, 'private'], [$said->outcome, $said->detail]);
    }

    public function testItShowsWhatLiesUnderTheKey(): void
    {
        $this->prepare('fresh variant');
        $said = $this->exchange(['HTTP_ACCEPT_LANGUAGE' => 'de'])->explain();

        self::assertSame('http://shop.example/', $said->key);
        self::assertSame("http://shop.example/\naccept-language:de", $said->stored['name'] ?? '');
        self::assertNull($this->exchange(['HTTP_ACCEPT_LANGUAGE' => 'en'])->explain()->stored);
    }
}
