<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Page\Http\HttpDate;
use Larder\Page\Http\NoVarySearch;
use Larder\Page\Http\SurrogateControl;

/**
 * What the application is asked for a page, and what becomes of its response: it is stored, or the visitor gets the stale page in
 * its place, or all as it is. A response to a request that may have changed something purges its URL.
 *
 * @phpstan-import-type Page from StoredReply
 */
final class Recording
{
    /** Methods that change nothing (RFC 9110, section 9.2.1; QUERY: RFC 10008). A response to any other one purges the URL. */
    private const SAFE = ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND', 'REPORT', 'SEARCH'];

    /** Seconds that a page with a validator is kept after its life: the application may confirm it. */
    private const CONFIRMABLE = 86_400;

    /** Of so many visitors of a page that cannot be stored, one notes that again. */
    private const VISITORS = 16;

    /** What asks the application for less than the whole page. */
    private const PARTIAL = ['HTTP_IF_NONE_MATCH', 'HTTP_IF_MODIFIED_SINCE', 'HTTP_IF_RANGE'];

    /** @var list<string> the origin of the URL, and the same with the server's own port or without one: how people and the application may call it */
    private readonly array $origins;

    public function __construct(private readonly Pages $pages, private readonly Settings $settings, private readonly Serving $serving)
    {
        RequestKey::of($serving->variables);
        $this->origins = $serving->url === null ? [] : self::origins($serving->url);
    }

    /** @return list<string> */
    private static function origins(string $url): array
    {
        $origin = Tags::origin($url);
        $host = \strtolower((string) RequestKey::variable('HTTP_HOST'));
        $port = RequestKey::variable('SERVER_PORT') ?? '';
        // Without a port the URL has the server's already.
        $hasPort = \preg_match('/:[0-9]+$/D', $host) === 1;
        $other = $hasPort && $port !== '' ? \preg_replace('/:[0-9]+$/D', ":$port", $host) : $host;

        return \array_values(\array_unique([$origin, Tags::origin((string) Url::normal(\strstr($origin, '//', true) . "//$other/"))]));
    }

    /**
     * The request's variables as the application gets them. It is asked for the whole page, or whether the stored one is still
     * right; and without the cookies, parameters and fields that are ignored, for nothing of them may come into the page.
     *
     * @return array<array-key, mixed>
     */
    public function variables(): array
    {
        $variables = $this->serving->variables;
        unset($variables[Exchange::RENEWAL]);
        foreach (self::PARTIAL as $name) {
            unset($variables[$name]);
        }
        if ($this->settings->rules['ignoredFields'] !== []) {
            $variables = \array_filter($variables, fn(int|string $name): bool => !RequestKey::matches((string) $name, $this->settings->rules['ignoredFields']), \ARRAY_FILTER_USE_KEY);
        }
        $variables[Exchange::RECORDED] = $this->serving->key;
        $capabilities = RequestKey::field('surrogate-capability');
        $variables['HTTP_SURROGATE_CAPABILITY'] = ($capabilities === null ? '' : "$capabilities, ") . SurrogateControl::CAPABILITY;
        $page = $this->serving->old['page'] ?? null;
        if ($page !== null && $page['asked'] !== '' && $this->isAsked($page)) {
            $variables['HTTP_IF_NONE_MATCH'] = $page['asked'];
        }
        if ($page !== null && $page['modified'] !== 0 && $this->isAsked($page)) {
            $variables['HTTP_IF_MODIFIED_SINCE'] = HttpDate::format($page['modified']);
        }
        $cookies = \array_filter(
            \explode(';', RequestKey::variable('HTTP_COOKIE') ?? ''),
            fn(string $cookie): bool => \trim($cookie) !== '' && !RequestKey::matches(\explode('=', \trim($cookie), 2)[0], $this->settings->rules['ignoredCookies']),
        );
        $variables['HTTP_COOKIE'] = \trim(\implode(';', $cookies));
        if ($variables['HTTP_COOKIE'] === '') {
            unset($variables['HTTP_COOKIE']);
        }
        if ($this->settings->rules['ignoredQuery'] !== []) {
            $target = \explode('?', (string) RequestKey::variable('REQUEST_URI'), 2);
            $query = isset($target[1]) ? \ltrim(RequestKey::query($target[1], $this->settings->rules['ignoredQuery']), '?') : '';
            $variables['QUERY_STRING'] = $query;
            $variables['REQUEST_URI'] = $target[0] . ($query === '' ? '' : "?$query");
        }

        return $variables;
    }

    /**
     * Stores the response to a request that has a key, if it may be stored.
     *
     * @param array<string, list<string>> $fields
     * @param list<string>                $tags
     * @param string                      $broken   why the response is not whole
     * @param string                      $unfit    why it may not be stored, whole as it is
     * @param bool                        $hasBegun false: nothing tells what was purged since the page was begun
     * @param bool                        $isAlone  this process builds without having noted it, since the cache could not be written
     */
    public function record(Reply $response, array $fields, array $tags, string $broken, string $unfit, bool $hasBegun, bool $isAlone): Reply
    {
        $serving = $this->serving;
        $status = $response->status;
        $page = $serving->old['page'] ?? null;
        if ($status === 304) {
            if ($page === null || !$this->isConfirmed($page, $fields)) {
                return $this->unconfirmed($response);
            }
            $response = ValidatedPage::by($response, $page, $serving->old['body'] ?? '');
            $fields = $response->fields();
        }
        $policy = Policy::of($response->status, $fields, \time(), $this->settings->ttl, $this->settings->stale);
        $tags = Tags::check([...$tags, ...Tags::of($fields)]);
        $reason = $broken . $unfit !== '' ? $broken . $unfit : $this->reason($response, $fields, $policy);
        $reason = match (true) {
            $reason !== '' => $reason,
            $tags === null => 'it has too many tags, or too long ones',
            $status >= 500 && $page !== null && $page['status'] < 500 => 'an error does not replace a page',
            default => '',
        };
        if ($reason !== '') {
            if ($page !== null && $status < 500 && $broken === '' && $serving->forward !== 'request') {
                // What takes the place of the stored page is none that may be stored.
                $this->pages->remove($serving->found);
            }
            // A known mark is renewed by one visitor in some, so that the others write nothing.
            if ($serving->detail !== $reason || \mt_rand(1, self::VISITORS) === 1) {
                $this->pages->notes()->setMark((string) $serving->key, $reason);
                $this->noteOptions();
            }

            return $this->passed($broken === '' ? $response : new Reply($status, [...Reply::without($response->lines, ['cache-control', 'expires']), 'Cache-Control: no-store'], $response->body), $reason);
        }
        $this->noteOptions();

        return $this->store($response, $fields, $policy, $tags, $status, $hasBegun, $isAlone);
    }

    /**
     * Why a whole response may not be stored; '': it may be.
     *
     * @param array<string, list<string>> $fields
     */
    private function reason(Reply $response, array $fields, Policy $policy): string
    {
        return match (true) {
            $policy->reason !== '' => $policy->reason,
            $response->body === '' && $response->status === 200 => 'it is empty',
            \strlen($response->body) > $this->settings->largest => 'it is longer than ' . $this->settings->largest . ' bytes',
            !ResponseEncoder::fitsMemory(\strlen($response->body)) => ResponseEncoder::NO_MEMORY,
            $this->leadsToItself($response->status, $fields, (string) $this->serving->url) => 'it leads to the same URL of another scheme or port',
            default => '',
        };
    }

    /**
     * @param array<string, list<string>> $fields
     * @param list<string>                $tags
     * @param int                         $status of what the application said: 304 if it has confirmed the response
     */
    private function store(Reply $response, array $fields, Policy $policy, array $tags, int $status, bool $hasBegun, bool $isAlone): Reply
    {
        $serving = $this->serving;
        [$key, $url] = [(string) $serving->key, (string) $serving->url];
        $rule = NoVarySearch::parse($fields['no-vary-search'] ?? []);
        if ($rule !== null) {
            $this->pages->notes()->setSearch(\explode('?', $url, 2)[0], $rule);
        }
        $made = ResponseEncoder::page($response, $fields, $policy, $this->settings->rules['ignoredQuery'], $url, $vary);
        $origin = Tags::origin($url);
        $urls = [Tags::url($url), Tags::url(\substr($url, \strlen($origin))), ...($rule === null ? [] : [Tags::url($rule->url($url))])];
        $groups = \array_map(static fn(string $group): string => Tags::group($origin, $group), Tags::groups($fields, 'cache-groups'));
        $keep = \max(1, $policy->life - $policy->age) + \max($policy->stale, $policy->broken, $made['page']['asked'] !== '' || $made['page']['modified'] !== 0 ? self::CONFIRMABLE : 0);
        $isAlone && $this->pages->retry();
        $refusal = !$hasBegun ? Pages::UNWRITTEN : $this->pages->store($rule === null ? $key : $serving->keyBy($rule), $made['page'], $made['body'], $vary, [...$urls, ...$groups, ...$tags], $keep);
        if ($refusal !== '') {
            $this->pages->notes()->setRefusal($key, $refusal);
        } elseif ($serving->detail !== '') {
            $this->pages->notes()->removeMark($key);
        }
        $how = "fwd=$serving->forward" . ($status === $response->status ? '' : "; fwd-status=$status") . ($refusal === '' ? '; stored' : self::detail($refusal));

        return Serving::from($made + ['isExpired' => false, 'name' => $key], $policy->age === 0 ? -1 : $policy->age, $how);
    }

    /**
     * Whether the application is asked if the page is still right. Not if the visitor asks of another page: an application
     * that reads the visitor's fields elsewhere than in $_SERVER answers them, and whose question a 304 answers could not be told.
     *
     * @param Page $page
     */
    private function isAsked(array $page): bool
    {
        $tag = RequestKey::variable('HTTP_IF_NONE_MATCH');
        $since = RequestKey::variable('HTTP_IF_MODIFIED_SINCE');

        return match (true) {
            $tag !== null => \in_array(\trim($tag), StoredReply::tags($page), true),
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
        if ($this->serving->old === null) {
            return $this->passed($response, '');
        }
        $this->pages->remove($this->serving->found);
        if (RequestKey::variable('HTTP_IF_NONE_MATCH') !== null || RequestKey::variable('HTTP_IF_MODIFIED_SINCE') !== null) {
            return $this->passed($response, '');
        }

        return Serving::from($this->serving->old, Serving::age($this->serving->old), "fwd={$this->serving->forward}; fwd-status=304");
    }

    /** The application's response as it is. */
    public function passed(Reply $response, string $detail): Reply
    {
        return new Reply($response->status, [...Reply::outward($response->lines), "Cache-Status: Larder; fwd={$this->serving->forward}" . ($detail === '' ? '' : self::detail($detail))], $response->body);
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
    public function purge(int $status, array $fields): void
    {
        if (\in_array($this->serving->method, self::SAFE, true) || $status < 200 || $status >= 400 || $this->serving->url === null) {
            return;
        }
        $tags = $this->pages->purge()->tagsOf($this->serving->url);
        foreach ([...$fields['location'] ?? [], ...$fields['content-location'] ?? []] as $reference) {
            $url = Url::resolve($reference, $this->serving->url);
            // Another origin's pages are none of its business.
            if ($url !== null && \in_array(Tags::origin($url), $this->origins, true)) {
                $tags = [...$tags, ...$this->pages->purge()->tagsOf(Url::without($url, $this->settings->rules['ignoredQuery']))];
            }
        }
        foreach (Tags::groups($fields, 'cache-group-invalidation') as $group) {
            $tags[] = Tags::group($this->origins[0], $group);
        }
        $this->pages->purge()->remove($tags);
    }

    /** For the command line, under whatever name of the site it asks. */
    private function noteOptions(): void
    {
        $names = ['HTTP_HOST', 'SERVER_PORT', 'SERVER_NAME'];
        $server = \array_combine($names, \array_map(static fn(string $name): string => RequestKey::variable($name) ?? '', $names));
        foreach ($this->origins as $origin) {
            $this->pages->notes()->noteOptions($origin, $this->settings->given, $server);
        }
    }
}
