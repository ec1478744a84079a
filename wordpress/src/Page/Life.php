<?php

declare(strict_types=1);

namespace Larder\WordPress\Page;

use Larder\Page\Policy;
use Larder\Page\Reply;
use Larder\WordPress\FailedReads;

/**
 * How long the page of this request may be kept, by what WordPress knows of it. What its header says is the library's to
 * judge (Larder\Page\Policy).
 */
final class Life
{
    /** Seconds of a search's results, which another visitor is not likely to ask for. */
    private const SEARCH = 300;

    /** Events of WordPress's cron that change pages when their time has come. */
    private const EVENTS = ['publish_future_post', 'woocommerce_scheduled_sales'];

    /** The reason of a page that lacks something. */
    public const FAILED = 'a statement to the database failed';

    /** Unix time at which the first nonce on the page ends. */
    private int $end = \PHP_INT_MAX;

    /** Why the page is one visitor's; '': it is not. */
    private string $ones = '';

    public function __construct(private readonly Settings $settings) {}

    /**
     * A nonce is made. It is valid in the half of its life in which it was made, and in the next one (wp_nonce_tick(),
     * wp_verify_nonce()). Half of a half is left to the visitor who gets the page last.
     */
    public function nonce(mixed $life): mixed
    {
        if (\is_numeric($life) && $life > 0) {
            $half = $life / 2;
            $this->end = \min($this->end, (int) \floor((\ceil(\time() / $half) + 1) * $half - $half / 2));
        }

        return $life;
    }

    public function user(mixed $user): mixed
    {
        if ((bool) $user) {
            $this->ones = 'a nonce on the page is one visitor\'s';
        }

        return $user;
    }

    /** @param bool $isKnown whether the site takes the visitor's device for what Door does */
    public function device(bool $isKnown): void
    {
        if (!$isKnown) {
            $this->ones = 'a plugin has its own rule of what a telephone is';
        }
    }

    /**
     * The field Larder-Cache-Control; null: it may not be kept, and Counts knows why.
     *
     * @param string $more a further reason, which counts if there is no other
     */
    public function field(string $more = ''): ?string
    {
        Counts::$reason = $this->reason() ?: $more;
        if (Counts::$reason !== '') {
            return null;
        }
        // A feed's Last-Modified is that of its last post, which says nothing about the next one; tags do.
        $fields = \array_diff_key((new Reply(200, \headers_list()))->fields(), [\strtolower(Door::FIELD) => 0, 'last-modified' => 0]);
        $now = \time();
        $policy = Policy::of(200, $fields, $now, $this->settings->life, $this->settings->stale);
        $life = $policy->life - $policy->age;
        if (\did_action('wp') > 0 && \is_search()) {
            $life = \min($life, self::SEARCH);
        }
        $life = \apply_filters('larder_page_life', $life);
        $life = \min(\is_numeric($life) ? (int) $life : 0, $this->end - $now);
        $stale = \min($policy->stale, $this->end - $now - $life);
        $event = self::event($now);
        if ($event < $now + $life + $stale) {
            $life = \min($life, $event - $now);
            $stale = 0;
        }
        if ($policy->reason !== '' || $life <= 0) {
            Counts::$reason = $policy->reason !== '' ? "the page says so: $policy->reason" : 'its life is over at once';

            return null;
        }

        return "max-age=$life" . ($stale > 0 ? ", stale-while-revalidate=$stale, stale-if-error=$stale" : '');
    }

    /** Why the page is for this visitor only; '': it may be for all. */
    private function reason(): string
    {
        $status = (int) \http_response_code();
        if ($status !== 200) {
            return "status $status";
        }
        if (!\did_action('init')) {
            return 'WordPress was not loaded completely';
        }
        if (\defined('REST_REQUEST') && \constant('REST_REQUEST') === true) {
            $reason = $this->isStoredRoute() ? '' : 'a REST route that LARDER_PAGES does not name';
        } elseif (\did_action('template_redirect') === 0) {
            $reason = 'something other than WordPress\'s templates answered';
        } else {
            $post = \get_queried_object();
            $reason = match (true) {
                \is_preview() || \is_customize_preview() => 'a preview',
                \is_404() => 'status 404',
                $post instanceof \WP_Post && $post->post_password !== '' => 'a post with a password',
                default => '',
            };
        }

        return match (true) {
            FailedReads::any() => self::FAILED,
            \defined('DONOTCACHEPAGE') && (bool) \constant('DONOTCACHEPAGE') => 'DONOTCACHEPAGE',
            \is_user_logged_in() => 'the visitor is logged in',
            default => $this->ones !== '' ? $this->ones : $reason,
        };
    }

    private function isStoredRoute(): bool
    {
        $wp = $GLOBALS['wp'] ?? null;
        $route = $wp instanceof \WP ? $wp->query_vars['rest_route'] ?? '' : '';
        $route = \is_string($route) ? \trim($route, '/') : '';
        foreach ($this->settings->rest as $beginning) {
            if ($beginning !== '' && \str_starts_with("$route/", "$beginning/")) {
                return true;
            }
        }

        return false;
    }

    /** Unix time at which the first scheduled post is to appear, or a sale begins. */
    private static function event(int $now): int
    {
        foreach (\_get_cron_array() as $time => $hooks) {
            if (\array_intersect_key($hooks, \array_flip(self::EVENTS)) !== []) {
                // What is due is done by the next request that WordPress answers.
                return \max((int) $time, $now + 1);
            }
        }

        return \PHP_INT_MAX;
    }
}
