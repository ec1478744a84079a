<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

use Larder\Lab\Service\ServiceFailure;

/**
 * Visits a shop as readers and its administrator do, and keeps what its object cache held: what Payload\Recording reads.
 *
 * What could be a secret, a person's or a machine's is replaced by as many other letters, so that no size changes.
 */
final readonly class Recorder
{
    /** Objects, as many as the site had whose sizes have been published. */
    private const ENOUGH = 1_295;

    private const ARTICLES = 60;

    private const READER = [
        '/', '/hello-world/', '/sample-page/', '/nothing-here/', '/?s=wool', '/feed/', '/comments/feed/', '/products/feed/', '/products/',
        '/product_cat/category-1/', '/product_tag/tag-1/', '/author/admin/', '/wp-json/wp/v2/posts', '/wp-sitemap.xml', '/product/product-0007/',
    ];
    private const ADMINISTRATOR = [
        'index.php', 'edit.php', 'edit.php?post_type=product', 'edit.php?post_type=page', 'post-new.php', 'post.php?post=1&action=edit', 'upload.php',
        'edit-comments.php', 'edit-tags.php?taxonomy=category', 'edit-tags.php?taxonomy=product_cat&post_type=product', 'themes.php', 'plugins.php',
        'users.php', 'profile.php', 'tools.php', 'options-general.php', 'options-reading.php', 'options-permalink.php', 'site-health.php', 'update-core.php',
    ];

    /** Names that Recording has, each for the largest of the objects whose keys are like this. */
    private const NAMED = [
        'alloptions' => '/^options:alloptions$/', 'post' => '/^posts:\d+$/', 'meta' => '/^post_meta:\d+$/', 'terms' => '/^term-queries:/',
        'feed' => '/transient:feed_[0-9a-f]+$/',
    ];

    /** What is written over: passwords' hashes, sessions' tokens and other keys, and addresses of people. */
    private const SECRETS = '/\$(?:wp\$|P\$|2y\$|generic\$)[^\s";]+|\b[0-9a-f]{40,}\b|[\w.+-]+@[\w-]+(?:\.[\w-]+)+/';

    /** Names of what is a secret whatever it looks like. */
    private const SECRET_NAMES = '/(?:_salt|secret|nonce|token|password|user_pass|activation_key|_auth_key|logged_in_key)/i';

    public function __construct(private Site $site) {}

    /** @return array{wordpress: string, named: array<string, string>, objects: array<string, mixed>} named: name to key */
    public function record(): array
    {
        $recorded = $this->site->content('recorded');
        \mkdir($recorded, 0o700);
        $this->site->account->receive($recorded);
        $this->write();
        $this->site->putDropIn(__DIR__ . '/Shop/recorder.php');
        $this->visit();
        $objects = [];
        for ($page = 1; \count($objects = $this->held($objects)) < self::ENOUGH; ++$page) {
            $this->see("/products/page/$page/");
        }
        \ksort($objects);
        $sizes = \array_map(static fn(mixed $object): int => \strlen(\serialize($object)), $objects);
        \arsort($sizes);
        $named = [];
        foreach (self::NAMED as $name => $pattern) {
            foreach (\array_keys($sizes) as $key) {
                \preg_match($pattern, $key) === 1 && $named[$name] ??= $key;
            }
            isset($named[$name]) || throw new ServiceFailure("Nothing was recorded that could be called $name.");
        }

        return ['wordpress' => $this->site->release->version, 'named' => $named, 'objects' => $objects];
    }

    /** A blog of real prose: the sections of this project's own documentation. */
    private function write(): void
    {
        $articles = [];
        foreach (\glob(\dirname(__DIR__, 2) . '/docs/*.md') ?: [] as $file) {
            foreach (\preg_split('/^#+ /m', (string) \file_get_contents($file), -1, \PREG_SPLIT_NO_EMPTY) ?: [] as $section) {
                [$title, $text] = \explode("\n", $section, 2) + [1 => ''];
                $articles[] = ['post_title' => $title, 'post_content' => \trim($text), 'post_status' => 'publish'];
            }
        }
        $file = $this->site->content('articles.json');
        \file_put_contents($file, \json_encode(\array_slice($articles, 0, self::ARTICLES), \JSON_THROW_ON_ERROR));
        $this->site->account->receive($file);
        $this->site->cli('foreach (json_decode(file_get_contents(WP_CONTENT_DIR . "/articles.json"), true) as $article) { wp_insert_post(wp_slash($article)); } update_option("posts_per_rss", 30);');
    }

    private function visit(): void
    {
        foreach (self::READER as $path) {
            $this->see($path);
        }
        $cookies = $this->site->login();
        foreach (self::ADMINISTRATOR as $path) {
            $this->see("/wp-admin/$path", $cookies);
        }
        // As the dashboard reads news: another site's feed, which is its own here.
        $this->site->cli('require_once ABSPATH . WPINC . "/feed.php"; $feed = fetch_feed(home_url("/feed/")); if (is_wp_error($feed)) { throw new RuntimeException($feed->get_error_message()); }');
    }

    /** @param array<string, string> $cookies */
    private function see(string $path, array $cookies = []): void
    {
        $status = $this->site->get($path, $cookies)->status;
        $status < 500 || throw new ServiceFailure("$path has status $status: " . $this->site->errors());
    }

    /**
     * Adds what was left since it was last asked.
     *
     * @param array<string, mixed> $objects by "group:key"
     *
     * @return array<string, mixed>
     */
    private function held(array $objects): array
    {
        foreach (\glob($this->site->content('recorded/*[0-9]')) ?: [] as $file) {
            $groups = \unserialize((string) \file_get_contents($file), ['allowed_classes' => [\stdClass::class]]);
            \unlink($file);
            foreach (\is_array($groups) ? $groups : [] as $group => $values) {
                foreach (\is_array($values) ? $values : [] as $key => $value) {
                    $objects[$this->withoutSecrets("$group:$key")] = $this->clean($value, (string) $key);
                }
            }
        }

        return $objects;
    }

    private function clean(mixed $value, string $name): mixed
    {
        if (\is_array($value)) {
            $cleaned = [];
            foreach ($value as $key => $one) {
                $cleaned[\is_int($key) ? $key : $this->withoutSecrets($key)] = $this->clean($one, \is_int($key) ? $name : $key);
            }

            return $cleaned;
        }
        if ($value instanceof \stdClass) {
            return (object) $this->clean((array) $value, $name);
        }
        if (\is_object($value)) {
            throw new ServiceFailure("\"$name\" is, or has in it, an object of a class that no other process need know.");
        }

        return match (true) {
            !\is_string($value) => $value,
            \preg_match(self::SECRET_NAMES, $name) === 1 && !\str_contains($value, ':') => \str_repeat('x', \strlen($value)),
            default => $this->withoutSecrets($value),
        };
    }

    private function withoutSecrets(string $text): string
    {
        $host = \substr($this->site->url(), 7);
        foreach ([$host => 'shop.example.com', $this->site->root => '/srv/www/'] as $private => $public) {
            $text = \str_replace($private, \str_pad(\substr($public, 0, \strlen($private)), \strlen($private), 'w'), $text);
        }

        return (string) \preg_replace_callback(self::SECRETS, static fn(array $found): string => \str_repeat('x', \strlen($found[0])), $text);
    }
}
