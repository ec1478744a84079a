<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Cache;
use Larder\Config\Functions;
use Larder\Config\InvalidConfiguration;

/**
 * The page cache for any PHP script: a shared HTTP cache (RFC 9111) before the application, in the application's process.
 *
 *     (new PageCache(Cache::open($dsn)))->start();
 *
 * in a script's first lines answers the request and exits, or records what the rest of the script prints. A page that says
 * nothing about its life is not stored, unless the option `ttl` gives it one; a page that might be private never is.
 *
 * purge(), purgeTags(), expire() and expireTags() take effect for every request that begins after they have returned, in
 * every process and on every server that shares the cache. In a transaction of the cache they take effect at its COMMIT.
 * They return false if the cache could not record it; it is then kept and done as soon as it can (Cache::delete()).
 */
final class PageCache
{
    private readonly Pages $pages;
    private readonly Settings $settings;

    /** @var list<string> of the page that this request makes */
    private static array $tags = [];
    private static bool $isStarted = false;

    /**
     * @param array<array-key, mixed> $options `ttl` (seconds; default: none), `stale` (seconds that pages which say nothing
     *                                         about it are served stale while one request renews them; 0), `wait` (seconds
     *                                         for a page that another request builds; 10), `waiters` and `overflow` ("wait",
     *                                         or "busy": who waits beside that many gets a 503), `varyCookies`,
     *                                         `ignoredCookies`, `ignoredQuery`, `ignoredFields` (names; a * at the end stands for anything),
     *                                         `clientControl` (false: a request's Cache-Control is ignored), `largest` (bytes), `static`
     *                                         (a directory of pages that the web server sends by itself), `staticLife` (seconds
     *                                         that it does so without asking), `staticHeaders` (a list of what else it sends:
     *                                         "Name: value", or "Name": it may leave that out), `budget` (bytes of local copies
     *                                         and of those pages together; 64M), `proxies` (addresses of Varnish in front, as
     *                                         "127.0.0.1:6081", which are told what is purged)
     *
     * @param ?\Closure(array<string, string>, string, float): bool $defer lets another process call Renewal::request() with these;
     *                                                                     false: it cannot
     *
     * @throws InvalidConfiguration
     */
    public function __construct(Cache $cache, array $options = [], private readonly ?\Closure $defer = null)
    {
        \PHP_SAPI === 'cli' || \is_file(__DIR__ . '/../../classes/page.php') && require __DIR__ . '/../../classes/page.php';
        $this->settings = Settings::from($options);
        $this->pages = new Pages($cache, $this->settings);
    }

    /**
     * Answers the request and exits, or returns, and records the response at the end of the script.
     *
     * @param ?\Closure(): bool $changes asked when the script has ended, of a request with an unsafe method such as POST: whether
     *                                   it may have changed what pages show, so that they are purged. Null: it has.
     *
     * @throws InvalidConfiguration this host disables a function that it needs
     */
    public function start(?\Closure $changes = null): void
    {
        if (self::$isStarted || \PHP_SAPI === 'cli' || \PHP_SAPI === 'phpdbg' || \PHP_SAPI === 'embed' || \headers_sent()) {
            return;
        }
        \ini_get('disable_functions') === '' || Functions::check(Functions::PAGES);
        self::$isStarted = true;
        $serving = new Serving($this->pages, $this->settings, $_SERVER);
        $reply = $serving->answer();
        if ($reply !== null) {
            Sapi::send($reply);
            $serving->copy();
            $this->pages->publish();
            exit;
        }
        \is_file(__DIR__ . '/../../classes/record.php') && require __DIR__ . '/../../classes/record.php';
        $exchange = new Exchange($this->pages, $this->settings, $serving);
        $reply = $exchange->buildable();
        if ($reply !== null) {
            Sapi::send($reply);
            if ($exchange->renewal !== null && !$this->defers($exchange->renewal)) {
                $isSent = Renewal::request($_SERVER, $exchange->renewal, $this->settings->wait);
                // Without an early end of the response no visitor has waited for more than the sending.
                if (Sapi::canFinish() ? !$exchange->isHandedOver() : !$isSent) {
                    $this->pages->builders()->cannotRenew();
                    $exchange->giveUp();
                }
            }
            $serving->copy();
            $this->pages->publish();
            exit;
        }
        $this->pages->purge()->follow();
        if (isset($_SERVER[Exchange::RENEWAL])) {
            // No client listens: the request that asked for it has closed the connection, or waits only for the end.
            \ignore_user_abort(true);
        }
        Sapi::setVariables($exchange->variables());
        if ($exchange->isRecorded) {
            (new Recorder($exchange, $this->pages, $this->settings->largest))->start();

            return;
        }
        \header($exchange->pass(new Reply(200, []))->lines[0]);
        \header_register_callback(Sapi::setOutward(...));
        // Twice, so that it comes after the application's own shutdown functions, which may change something as well.
        \register_shutdown_function(static fn() => \register_shutdown_function(static function () use ($exchange, $changes): void {
            $changes !== null && !$changes() || $exchange->conclude(Sapi::response(''));
        }));
    }

    private function defers(string $token): bool
    {
        return $this->defer !== null && ($this->defer)(Renewal::repeated($_SERVER), $token, $this->settings->wait);
    }

    /** Gives the page that this request makes tags, by which purgeTags() and expireTags() find it. */
    public static function tag(string ...$tags): void
    {
        self::$tags = [...self::$tags, ...\array_values($tags)];
    }

    /**
     * @internal
     *
     * @return list<string> the tags given since the last call
     */
    public static function takeTags(): array
    {
        [$tags, self::$tags] = [self::$tags, []];

        return $tags;
    }

    /**
     * Removes all that is stored for these URLs: each variant, and what visitors with different cookies get.
     *
     * @param string ...$urls https://example.org/path?query; without scheme and host (/path?query): on every host
     */
    public function purge(string ...$urls): bool
    {
        return $this->pages->purge()->remove($this->tagsOf($urls));
    }

    /** Removes every page that carries one of the tags. */
    public function purgeTags(string ...$tags): bool
    {
        return $this->pages->purge()->remove(Tags::clean($tags));
    }

    /**
     * Lets what is stored for these URLs be renewed: visitors get it until one request has made it anew.
     *
     * @param string ...$urls as for purge()
     */
    public function expire(string ...$urls): bool
    {
        return $this->pages->purge()->expire($this->tagsOf($urls));
    }

    /** Lets every page that carries one of the tags be renewed: visitors get it until one request has made it anew. */
    public function expireTags(string ...$tags): bool
    {
        return $this->pages->purge()->expire(Tags::clean($tags));
    }

    /** Removes all pages. */
    public function purgeAll(): bool
    {
        return $this->pages->purge()->all();
    }

    /**
     * @param array<array-key, string> $urls
     *
     * @return list<string>
     */
    private function tagsOf(array $urls): array
    {
        $tags = [];
        foreach ($urls as $url) {
            $normal = \str_starts_with($url, '/') && !\str_starts_with($url, '//') ? Url::normal("http://any$url") : Url::normal($url);
            if ($normal === null) {
                throw new InvalidConfiguration('"' . $url . '" is no URL of a page. Write https://example.org/path?query, or /path?query for every host.');
            }
            $normal = Url::without($normal, $this->settings->rules['ignoredQuery']);
            $tags = [...$tags, ...$this->pages->purge()->tagsOf($url[0] === '/' ? \substr($normal, \strlen('http://any')) : $normal)];
        }

        return $tags;
    }
}
