<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Page\Http\CacheControl;
use Larder\Page\Http\HttpDate;
use Larder\Page\Http\NoVarySearch;
use Larder\Page\Http\SurrogateControl;
use Larder\System\Process;

/**
 * One request at the cache, and its response: answer() from what is stored, or let the application run with variables() and
 * conclude() with what it said.
 *
 * @phpstan-import-type Page from Serve
 * @phpstan-import-type Stored from Pages
 */
final class Exchange
{
    /** Methods that change nothing (RFC 9110, section 9.2.1; QUERY: RFC 10008). A response to any other one purges the URL. */
    private const SAFE = ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND', 'REPORT', 'SEARCH'];

    /** Seconds that a page with a validator is kept after its life: the application may confirm it. */
    private const CONFIRMABLE = 86_400;

    /** The field by which this server's own request proves that it may renew a page. */
    public const RENEWAL = 'HTTP_LARDER_RENEWAL';

    /** By this variable a page cache tells the ones behind it, in the same request, which key it records. */
    public const RECORDED = 'LARDER_RECORDED';

    /** Of so many visitors of a page that cannot be stored, one notes that again. */
    private const VISITORS = 16;

    /** Seconds to wait where the cache cannot note who builds. */
    private const UNASKED = 5.0;

    /** Microseconds between two looks of a waiting visitor. */
    private const FIRST_PAUSE = 2_000;
    private const LONGEST_PAUSE = 25_000;

    /** What asks the application for less than the whole page. */
    private const PARTIAL = ['HTTP_IF_NONE_MATCH', 'HTTP_IF_MODIFIED_SINCE', 'HTTP_IF_RANGE'];

    /** What tells caches behind this one how long a response is fresh. */
    private const OF_LIFE = ['cache-control', 'expires', 'pragma', 'cdn-cache-control', 'surrogate-control'];

    /** Set by answer() with a stale reply: the caller must see that the same request is made with this token. */
    public ?string $renewal = null;

    /** Whether the application's response may be stored, so that its body is wanted. */
    public bool $isRecorded = false;

    /** Set by conclude(): the visitor gets the stale page in the place of what the failing application said. */
    public bool $isSpared = false;

    /** For Cache-Status: why this cache did not answer, and for people the reason. */
    private string $forward = 'bypass';
    private string $detail = '';

    private readonly string $method;
    private readonly ?string $url;

    /** @var list<string> the origin of the URL, and the same with the server's own port or without one: how people and the application may call it */
    private readonly array $origins;
    private ?string $key = null;

    /** The key under which the last page was found, and whether there are variants under it. */
    private string $found = '';
    private bool $isVariant = false;

    /** The name of the page that answered. */
    private ?string $served = null;
    private bool $isBuilder = false;

    /** Whether the cache could be asked when the page was begun: else nothing tells what was purged since. */
    private bool $hasBegun = true;

    /** @var ?resource this server's own right to build, where the cache could not note one */
    private mixed $place = null;

    /** @var ?Stored a page that may not be served as it is: stale, or the visitor wants a newer one */
    private ?array $old = null;

    /** Whether the visitor wants a newer page than the old one, fresh or not (RFC 9111, section 5.2.1). */
    private bool $isRefused = false;

    /** @var array<string, string|true> the directives of the request's Cache-Control */
    private readonly array $control;

    /** @param array<array-key, mixed> $variables of the request, as in $_SERVER */
    public function __construct(
        private readonly Pages $pages,
        private readonly Settings $settings,
        private readonly array $variables,
    ) {
        Serve::of($variables);
        $this->method = Serve::variable('REQUEST_METHOD') ?? '';
        $this->control = $settings->rules['clientControl'] ? CacheControl::parse(Serve::variable('HTTP_CACHE_CONTROL') ?? '') : [];
        $this->url = Serve::url($settings->rules['ignoredQuery'], $reason);
        $this->origins = $this->url === null ? [] : self::origins($this->url);
        $this->detail = $reason ?? '';
    }

    /** @return list<string> */
    private static function origins(string $url): array
    {
        $origin = Tags::origin($url);
        $host = \strtolower((string) Serve::variable('HTTP_HOST'));
        $port = Serve::variable('SERVER_PORT') ?? '';
        // Without a port the URL has the server's already.
        $hasPort = \preg_match('/:[0-9]+$/D', $host) === 1;
        $other = $hasPort && $port !== '' ? \preg_replace('/:[0-9]+$/D', ":$port", $host) : $host;

        return \array_values(\array_unique([$origin, Tags::origin((string) Url::normal(\strstr($origin, '//', true) . "//$other/"))]));
    }

    /** What answers the request without the application; null: the application must run. */
    public function answer(): ?Reply
    {
        $reply = $this->serve() ?? $this->refuse();

        return $reply === null && $this->mayBuild() ? $this->build() : $reply;
    }

    /** What answer() does with this request now, for people. It changes nothing: it takes no lease, and waits for nobody. */
    public function explain(): Explanation
    {
        $reply = $this->serve();
        $stored = $this->key === null ? null : $this->look();
        $outcome = $reply !== null ? Outcome::Hit : ($this->refuse() !== null ? Outcome::Refused : null);
        if ($outcome === null && !$this->mayBuild()) {
            $outcome = Outcome::Passed;
        }
        $mark = $outcome === null ? $this->pages->mark((string) $this->key) : null;
        if ($mark !== null) {
            $this->detail = $mark;
        }
        $outcome ??= match (true) {
            $mark !== null => Outcome::Marked,
            $this->stale(false) !== null => Outcome::Stale,
            !$this->pages->isBuilt((string) $this->key) => Outcome::Built,
            default => self::isPrefetch() ? Outcome::Busy : Outcome::Waits,
        };

        if ($outcome === Outcome::Built) {
            $this->detail = $this->pages->refusal((string) $this->key) ?? '';
        }

        return new Explanation($outcome, $this->forward, $this->detail, $this->url, $this->key, $stored, $stored === null ? 0 : self::age($stored));
    }

    /** The fresh page that answers the request. */
    private function serve(): ?Reply
    {
        Serve::of($this->variables);
        if ($this->method !== 'GET' && $this->method !== 'HEAD') {
            $this->forward = 'method';

            return null;
        }
        $this->key = Serve::key($this->settings->rules, $reason);
        $this->detail = $reason ?? '';
        if ($this->key === null) {
            return null;
        }
        $stored = $this->look();
        $reply = $stored === null ? null : $this->fresh($stored);
        if ($reply === null) {
            $this->old = $stored;
            $this->forward = match (true) {
                $stored === null => $this->isVariant ? 'vary-miss' : 'uri-miss',
                $stored['isExpired'] || self::age($stored) >= $stored['page']['life'] => 'stale',
                default => 'request',
            };
            $this->isRefused = $this->forward === 'request' || isset($this->control['min-fresh'])
                || ($stored !== null && $this->settings->rules['clientControl'] && !Serve::accepts(self::age($stored), \PHP_INT_MAX, true));
        }

        return $reply;
    }

    /** The answer to a request that wants none of the application (RFC 9111, section 5.2.1.7). */
    private function refuse(): ?Reply
    {
        return $this->forward === 'method' || !isset($this->control['only-if-cached']) ? null
            : new Reply(504, ['Cache-Control: no-store', 'Content-Length: 0', 'Cache-Status: Larder; detail="only-if-cached"']);
    }

    /** Whether the application is asked for a page that may be stored. */
    private function mayBuild(): bool
    {
        if ($this->key === null || $this->method !== 'GET') {
            return false;
        }
        $this->detail = match (true) {
            // It would wait for itself, or be renewed with the stale page.
            ($this->variables[self::RECORDED] ?? null) === $this->key => 'a page cache before this one records it',
            isset($this->control['no-store']) => 'the request says no-store',
            Serve::variable('HTTP_RANGE') !== null => 'the request asks for a part',
            // No cache may judge these (RFC 9111, section 4.3.2).
            Serve::variable('HTTP_IF_MATCH') !== null || Serve::variable('HTTP_IF_UNMODIFIED_SINCE') !== null => 'the request has a condition that only the application may judge',
            ($ignored = Ignored::reason($this->settings->rules)) !== '' => $ignored,
            default => Unkeyed::reason($this->settings->rules, $this->variables) ?? '',
        };

        return $this->detail === '';
    }

    /**
     * The request's variables as the application gets them. It is asked for the whole page, or whether the stored one is still
     * right; and without the cookies, parameters and fields that are ignored, for nothing of them may come into the page.
     *
     * @return array<array-key, mixed>
     */
    public function variables(): array
    {
        $variables = $this->variables;
        unset($variables[self::RENEWAL]);
        if (!$this->isRecorded) {
            return $variables;
        }
        foreach (self::PARTIAL as $name) {
            unset($variables[$name]);
        }
        if ($this->settings->rules['ignoredFields'] !== []) {
            $variables = \array_filter($variables, fn(int|string $name): bool => !Serve::matches((string) $name, $this->settings->rules['ignoredFields']), \ARRAY_FILTER_USE_KEY);
        }
        $variables[self::RECORDED] = $this->key;
        $capabilities = Serve::field('surrogate-capability');
        $variables['HTTP_SURROGATE_CAPABILITY'] = ($capabilities === null ? '' : "$capabilities, ") . SurrogateControl::CAPABILITY;
        $page = $this->old['page'] ?? null;
        if ($page !== null && $page['asked'] !== '' && $this->isAsked($page)) {
            $variables['HTTP_IF_NONE_MATCH'] = $page['asked'];
        }
        if ($page !== null && $page['modified'] !== 0 && $this->isAsked($page)) {
            $variables['HTTP_IF_MODIFIED_SINCE'] = HttpDate::format($page['modified']);
        }
        $cookies = \array_filter(
            \explode(';', Serve::variable('HTTP_COOKIE') ?? ''),
            fn(string $cookie): bool => \trim($cookie) !== '' && !Serve::matches(\explode('=', \trim($cookie), 2)[0], $this->settings->rules['ignoredCookies']),
        );
        $variables['HTTP_COOKIE'] = \trim(\implode(';', $cookies));
        if ($variables['HTTP_COOKIE'] === '') {
            unset($variables['HTTP_COOKIE']);
        }
        if ($this->settings->rules['ignoredQuery'] !== []) {
            $target = \explode('?', (string) Serve::variable('REQUEST_URI'), 2);
            $query = isset($target[1]) ? \ltrim(Serve::query($target[1], $this->settings->rules['ignoredQuery']), '?') : '';
            $variables['QUERY_STRING'] = $query;
            $variables['REQUEST_URI'] = $target[0] . ($query === '' ? '' : "?$query");
        }

        return $variables;
    }

    /**
     * Stores the application's response if it may be stored.
     *
     * @param list<string> $tags   of the page, besides those in its header
     * @param string       $broken why the response is not whole; '': it is
     * @param string       $unfit  why it may not be stored, whole as it is; '': nothing speaks against it
     *
     * @return Reply what the visitor gets
     */
    public function conclude(Reply $response, array $tags = [], string $broken = '', string $unfit = ''): Reply
    {
        Serve::of($this->variables);
        $fields = $response->fields();
        if (!\in_array($this->method, self::SAFE, true)) {
            $this->invalidate($response->status, $fields);
        }
        if (!$this->isRecorded || $this->key === null || $this->url === null) {
            return $this->passed($response, $this->detail);
        }
        try {
            return $this->record($this->key, $this->url, $response, $fields, $tags, $broken, $unfit);
        } finally {
            $this->giveUp();
        }
    }

    /** Makes this request itself the one that renews the stale page it was answered with. */
    public function renew(): void
    {
        Serve::of($this->variables);
        $this->isBuilder = true;
        $this->isRecorded = true;
        $this->pages->refresh();
        // A view begins with a read: what is purged after it counts against the page.
        $this->look();
        $this->hasBegun = !$this->pages->isDown();
    }

    /** After a fresh page was sent: lets larder-serve.php send it next time. */
    public function copy(): void
    {
        if ($this->served !== null && $this->found === $this->key) {
            $this->pages->copy($this->found, $this->served);
        }
    }

    /** Whether the request with the token has come to this cache; another server may have answered it, or nobody. */
    public function isHandedOver(): bool
    {
        return !$this->pages->holds((string) $this->key, (string) $this->renewal);
    }

    /** Lets others build: this request will not conclude. */
    public function giveUp(): void
    {
        $this->place === null || \fclose($this->place);
        $this->place = null;
        if (($this->isBuilder || $this->renewal !== null) && $this->key !== null) {
            $this->isBuilder = false;
            $this->pages->release($this->key);
        }
    }

    /**
     * The page of this request's key, or of the key that a No-Vary-Search rule makes of it.
     *
     * @return ?Stored
     */
    private function look(): ?array
    {
        $this->found = (string) $this->key;
        $stored = $this->pages->find($this->found, $this->isVariant);
        $rule = $stored === null ? $this->pages->search(\explode('?', (string) $this->url, 2)[0]) : null;
        if ($rule !== null) {
            $this->found = $this->keyBy($rule);
            $stored = $this->pages->find($this->found, $this->isVariant);
        }

        return $stored;
    }

    /** The key of all requests that are the same by a rule. */
    private function keyBy(NoVarySearch $rule): string
    {
        [$asked, $rest] = \explode("\n", (string) $this->key, 2) + [1 => ''];

        return $rule->url($asked) . ($rest === '' ? '' : "\n$rest");
    }

    /** @param Stored $stored */
    private static function age(array $stored): int
    {
        return $stored['page']['age'] + \max(0, \time() - $stored['page']['made']);
    }

    /** @param Stored $stored */
    private function fresh(array $stored): ?Reply
    {
        $page = $stored['page'];
        $age = self::age($stored);
        $isAccepted = $this->settings->rules['clientControl'] ? Serve::accepts($age, $page['life'], $page['strict']) : $age < $page['life'];
        if (!$isAccepted || $stored['isExpired']) {
            return null;
        }
        $this->served = $stored['name'];

        return self::from($stored, $age, 'hit');
    }

    /**
     * The old page, if it may be served although it is stale.
     *
     * @param bool $failed whether the application has failed (RFC 5861, section 4), and is not only slow (section 3)
     */
    private function stale(bool $failed, string $how = 'hit'): ?Reply
    {
        if ($this->old === null || $this->isRefused) {
            return null;
        }
        $page = $this->old['page'];
        $age = self::age($this->old);
        $isServed = $age < $page['life'] + ($failed ? $page['broken'] : $page['stale']);
        if ($this->old['isExpired'] && $age < $page['life']) {
            // It has no life left, whatever its age; and caches behind know nothing but its age.
            $page['life'] = $age;
            $page['headers'] = [...Reply::without($page['headers'], self::OF_LIFE), 'Cache-Control: no-cache'];
        }

        return $isServed ? self::from(['page' => $page] + $this->old, $age, $how) : null;
    }

    /** @param Stored $stored */
    private static function from(array $stored, int $age, string $how): Reply
    {
        [$status, $lines, $from, $length] = Serve::reply($stored['page'], $age, $how);

        return new Reply($status, $lines, Serve::variable('REQUEST_METHOD') === 'HEAD' ? '' : \substr($stored['body'], $from, $length));
    }

    /** One request builds a page; the others wait for it, get the stale one, or do not wait because that was in vain last time. */
    private function build(): ?Reply
    {
        $key = (string) $this->key;
        $this->isRecorded = true;
        $token = Serve::variable(self::RENEWAL);
        if ($token !== null && $this->pages->takeOver($key, $token)) {
            $this->isBuilder = true;

            return $this->begin();
        }
        $this->detail = $this->pages->mark($key) ?? '';
        if ($this->detail !== '') {
            return null;
        }
        if (self::isPrefetch()) {
            // Nobody waits for the page that a browser guesses its user might want, and that page waits for nobody.
            return $this->stale(false) ?? ($this->pages->isBuilt($key) ? self::busy() : null);
        }
        $stale = $this->stale(false);
        if ($stale !== null) {
            $token = \bin2hex(\random_bytes(16));
            if ($this->pages->canRenew() && $this->pages->take($key, $token) === true) {
                $this->renewal = $token;
            } elseif ($this->pages->take($key) === true) {
                $this->isBuilder = true;

                return $this->begin();
            }

            return $stale;
        }
        $taken = $this->pages->take($key);
        $this->isBuilder = $taken === true;

        return match ($taken) {
            true => $this->begin(),
            false => $this->await($key),
            null => $this->unasked($key),
        };
    }

    /**
     * The cache cannot note who builds. Where it can be read, another process has been writing to it for too long: one process
     * of this server builds, and the others wait a little until it can be written. Where they have waited in vain, nobody does
     * for a while, and nobody waits for a cache that cannot be read.
     */
    private function unasked(string $key): ?Reply
    {
        $this->pages->retry();
        $reply = $this->begin();
        if ($reply !== null || !$this->hasBegun) {
            return $reply;
        }
        $end = \hrtime(true) + (int) (\min(self::UNASKED, $this->settings->wait) * 1e9);
        do {
            $mayBuild = $this->pages->mayBuildHere($key, $this->place);
            $mayBuild || Process::pause(\random_int(self::LONGEST_PAUSE, 2 * self::LONGEST_PAUSE));
            // It may have been busy for a moment only, in which another process took the right.
            $this->pages->retry();
            $taken = $this->place === null && $mayBuild ? ($this->pages->isBuilt($key) ? false : null) : $this->pages->take($key);
            if ($taken !== null) {
                $this->giveUp();
                $this->isBuilder = $taken;

                return $taken ? $this->begin() : $this->await($key);
            }
        } while (!$mayBuild && \hrtime(true) < $end);
        $mayBuild || $this->pages->noteUnshared();

        return $this->begin();
    }

    /**
     * From here on what others purge counts against the page that is built: from the look on, for a view begins with a read.
     * Somebody may have stored the page just before.
     */
    private function begin(): ?Reply
    {
        $this->pages->refresh();
        $stored = $this->look();
        $this->hasBegun = !$this->pages->isDown();
        $reply = $stored === null ? null : $this->fresh($stored);
        if ($reply !== null) {
            $this->giveUp();
            $this->isRecorded = false;
        } elseif ($this->isBuilder && $this->settings->isBusy && $this->settings->waiters === null) {
            $this->pages->notePool();
        }

        return $reply;
    }

    private function await(string $key): ?Reply
    {
        $place = $this->settings->isBusy ? $this->pages->place($this->settings->waiters) : true;
        if ($place === null) {
            return self::busy();
        }
        $end = \hrtime(true) + (int) ($this->settings->wait * 1e9);
        $pause = self::FIRST_PAUSE;
        while (\hrtime(true) < $end) {
            Process::pause(\random_int($pause >> 1, $pause));
            $pause = \min(self::LONGEST_PAUSE, $pause * 2);
            if ($this->pages->isBuilt($key)) {
                continue;
            }
            $this->pages->refresh();
            $stored = $this->look();
            $reply = $stored === null ? null : $this->fresh($stored);
            if ($reply !== null) {
                return $reply;
            }
            $this->detail = $this->pages->mark($key) ?? '';
            if ($this->detail !== '') {
                return null;
            }
            $taken = $this->pages->take($key);
            if ($taken !== false) {
                $this->isBuilder = $taken === true;

                return $taken === null ? $this->unasked($key) : $this->begin();
            }
        }

        return $this->begin() ?? $this->stale(true);
    }

    /** Our only 5xx. A browser tries again by itself. */
    private static function busy(): Reply
    {
        $body = "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=2><title>One moment</title><p>This page is being made. It appears here in a moment.</p>\n";

        return new Reply(503, ['Content-Type: text/html; charset=utf-8', 'Retry-After: 2', 'Cache-Control: no-store', 'Cache-Status: Larder; detail="busy"', 'Content-Length: ' . \strlen($body)], $body);
    }

    private static function isPrefetch(): bool
    {
        return \stripos((Serve::field('sec-purpose') ?? '') . ' ' . (Serve::field('purpose') ?? '') . ' ' . (Serve::field('x-moz') ?? ''), 'prefetch') !== false;
    }

    /**
     * @param array<string, list<string>> $fields
     * @param list<string>                $tags
     */
    private function record(string $key, string $url, Reply $response, array $fields, array $tags, string $broken, string $unfit): Reply
    {
        $status = $response->status;
        if ($broken !== '' || $status >= 500) {
            $stale = $this->stale(true, "fwd=stale; fwd-status=$status");
            if ($stale !== null) {
                $this->isSpared = true;

                return $stale;
            }
        }
        $page = $this->old['page'] ?? null;
        if ($status === 304) {
            if ($page === null || $this->old === null || !$this->isConfirmed($page, $fields)) {
                return $this->unconfirmed($response);
            }
            $response = ValidatedPage::by($response, $page, $this->old['body']);
            $fields = $response->fields();
        }
        $policy = Policy::of($response->status, $fields, \time(), $this->settings->ttl, $this->settings->stale);
        $tags = Tags::check([...$tags, ...Tags::of($fields)]);
        $reason = match (true) {
            $broken . $unfit !== '' => $broken . $unfit,
            $policy->reason !== '' => $policy->reason,
            $response->body === '' && $response->status === 200 => 'it is empty',
            \strlen($response->body) > $this->settings->largest => 'it is longer than ' . $this->settings->largest . ' bytes',
            !ResponseEncoder::fitsMemory(\strlen($response->body)) => ResponseEncoder::NO_MEMORY,
            $tags === null => 'it has too many tags, or too long ones',
            $this->leadsToItself($response->status, $fields, $url) => 'it leads to the same URL of another scheme or port',
            $status >= 500 && $page !== null && $page['status'] < 500 => 'an error does not replace a page',
            default => '',
        };
        if ($reason !== '') {
            if ($page !== null && $status < 500 && $broken === '' && $this->forward !== 'request') {
                // What takes the place of the stored page is none that may be stored.
                $this->pages->remove($this->found);
            }
            // A known mark is renewed by one visitor in some, so that the others write nothing.
            if ($this->detail !== $reason || \mt_rand(1, self::VISITORS) === 1) {
                $this->pages->setMark($key, $reason);
                $this->noteOptions();
            }

            return $this->passed($broken === '' ? $response : new Reply($status, [...Reply::without($response->lines, ['cache-control', 'expires']), 'Cache-Control: no-store'], $response->body), $reason);
        }
        $this->noteOptions();
        $rule = NoVarySearch::parse($fields['no-vary-search'] ?? []);
        if ($rule !== null) {
            $this->pages->setSearch(\explode('?', $url, 2)[0], $rule);
        }
        $made = ResponseEncoder::page($response, $fields, $policy, $this->settings->rules['ignoredQuery'], $url, $vary);
        $urls = [Tags::url($url), Tags::url(\substr($url, \strlen(Tags::origin($url)))), ...($rule === null ? [] : [Tags::url($rule->url($url))])];
        $groups = \array_map(static fn(string $group): string => Tags::group(Tags::origin($url), $group), Tags::groups($fields, 'cache-groups'));
        $keep = \max(1, $policy->life - $policy->age) + \max($policy->stale, $policy->broken, $made['page']['asked'] !== '' || $made['page']['modified'] !== 0 ? self::CONFIRMABLE : 0);
        $this->place === null || $this->pages->retry();
        $refusal = !$this->hasBegun ? Pages::UNWRITTEN : $this->pages->store($rule === null ? $key : $this->keyBy($rule), $made['page'], $made['body'], $vary, [...$urls, ...$groups, ...$tags], $keep);
        if ($refusal !== '') {
            $this->pages->setRefusal($key, $refusal);
        } elseif ($this->detail !== '') {
            $this->pages->removeMark($key);
        }

        return self::from($made + ['isExpired' => false, 'name' => $key], $policy->age === 0 ? -1 : $policy->age, "fwd=$this->forward" . ($status === $response->status ? '' : "; fwd-status=$status") . ($refusal === '' ? '; stored' : self::detail($refusal)));
    }

    /**
     * Whether the application is asked if the page is still right. Not if the visitor asks of another page: an application
     * that reads his fields elsewhere than in $_SERVER answers him, and nobody could tell whose question a 304 answers.
     *
     * @param Page $page
     */
    private function isAsked(array $page): bool
    {
        $tag = Serve::variable('HTTP_IF_NONE_MATCH');
        $since = Serve::variable('HTTP_IF_MODIFIED_SINCE');

        return match (true) {
            $tag !== null => \in_array(\trim($tag), Serve::tags($page), true),
            $since !== null => $page['modified'] !== 0 && HttpDate::parse($since) === $page['modified'],
            default => true,
        };
    }

    /**
     * Whether a 304 confirms the stored page (RFC 9111, section 4.3.4): it has the page's validator, or none.
     *
     * @param Page                        $page
     * @param array<string, list<string>> $fields
     */
    private function isConfirmed(array $page, array $fields): bool
    {
        return match (true) {
            isset($fields['etag']) => $fields['etag'] === [$page['asked']],
            isset($fields['last-modified']) => $this->isAsked($page) && HttpDate::parse($fields['last-modified'][0]) === $page['modified'],
            default => $this->isAsked($page),
        };
    }

    /**
     * A 304 that confirms no stored page answers a visitor who asked for it. Another one needs a page, and the application
     * cannot run again: he gets the stored one, for the application was asked of it and says that nothing has changed. The
     * 304 updates nothing (RFC 9111, section 4.3.4), and the next request asks without a condition.
     */
    private function unconfirmed(Reply $response): Reply
    {
        if ($this->old === null) {
            return $this->passed($response, '');
        }
        $this->pages->remove($this->found);
        if (Serve::variable('HTTP_IF_NONE_MATCH') !== null || Serve::variable('HTTP_IF_MODIFIED_SINCE') !== null) {
            return $this->passed($response, '');
        }

        return self::from($this->old, self::age($this->old), "fwd=$this->forward; fwd-status=304");
    }

    /** Whether a response with this header may be stored, if it is whole. */
    public function mayStore(Reply $head): bool
    {
        return $this->isRecorded && Policy::of($head->status, $head->fields(), \time(), $this->settings->ttl, $this->settings->stale)->reason === '';
    }

    /** The application's response as it is, while nobody knows yet whether it will be stored. */
    public function pass(Reply $response): Reply
    {
        return $this->passed($response, $this->detail);
    }

    private function passed(Reply $response, string $detail): Reply
    {
        return new Reply($response->status, [...Reply::outward($response->lines), "Cache-Status: Larder; fwd=$this->forward" . ($detail === '' ? '' : self::detail($detail))], $response->body);
    }

    private static function detail(string $detail): string
    {
        return '; detail="' . \addcslashes((string) \preg_replace('/[^\x20-\x7E]/', '?', $detail), '"\\') . '"';
    }

    /**
     * Whether a redirect leads to its own URL, but for scheme and port. The application may have made it because of a Host or
     * scheme that it alone sees, as it does behind a proxy: all who share the page would be led around in a circle.
     *
     * @param array<string, list<string>> $fields
     */
    private function leadsToItself(int $status, array $fields, string $url): bool
    {
        $to = $status < 300 || $status >= 400 || !isset($fields['location']) ? null : Url::resolve($fields['location'][0], $url);
        $bare = static fn(string $url): string => (string) \preg_replace('~^https?://([^/?]*?)(?::[0-9]+)?(?=[/?]|$)~', '$1', $url);

        return $to !== null && $bare(Url::without($to, $this->settings->rules['ignoredQuery'])) === $bare($url);
    }

    /**
     * Removes what a successful request with an unsafe method has changed (RFC 9111, section 4.4; RFC 9875, section 3).
     *
     * @param array<string, list<string>> $fields
     */
    private function invalidate(int $status, array $fields): void
    {
        if ($status < 200 || $status >= 400 || $this->url === null) {
            return;
        }
        $tags = $this->pages->tagsOf($this->url);
        foreach ([...$fields['location'] ?? [], ...$fields['content-location'] ?? []] as $reference) {
            $url = Url::resolve($reference, $this->url);
            // Another origin's pages are none of its business.
            if ($url !== null && \in_array(Tags::origin($url), $this->origins, true)) {
                $tags = [...$tags, ...$this->pages->tagsOf(Url::without($url, $this->settings->rules['ignoredQuery']))];
            }
        }
        foreach (Tags::groups($fields, 'cache-group-invalidation') as $group) {
            $tags[] = Tags::group($this->origins[0], $group);
        }
        $this->pages->purge($tags);
    }

    /** For the command line, under whatever name of the site it asks. */
    private function noteOptions(): void
    {
        $names = ['HTTP_HOST', 'SERVER_PORT', 'SERVER_NAME'];
        $server = \array_combine($names, \array_map(static fn(string $name): string => Serve::variable($name) ?? '', $names));
        foreach ($this->origins as $origin) {
            $this->pages->noteOptions($origin, $this->settings->given, $server);
        }
    }
}
