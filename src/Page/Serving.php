<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Page\Http\CacheControl;
use Larder\Page\Http\NoVarySearch;

/**
 * One request at the store: which stored page answers it, fresh or stale. This is all that a hit needs; what else becomes of a
 * request is Exchange's affair.
 *
 * @phpstan-import-type Stored from Pages
 */
final class Serving
{
    /** What tells caches behind this one how long a response is fresh. */
    private const OF_LIFE = ['cache-control', 'expires', 'pragma', 'cdn-cache-control', 'surrogate-control'];

    /** For Cache-Status: why this cache did not answer, and for people the reason. */
    public string $forward = 'bypass';
    public string $detail = '';

    public readonly string $method;
    public readonly ?string $url;
    public ?string $key = null;

    /** The key under which the last page was found, and whether there are variants under it. */
    public string $found = '';
    private bool $isVariant = false;

    /** The name of the page that answered. */
    private ?string $served = null;

    /** @var ?Stored a page that may not be served as it is: stale, or the visitor wants a newer one */
    public ?array $old = null;

    /** Whether the visitor wants a newer page than the old one, fresh or not (RFC 9111, section 5.2.1). */
    private bool $isRefused = false;

    /** @var array<string, string|true> the directives of the request's Cache-Control */
    public readonly array $control;

    /** @param array<array-key, mixed> $variables of the request, as in $_SERVER */
    public function __construct(
        private readonly Pages $pages,
        private readonly Settings $settings,
        public readonly array $variables,
    ) {
        RequestKey::of($variables);
        $this->method = RequestKey::variable('REQUEST_METHOD') ?? '';
        $control = $settings->rules['clientControl'] ? RequestKey::variable('HTTP_CACHE_CONTROL') : null;
        $this->control = $control === null ? [] : CacheControl::parse($control);
        $this->url = RequestKey::url($settings->rules['ignoredQuery'], $reason);
        $this->detail = $reason ?? '';
    }

    /** What answers the request from the store; null: the application is asked. */
    public function answer(): ?Reply
    {
        return $this->serve() ?? $this->refuse();
    }

    /** The fresh page that answers the request. */
    public function serve(): ?Reply
    {
        RequestKey::of($this->variables);
        if ($this->method !== 'GET' && $this->method !== 'HEAD') {
            $this->forward = 'method';

            return null;
        }
        $this->key = RequestKey::key($this->settings->rules, $reason, $this->url);
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
                || ($stored !== null && $this->settings->rules['clientControl'] && !StoredReply::accepts(self::age($stored), \PHP_INT_MAX, true));
        }

        return $reply;
    }

    /** The answer to a request that wants none of the application (RFC 9111, section 5.2.1.7). */
    public function refuse(): ?Reply
    {
        return $this->forward === 'method' || !isset($this->control['only-if-cached']) ? null
            : new Reply(504, ['Cache-Control: no-store', 'Content-Length: 0', 'Cache-Status: Larder; detail="only-if-cached"']);
    }

    /** After a fresh page was sent: lets larder-serve.php send it next time. */
    public function copy(): void
    {
        if ($this->served !== null && $this->found === $this->key) {
            $this->pages->copy($this->found, $this->served);
        }
    }

    /**
     * The page of this request's key, or of the key that a No-Vary-Search rule makes of it.
     *
     * @return ?Stored
     */
    public function look(): ?array
    {
        $this->found = (string) $this->key;
        $stored = $this->pages->find($this->found, $this->isVariant);
        $rule = $stored === null ? $this->pages->notes()->search(\explode('?', (string) $this->url, 2)[0]) : null;
        if ($rule !== null) {
            $this->found = $this->keyBy($rule);
            $stored = $this->pages->find($this->found, $this->isVariant);
        }

        return $stored;
    }

    /** The key of all requests that are the same by a rule. */
    public function keyBy(NoVarySearch $rule): string
    {
        [$asked, $rest] = \explode("\n", (string) $this->key, 2) + [1 => ''];

        return $rule->url($asked) . ($rest === '' ? '' : "\n$rest");
    }

    /** @param Stored $stored */
    public static function age(array $stored): int
    {
        return $stored['page']['age'] + \max(0, \time() - $stored['page']['made']);
    }

    /** @param Stored $stored */
    public function fresh(array $stored): ?Reply
    {
        $page = $stored['page'];
        $age = self::age($stored);
        $isAccepted = $this->settings->rules['clientControl'] ? StoredReply::accepts($age, $page['life'], $page['strict']) : $age < $page['life'];
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
    public function stale(bool $failed, string $how = 'hit'): ?Reply
    {
        if ($this->old === null || $this->isRefused) {
            return null;
        }
        $page = $this->old['page'];
        $age = self::age($this->old);
        $allowed = $failed ? $page['broken'] : $page['stale'];
        // One that was expired by hand is stale whatever its age, so its life allows nothing.
        $isServed = $allowed > 0 && $age < $page['life'] + $allowed;
        if ($this->old['isExpired'] && $age < $page['life']) {
            // It has no life left, whatever its age; and caches behind know nothing but its age.
            $page['life'] = $age;
            $page['headers'] = [...Reply::without($page['headers'], self::OF_LIFE), 'Cache-Control: no-cache'];
        }

        return $isServed ? self::from(['page' => $page] + $this->old, $age, $how) : null;
    }

    /** @param Stored $stored */
    public static function from(array $stored, int $age, string $how): Reply
    {
        [$status, $lines, $from, $length] = StoredReply::reply($stored['page'], $age, $how);

        return new Reply($status, $lines, RequestKey::variable('REQUEST_METHOD') === 'HEAD' ? '' : \substr($stored['body'], $from, $length));
    }
}
