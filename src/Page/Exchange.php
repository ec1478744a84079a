<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\System\Clock;

/**
 * One request at the cache, and its response: answer() from what is stored, or let the application run with variables() and
 * conclude() with what it said. Here it is decided who builds a page, and who waits for it.
 */
final class Exchange
{
    /** The field by which this server's own request proves that it may renew a page. */
    public const RENEWAL = 'HTTP_LARDER_RENEWAL';

    /** By this variable a page cache tells the ones behind it, in the same request, which key it records. */
    public const RECORDED = 'LARDER_RECORDED';

    /** Seconds to wait where the cache cannot note who builds. */
    private const UNASKED = 5.0;

    /** Microseconds between two looks of a waiting visitor. */
    private const FIRST_PAUSE = 2_000;
    private const LONGEST_PAUSE = 25_000;

    /** Set by answer() with a stale reply: the caller must see that the same request is made with this token. */
    public ?string $renewal = null;

    /** Whether the application's response may be stored, so that its body is wanted. */
    public bool $isRecorded = false;

    /** Set by conclude(): the visitor gets the stale page in the place of what the failing application said. */
    public bool $isSpared = false;

    private bool $isBuilder = false;

    /** Whether the cache could be asked when the page was begun: else nothing tells what was purged since. */
    private bool $hasBegun = true;

    /** @var ?resource this server's own right to build, where the cache could not note one */
    private mixed $place = null;

    private ?Recording $recording = null;

    private readonly Builders $builders;

    public function __construct(private readonly Pages $pages, private readonly Settings $settings, private readonly Serving $serving)
    {
        $this->builders = $pages->builders();
    }

    /** @param array<array-key, mixed> $variables of the request, as in $_SERVER */
    public static function of(Pages $pages, Settings $settings, array $variables): self
    {
        return new self($pages, $settings, new Serving($pages, $settings, $variables));
    }

    /** What answers the request without the application; null: the application must run. */
    public function answer(): ?Reply
    {
        return $this->serving->answer() ?? $this->buildable();
    }

    /** The same where nothing stored answers it. */
    public function buildable(): ?Reply
    {
        return $this->mayBuild() ? $this->build() : null;
    }

    /** What answer() does with this request now, for people. It changes nothing: it takes no lease, and never waits. */
    public function explain(): Explanation
    {
        $reply = $this->serving->serve();
        $stored = $this->serving->key === null ? null : $this->serving->look();
        $outcome = $reply !== null ? PageOutcome::Hit : ($this->serving->refuse() !== null ? PageOutcome::Refused : null);
        if ($outcome === null && !$this->mayBuild()) {
            $outcome = PageOutcome::Passed;
        }
        $mark = $outcome === null ? $this->pages->notes()->mark((string) $this->serving->key) : null;
        if ($mark !== null) {
            $this->serving->detail = $mark;
        }
        $outcome ??= match (true) {
            $mark !== null => PageOutcome::Marked,
            $this->serving->stale(false) !== null => PageOutcome::Stale,
            !$this->builders->isBuilt((string) $this->serving->key) => PageOutcome::Built,
            default => self::isPrefetch() ? PageOutcome::Busy : PageOutcome::Waits,
        };

        if ($outcome === PageOutcome::Built) {
            $this->serving->detail = $this->pages->notes()->refusal((string) $this->serving->key) ?? '';
        }

        return new Explanation($outcome, $this->serving->forward, $this->serving->detail, $this->serving->url, $this->serving->key, $stored, $stored === null ? 0 : Serving::age($stored));
    }

    /** Whether the application is asked for a page that may be stored. */
    private function mayBuild(): bool
    {
        if ($this->serving->key === null || $this->serving->method !== 'GET') {
            return false;
        }
        $this->serving->detail = match (true) {
            // It would wait for itself, or be renewed with the stale page.
            ($this->serving->variables[self::RECORDED] ?? null) === $this->serving->key => 'a page cache before this one records it',
            isset($this->serving->control['no-store']) => 'the request says no-store',
            RequestKey::variable('HTTP_RANGE') !== null => 'the request asks for a part',
            // No cache may judge these (RFC 9111, section 4.3.2).
            RequestKey::variable('HTTP_IF_MATCH') !== null || RequestKey::variable('HTTP_IF_UNMODIFIED_SINCE') !== null => 'the request has a condition that only the application may judge',
            ($ignored = Ignored::reason($this->settings->rules)) !== '' => $ignored,
            default => Unkeyed::reason($this->settings->rules, $this->serving->variables) ?? '',
        };

        return $this->serving->detail === '';
    }

    /**
     * The request's variables as the application gets them: see Recording.
     *
     * @return array<array-key, mixed>
     */
    public function variables(): array
    {
        if ($this->isRecorded) {
            return $this->recording()->variables();
        }
        $variables = $this->serving->variables;
        unset($variables[self::RENEWAL]);

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
        RequestKey::of($this->serving->variables);
        $fields = $response->fields();
        $this->recording()->purge($response->status, $fields);
        if (!$this->isRecorded) {
            return $this->pass($response);
        }
        try {
            $stale = $broken !== '' || $response->status >= 500 ? $this->serving->stale(true, "fwd=stale; fwd-status=$response->status") : null;
            $this->isSpared = $stale !== null;

            return $stale ?? $this->recording()->record($response, $fields, $tags, $broken, $unfit, $this->hasBegun, $this->place !== null);
        } finally {
            $this->giveUp();
        }
    }

    /** Makes this request itself the one that renews the stale page it was answered with. */
    public function renew(): void
    {
        RequestKey::of($this->serving->variables);
        $this->isBuilder = true;
        $this->isRecorded = true;
        $this->pages->refresh();
        // A view begins with a read: what is purged after it counts against the page.
        $this->serving->look();
        $this->hasBegun = !$this->pages->isDown();
    }

    /** Whether the request with the token has come to this cache; another server may have answered it, or none. */
    public function isHandedOver(): bool
    {
        return !$this->builders->holds((string) $this->serving->key, (string) $this->renewal);
    }

    /** Lets others build: this request will not conclude. */
    public function giveUp(): void
    {
        $this->place === null || \fclose($this->place);
        $this->place = null;
        if (($this->isBuilder || $this->renewal !== null) && $this->serving->key !== null) {
            $this->isBuilder = false;
            $this->builders->release($this->serving->key);
        }
    }

    /** One request builds a page; the others wait for it, get the stale one, or do not wait because that was in vain last time. */
    private function build(): ?Reply
    {
        $key = (string) $this->serving->key;
        $this->isRecorded = true;
        $token = RequestKey::variable(self::RENEWAL);
        if ($token !== null && $this->builders->takeOver($key, $token)) {
            $this->isBuilder = true;

            return $this->begin();
        }
        $this->serving->detail = $this->pages->notes()->mark($key) ?? '';
        if ($this->serving->detail !== '') {
            return null;
        }
        if (self::isPrefetch()) {
            // No request waits for the page that a browser guesses its user might want, and that one waits for none.
            return $this->serving->stale(false) ?? ($this->builders->isBuilt($key) ? self::busy() : null);
        }
        $stale = $this->serving->stale(false);
        if ($stale !== null) {
            $token = \bin2hex(\random_bytes(16));
            if ($this->builders->canRenew() && $this->builders->take($key, $token) === true) {
                $this->renewal = $token;
            } elseif ($this->builders->take($key) === true) {
                $this->isBuilder = true;

                return $this->begin();
            }

            return $stale;
        }
        $taken = $this->builders->take($key);
        $this->isBuilder = $taken === true;

        return match ($taken) {
            true => $this->begin(),
            false => $this->await($key),
            null => $this->unasked($key),
        };
    }

    /**
     * The cache cannot note who builds. Where it can be read, another process has been writing to it for too long: one process
     * of this server builds, and the others wait a little until it can be written. Where they have waited in vain, none does
     * for a while, and none waits for a cache that cannot be read.
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
            $mayBuild = $this->builders->mayBuildHere($key, $this->place);
            $mayBuild || Clock::pause(\random_int(self::LONGEST_PAUSE, 2 * self::LONGEST_PAUSE));
            // It may have been busy for a moment only, in which another process took the right.
            $this->pages->retry();
            $taken = $this->place === null && $mayBuild ? ($this->builders->isBuilt($key) ? false : null) : $this->builders->take($key);
            if ($taken !== null) {
                $this->giveUp();
                $this->isBuilder = $taken;

                return $taken ? $this->begin() : $this->await($key);
            }
        } while (!$mayBuild && \hrtime(true) < $end);
        $mayBuild || $this->builders->noteUnshared();

        return $this->begin();
    }

    /**
     * From here on what others purge counts against the page that is built: from the look on, for a view begins with a read.
     * Another request may have stored the page just before.
     */
    private function begin(): ?Reply
    {
        $this->pages->refresh();
        $stored = $this->serving->look();
        $this->hasBegun = !$this->pages->isDown();
        $reply = $stored === null ? null : $this->serving->fresh($stored);
        if ($reply !== null) {
            $this->giveUp();
            $this->isRecorded = false;
        } elseif ($this->isBuilder && $this->settings->isBusy && $this->settings->waiters === null) {
            $this->builders->notePool();
        }

        return $reply;
    }

    private function await(string $key): ?Reply
    {
        $place = $this->settings->isBusy ? $this->builders->place($this->settings->waiters) : true;
        if ($place === null) {
            return self::busy();
        }
        $end = \hrtime(true) + (int) ($this->settings->wait * 1e9);
        $pause = self::FIRST_PAUSE;
        while (\hrtime(true) < $end) {
            Clock::pause(\random_int($pause >> 1, $pause));
            $pause = \min(self::LONGEST_PAUSE, $pause * 2);
            if ($this->builders->isBuilt($key)) {
                continue;
            }
            $this->pages->refresh();
            $stored = $this->serving->look();
            $reply = $stored === null ? null : $this->serving->fresh($stored);
            if ($reply !== null) {
                return $reply;
            }
            $this->serving->detail = $this->pages->notes()->mark($key) ?? '';
            if ($this->serving->detail !== '') {
                return null;
            }
            $taken = $this->builders->take($key);
            if ($taken !== false) {
                $this->isBuilder = $taken === true;

                return $taken === null ? $this->unasked($key) : $this->begin();
            }
        }

        return $this->begin() ?? $this->serving->stale(true);
    }

    /** Our only 5xx. A browser tries again by itself. */
    private static function busy(): Reply
    {
        $body = "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=2><title>One moment</title><p>This page is being made. It appears here in a moment.</p>\n";

        return new Reply(503, ['Content-Type: text/html; charset=utf-8', 'Retry-After: 2', 'Cache-Control: no-store', 'Cache-Status: Larder; detail="busy"', 'Content-Length: ' . \strlen($body)], $body);
    }

    private static function isPrefetch(): bool
    {
        return \stripos((RequestKey::field('sec-purpose') ?? '') . ' ' . (RequestKey::field('purpose') ?? '') . ' ' . (RequestKey::field('x-moz') ?? ''), 'prefetch') !== false;
    }

    /** Whether a response with this header may be stored, if it is whole. */
    public function mayStore(Reply $head): bool
    {
        return $this->isRecorded && Policy::of($head->status, $head->fields(), \time(), $this->settings->ttl, $this->settings->stale)->reason === '';
    }

    private function recording(): Recording
    {
        return $this->recording ??= new Recording($this->pages, $this->settings, $this->serving);
    }

    /** The application's response as it is, while it is not known yet whether it will be stored. */
    public function pass(Reply $response): Reply
    {
        return $this->recording()->passed($response, $this->serving->detail);
    }
}
