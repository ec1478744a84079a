<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Request;
use PHPUnit\Framework\Attributes\Group;

/**
 * Which pages of a real site are stored, for whom and how long, over HTTP.
 *
 * @extends OwnSiteTestCase<PageSite>
 */
#[Group('wordpress')]
final class PageCacheTest extends OwnSiteTestCase
{
    public function testVisitorsGetStoredPagesAndUsersTheirOwn(): void
    {
        $this->site = new PageSite();
        $this->site->get('/');
        $this->site->warm(['/', '/hello-world/', '/sample-page/', '/category/uncategorized/', '/author/admin/', '/feed/', '/comments/feed/', '/wp-sitemap.xml', '/?s=hello']);
        self::assertSame('hit', PageSite::did($this->site->get('/?utm_source=letter&fbclid=1')));
        self::assertSame('hit', PageSite::did($this->site->get('/', ['_ga' => '1', 'wordpress_test_cookie' => 'WP Cookie check', 'sbjs_current' => 'x'])));
        self::assertSame('hit', PageSite::did($this->site->get('/', [], ['Sec-Purpose' => 'prefetch;anonymous-client-ip'])));
        self::assertSame(304, $this->site->get('/', [], ['If-None-Match' => $this->site->get('/')->header('etag')])->status);

        // Whose page may be another one.
        $page = $this->site->get('/')->body;
        $user = $this->site->site->login();
        $bar = 'id="wpadminbar"';
        for ($i = 0; $i < 2; $i++) {
            $own = $this->site->get('/', $user);
            self::assertStringContainsString($bar, $own->body);
            self::assertStringContainsString('private', PageSite::did($own));
        }
        self::assertSame($page, $this->site->get('/')->body);
        foreach (['comment_author_1' => 'V', 'wp-postpass_1' => 'x', 'woocommerce_items_in_cart' => '1', 'wp_woocommerce_session_1' => 'x', 'edd_items_in_cart' => '1', 'PHPSESSID' => 'x', 'nobody_knows' => '1'] as $name => $value) {
            self::assertSame("the visitor has a cookie that may make the page private ($name)", PageSite::did($this->site->get('/', [$name => $value])), $name);
        }
        // The page of the first user of a page that nobody else has seen is not the next visitor's.
        self::assertStringContainsString($bar, $this->site->get('/?x=2', $user)->body);
        self::assertStringNotContainsString($bar, $this->site->get('/?x=2')->body);

        foreach (['/wp-login.php', '/wp-admin/admin-ajax.php?action=none', '/wp-cron.php', '/xmlrpc.php', '/?preview=true&p=1', '/hello-world/?unapproved=1&moderation-hash=x'] as $path) {
            self::assertSame('', $this->site->get($path)->header('cache-status'), $path);
        }
        self::assertStringContainsString('fwd=method', $this->site->site->post('/sample-page/', ['a' => 'b'])->header('cache-status'));
        foreach (['/nothing-here/', '/wp-json/wp/v2/posts', '/?rest_route=/wp/v2/posts'] as $path) {
            $this->site->get($path);
            self::assertSame('no-store', PageSite::did($this->site->get($path)), $path);
        }
        self::assertSame('', $this->site->get('/', [], ['X-WP-Nonce' => 'x'])->header('cache-status'));
    }

    public function testAuthorsDecideWhatIsStored(): void
    {
        $this->site = new PageSite(['LARDER_PAGES' => null]);
        $this->site->plugin(<<<'PHP'
            add_action('template_redirect', static function (): void {
                isset($_GET['constant']) && define('DONOTCACHEPAGE', true);
                isset($_GET['nocache']) && nocache_headers();
                isset($_GET['own']) && header('Cache-Control: public, max-age=77');
                isset($_GET['cookie']) && setcookie('a', 'b');
            });
            add_filter('nonce_life', static fn() => isset($_GET['short']) ? 400 : DAY_IN_SECONDS);
            add_action('wp_footer', static function (): void {
                isset($_GET['short']) && print(wp_create_nonce('x'));
            });
            add_filter('larder_page_life', static fn($life) => isset($_GET['filter']) ? 55 : $life);
            PHP);
        $life = function (string $path): int {
            $this->site->get($path);

            return \preg_match('/^max-age=(\d+)/', $this->site->life($path), $match) === 1 ? (int) $match[1] : 0;
        };
        $this->site->get('/');
        self::assertSame(3_600, $life('/'));
        self::assertSame(77, $life('/?own'));
        self::assertSame(55, $life('/?filter'));
        self::assertSame(300, $life('/?s=hello'));
        foreach (['constant', 'nocache', 'cookie'] as $name) {
            $this->site->get("/?$name");
            self::assertNotContains(PageSite::did($this->site->get("/?$name")), ['hit', 'stored'], $name);
        }

        // A nonce of this tick and the next one is valid; the visitor has some time to use it.
        $page = $this->site->get('/?short');
        self::assertSame(1, \preg_match('/^max-age=(\d+)(?:, stale-while-revalidate=(\d+))?/', $this->site->life('/?short'), $match));
        $made = (int) \strtotime($page->header('date'));
        $end = (\ceil($made / 200) + 1) * 200;
        self::assertLessThanOrEqual($end - 99, $made + (int) $match[1] + (int) ($match[2] ?? 0));
        self::assertGreaterThanOrEqual(99, (int) $match[1]);

        // A password's form is everybody's where it is one of many, and the post's own page nobody's.
        $this->site->site->cli("wp_update_post(['ID' => 1, 'post_password' => 'secret', 'post_content' => 'Only for some.']);");
        $this->site->get('/hello-world/');
        self::assertSame('no-store', PageSite::did($this->site->get('/hello-world/')));
        $pass = $this->site->site->post('/wp-login.php?action=postpass', ['post_password' => 'secret'])->cookies();
        self::assertStringContainsString('Only for some.', $this->site->get('/hello-world/', $pass)->body);
        foreach (['/', '/hello-world/', '/feed/'] as $path) {
            self::assertStringNotContainsString('Only for some.', $this->site->get($path)->body);
            self::assertStringNotContainsString('Only for some.', $this->site->get($path)->body);
        }
    }

    /** WordPress says no-store of a post with a password, and a plugin may take that away. */
    public function testAPasswordsPostIsNobodysWhateverItsHeaderSays(): void
    {
        $this->site = new PageSite();
        $this->site->plugin(<<<'PHP'
            add_filter('nocache_headers', static fn(): array => ['Cache-Control' => 'public, max-age=600'], PHP_INT_MAX);
            add_filter('wp_headers', static fn(array $headers): array => ['Cache-Control' => 'public, max-age=600'] + $headers, PHP_INT_MAX);
            // As a plugin that says so of all pages, last of all.
            add_action('template_redirect', static function (): void { header('Cache-Control: public, max-age=600'); header_remove('Expires'); }, PHP_INT_MAX);
            add_filter('the_password_form', static fn(string $form): string => 'The form.' . $form);
            PHP);
        $this->site->site->cli("wp_update_post(['ID' => 1, 'post_password' => 'secret', 'post_content' => 'Only for some.']); wp_update_post(['ID' => 2, 'post_password' => 'secret', 'post_content' => 'Only for some.']);");
        $this->site->get('/');
        $this->site->warm(['/', '/category/uncategorized/', '/feed/']);
        $pass = $this->site->site->post('/wp-login.php?action=postpass', ['post_password' => 'secret'])->cookies();
        foreach (['/hello-world/', '/sample-page/', '/?p=1', '/hello-world/feed/'] as $path) {
            for ($i = 0; $i < 3; $i++) {
                $page = $this->site->get($path);
                self::assertNotContains(PageSite::did($page), ['hit', 'stored'], $path);
                self::assertStringNotContainsString('Only for some.', $page->body, $path);
            }
        }
        foreach (['/hello-world/', '/sample-page/'] as $path) {
            self::assertSame('public, max-age=600', $this->site->get($path)->header('cache-control'), 'It is this rule alone that keeps it out.');
            self::assertStringContainsString('Only for some.', $this->site->get($path, $pass)->body);
            self::assertStringContainsString('The form.', $this->site->get($path)->body);
        }
    }

    public function testAScheduledPostAppearsWhenItIsDue(): void
    {
        $this->site = new PageSite();
        // WordPress publishes at once what is due within a minute, so it is made due sooner afterwards.
        $this->site->site->cli(<<<'PHP'
            $id = wp_insert_post(['post_title' => 'Later', 'post_status' => 'future', 'post_date_gmt' => gmdate('Y-m-d H:i:s', time() + 7200), 'post_date' => get_date_from_gmt(gmdate('Y-m-d H:i:s', time() + 7200))]);
            $soon = gmdate('Y-m-d H:i:s', time() + 15);
            $GLOBALS['wpdb']->update($GLOBALS['wpdb']->posts, ['post_date' => get_date_from_gmt($soon), 'post_date_gmt' => $soon], ['ID' => $id]);
            wp_clear_scheduled_hook('publish_future_post', [$id]);
            wp_schedule_single_event(time() + 5, 'publish_future_post', [$id]);
            PHP);
        $this->site->get('/');
        $this->site->warm(['/']);
        self::assertStringNotContainsString('Later', $this->site->get('/')->body);
        self::assertSame(1, \preg_match('/^max-age=(?:[1-9]|1[0-5])$/', $this->site->life('/')));
        // As a server's own cron asks for it.
        for ($end = \hrtime(true) + 30_000_000_000; $this->site->site->cli('echo get_page_by_path("later", OBJECT, "post")->post_status;') !== 'publish' && \hrtime(true) < $end;) {
            $this->site->get('/wp-cron.php');
        }
        self::assertStringContainsString('Later', $this->site->get('/')->body);
        $this->site->warm(['/']);
        self::assertStringStartsWith('max-age=3600, ', $this->site->life('/'));
    }

    public function testTelephonesRestAndCookiesAsTheOwnerSays(): void
    {
        $this->site = new PageSite();
        $this->site->site->define(['LARDER_TEST' => true]);
        $config = $this->site->site->root . '/wp-config.php';
        $text = (string) \file_get_contents($config);
        \file_put_contents($config, \str_replace("<?php\n", "<?php\ndefine('LARDER_PAGES', ['ttl' => 100, 'rest' => ['wp/v2/posts'], 'ignoredCookies' => ['theme_colour'], 'varyCookies' => ['lang']]);\n", $text));
        $this->site->plugin('add_action("wp_footer", static function (): void { echo wp_is_mobile() ? "a telephone" : "a desk", $_COOKIE["lang"] ?? ""; });');
        $this->site->get('/');
        $this->site->warm(['/']);
        self::assertStringContainsString('a desk', $this->site->get('/')->body);
        $phone = ['User-Agent' => 'Mozilla/5.0 (Linux; Android 15) Mobile'];
        $this->site->get('/', [], $phone);
        $page = $this->site->get('/', [], $phone + ['X-Larder-Device' => 'other']);
        self::assertSame('hit', PageSite::did($page));
        self::assertStringContainsString('a telephone', $page->body);
        self::assertStringContainsString('a desk', $this->site->get('/', [], ['X-Larder-Device' => 'mobile'])->body);
        self::assertSame('max-age=100, stale-while-revalidate=3600, stale-if-error=3600', $this->site->life('/'));
        self::assertSame('hit', PageSite::did($this->site->get('/', ['theme_colour' => 'dark'])));
        // Where nothing asks what it is seen with, there is one page for all.
        $this->site->warm(['/feed/']);
        self::assertSame('hit', PageSite::did($this->site->get('/feed/', [], $phone)));
        $this->site->get('/', ['lang' => 'ga']);
        $page = $this->site->get('/', ['lang' => 'ga']);
        self::assertSame('hit', PageSite::did($page));
        self::assertStringContainsString('a deskga', $page->body);
        self::assertStringNotContainsString('a deskga', $this->site->get('/')->body);

        $this->site->warm(['/wp-json/wp/v2/posts', '/wp-json/wp/v2/posts/1']);
        $this->site->get('/wp-json/wp/v2/pages');
        self::assertSame('no-store', PageSite::did($this->site->get('/wp-json/wp/v2/pages')));
        $this->site->web("wp_update_post(['ID' => 1, 'post_title' => 'By another name']); return 1;");
        foreach (['/wp-json/wp/v2/posts', '/wp-json/wp/v2/posts/1'] as $path) {
            self::assertStringContainsString('By another name', $this->site->get($path)->body);
        }
    }

    public function testAPostPurgesOnlyIfItHasWritten(): void
    {
        $this->site = new PageSite();
        $this->site->warm(['/', '/sample-page/']);
        foreach ([['a' => 'b'], ['larder_test' => 'return $GLOBALS["wpdb"]->query(" select 1") + $GLOBALS["wpdb"]->query("SHOW TABLES") + $GLOBALS["wpdb"]->query("SET @larder = 1");']] as $fields) {
            self::assertSame(200, $this->site->site->post('/', $fields)->status);
            self::assertSame([], $this->site->purged(['/', '/sample-page/']), 'Anybody may ask by POST.');
        }
        foreach (['INSERT INTO wp_own VALUES (1)', '/* A comment. */ DELETE FROM wp_own', 'EXECUTE own'] as $statement) {
            $this->site->site->post('/', ['larder_test' => "\$GLOBALS['wpdb']->suppress_errors(); return \$GLOBALS['wpdb']->query('$statement');"]);
            self::assertSame(['/'], $this->site->purged(['/', '/sample-page/']), $statement);
        }
    }

    public function testOneRequestBuildsAPageForAll(): void
    {
        $this->site = new PageSite();
        $this->site->get('/');
        $log = $this->site->site->content('builds');
        $this->site->plugin('add_action("template_redirect", static function (): void { file_put_contents(WP_CONTENT_DIR . "/builds", "x", FILE_APPEND); usleep(300000); });');
        foreach ($this->site->site->browser()->together(\array_fill(0, 4, new Request('/sample-page/'))) as $page) {
            self::assertSame(200, $page->status);
        }
        self::assertStringEqualsFile($log, 'x');
        // The same of the page that a link's hover has fetched.
        $this->site->get('/hello-world/', [], ['Sec-Purpose' => 'prefetch']);
        self::assertSame('hit', PageSite::did($this->site->get('/hello-world/')));
        self::assertStringEqualsFile($log, 'xx');
    }

    public function testEveryFlushOfTheCacheEmptiesThePagesToo(): void
    {
        $this->site = new PageSite();
        $this->site->get('/');
        foreach (["wp_cache_flush();", "Larder\\WordPress\\Page\\Purge::site();", "Larder\\WordPress\\Page\\Purge::all();"] as $code) {
            foreach (['cli', 'web'] as $how) {
                $this->site->warm(['/', '/hello-world/']);
                $how === 'cli' ? $this->site->site->cli($code) : $this->site->web("$code return 1;");
                self::assertSame(['/', '/hello-world/'], $this->site->purged(['/', '/hello-world/']), "$code $how");
            }
        }
        // A command runs without the cache: what it changes nobody tells.
        $this->site->warm(['/']);
        \rename($this->site->site->content('plugins/larder'), $this->site->site->content('gone'));
        self::assertSame('', $this->site->get('/')->header('cache-status'));
        $this->site->site->cli('update_option("blogname", "Changed meanwhile");');
        \rename($this->site->site->content('gone'), $this->site->site->content('plugins/larder'));
        self::assertStringContainsString('<title>Changed meanwhile', $this->site->get('/')->body);
    }

    public function testATransactionThatIsRolledBackPurgesNothingAndShowsNothing(): void
    {
        $this->site = new PageSite();
        $this->site->get('/');
        foreach (['ROLLBACK' => 'Hello world!', 'COMMIT' => 'In a transaction'] as $end => $title) {
            $this->site->warm(['/hello-world/']);
            $code = '$GLOBALS["wpdb"]->query("START TRANSACTION"); wp_update_post(["ID" => 1, "post_title" => "In a transaction"]);'
                . '$during = wp_remote_retrieve_body(wp_remote_get(home_url("/hello-world/"))); $GLOBALS["wpdb"]->query("' . $end . '"); return [str_contains($during, "<title>In a transaction"), str_contains($during, "<title>Hello world!")];';
            self::assertSame([false, true], $this->site->web($code), $end);
            self::assertStringContainsString("<title>$title", $this->site->get('/hello-world/')->body, $end);
        }
    }

    public function testOnANetworkEachSiteHasItsOwn(): void
    {
        $this->site = new PageSite([], ['second']);
        $this->site->get('/');
        $this->site->get('/second/');
        $post = \substr((string) $this->site->web('return get_permalink(1);', path: '/second/'), \strlen($this->site->site->url()));
        $both = ['/', '/second/', $post];
        $this->site->warm($both);
        self::assertNotSame($this->site->get('/')->body, $this->site->get('/second/')->body);
        $this->site->web("wp_update_post(['ID' => 1, 'post_content' => 'New']); return 1;", path: '/second/');
        self::assertSame(['/second/', $post], $this->site->purged($both));
        $this->site->warm($both);
        $this->site->web('update_option("blogname", "The first"); return 1;');
        self::assertSame(['/'], $this->site->purged($both));
        $this->site->warm($both);
        $this->site->web('switch_to_blog(2); update_option("blogname", "The second"); restore_current_blog(); return 1;');
        self::assertSame(['/second/', $post], $this->site->purged($both));
        $this->site->warm($both);
        $this->site->web('wp_cache_flush(); return 1;', path: '/second/');
        self::assertSame(['/second/', $post], $this->site->purged($both));
        // What nobody may see any more, whoever says so.
        foreach (['update_blog_status(2, "archived", "1");', 'update_blog_status(2, "spam", "1");', '$GLOBALS["wpdb"]->update($GLOBALS["wpdb"]->blogs, ["deleted" => 1], ["blog_id" => 2]);', '$GLOBALS["wpdb"]->query("UPDATE wp_blogs SET archived = 1 WHERE path LIKE \'/sec%\'");'] as $change) {
            $this->site->warm($both);
            $this->site->web("$change return 1;");
            self::assertNotSame(200, $this->site->get('/second/')->status, $change);
            self::assertNotSame(200, $this->site->get($post)->status, $change);
            $this->site->web('wp_update_site(2, ["archived" => 0, "spam" => 0, "deleted" => 0]); return 1;');
        }
        // A page that shows another site's post.
        $this->site->plugin('add_action("wp_footer", static function (): void { if (get_current_blog_id() === 1) { switch_to_blog(2); echo get_post(1)->post_title; restore_current_blog(); } });');
        $this->site->web('Larder\WordPress\Page\Purge::all(); return 1;');
        $this->site->warm($both);
        $this->site->web("wp_update_post(['ID' => 1, 'post_title' => 'Of the second']); return 1;", path: '/second/');
        self::assertStringContainsString('Of the second', $this->site->get('/')->body);
    }

    public function testStockAndPriceThatAShopWritesByItself(): void
    {
        $this->site = new PageSite();
        $this->site->plugin(<<<'PHP'
            add_action('init', static function (): void {
                register_post_type('product', ['public' => true, 'has_archive' => true]);
                register_post_type('product_variation', ['public' => false]);
            });
            add_filter('the_content', static fn($text) => get_post_type() === 'product' ? $text . 'In stock: ' . get_post_meta(get_the_ID(), '_stock', true) : $text);
            PHP);
        $this->site->site->cli(<<<'PHP'
            foreach (['cup', 'bowl'] as $name) {
                $id = wp_insert_post(['post_type' => 'product', 'post_title' => $name, 'post_name' => $name, 'post_content' => "A $name. ", 'post_status' => 'publish', 'meta_input' => ['_stock' => '5']]);
                wp_insert_post(['post_type' => 'product_variation', 'post_parent' => $id, 'post_title' => "Red $name", 'post_name' => "red-$name", 'post_status' => 'publish']);
            }
            flush_rewrite_rules(false);
            PHP);
        $this->site->get('/');
        $paths = ['/product/cup/', '/product/bowl/', '/sample-page/'];
        $write = '$id = get_page_by_path("cup", OBJECT, "product")->ID; $GLOBALS["wpdb"]->query("UPDATE {$GLOBALS["wpdb"]->postmeta} SET meta_value = %d WHERE post_id = $id AND meta_key = \'_stock\'"); wp_cache_delete($id, "post_meta");';
        $this->site->warm($paths);
        $this->site->web(\sprintf($write, 4) . 'do_action("woocommerce_product_set_stock", new class($id) { public function __construct(public int $id) {} public function get_id() { return $this->id; } }); return 1;');
        self::assertStringContainsString('In stock: 4', $this->site->get('/product/cup/')->body);
        self::assertSame('hit', PageSite::did($this->site->get('/product/bowl/')));
        self::assertSame('hit', PageSite::did($this->site->get('/sample-page/')));
        // What the product's page shows of a variation changes with that.
        $this->site->warm($paths);
        $this->site->web('$id = get_posts(["post_type" => "product_variation", "name" => "red-bowl"])[0]->ID; $GLOBALS["wpdb"]->update($GLOBALS["wpdb"]->posts, ["menu_order" => 3], ["ID" => $id]); clean_post_cache($id); do_action("woocommerce_updated_product_price", $id); return 1;');
        self::assertSame(['/product/bowl/'], $this->site->purged($paths));
    }

    public function testWhatNobodySeesPurgesNothing(): void
    {
        $this->site = new PageSite();
        $this->site->get('/');
        $paths = ['/', '/?s=hello', '/hello-world/', '/wp-sitemap-users-1.xml'];
        $this->site->warm($paths);
        foreach ([
            'an autosave' => '_wp_put_post_revision(1, true);',
            'a picture' => 'wp_insert_attachment(["post_title" => "A picture", "post_mime_type" => "image/png"]);',
            'an editor at work' => 'update_post_meta(1, "_edit_lock", "1:1");',
            'a login' => 'update_user_meta(1, "session_tokens", []);',
        ] as $what => $code) {
            $this->site->web("$code return 1;");
            // Whatever is searched for may be in a picture's title.
            self::assertSame([], $this->site->purged($what === 'a picture' ? ['/', '/hello-world/', '/wp-sitemap-users-1.xml'] : $paths), $what);
            $this->site->warm($paths);
        }
    }

    public function testAPageThatShowsVeryManyPosts(): void
    {
        $this->site = new PageSite();
        $this->site->site->cli('for ($i = 0; $i < 60; $i++) { wp_insert_post(["post_title" => "Post $i", "post_name" => "post-$i", "post_content" => "Text $i.", "post_status" => "publish"]); } update_option("posts_per_page", 50);');
        $this->site->get('/');
        $this->site->warm(['/', '/post-55/', '/post-56/']);
        $this->site->web('wp_update_post(["ID" => get_page_by_path("post-55", OBJECT, "post")->ID, "post_content" => "Another text."]); return 1;');
        self::assertSame(['/', '/post-55/'], $this->site->purged(['/', '/post-55/', '/post-56/']));
        self::assertStringContainsString('Another text.', $this->site->get('/')->body);
    }

    /** The object cache drops its copies while the page is built. */
    public function testWhatWasReadAtTheBeginningOfALongPageCounts(): void
    {
        $this->site = new PageSite();
        $this->site->plugin(<<<'PHP'
            add_action('init', static fn() => register_post_type('note'));
            add_action('template_redirect', static function (): void {
                if (isset($_GET['long'])) {
                    $GLOBALS['read'] = get_post(get_option('note'))->post_title;
                    wp_remote_post(home_url('/larder-probe/'), ['body' => ['larder_test' => 'return wp_cache_set("other", 1, "plugin");']]);
                    // A second later.
                    (new ReflectionProperty(Larder\WordPress\ObjectCache::class, 'due'))->setValue($GLOBALS['wp_object_cache'], 0);
                    for ($i = 0; $i < 40; $i++) {
                        get_option('blogname');
                    }
                    isset($GLOBALS['wp_object_cache']->cache['posts'][get_option('note')]) && wp_die('The copy is still there.');
                }
            });
            add_action('wp_footer', static function (): void {
                echo $GLOBALS['read'] ?? '';
            });
            PHP);
        $this->site->site->cli('update_option("note", wp_insert_post(["post_type" => "note", "post_title" => "Noted", "post_status" => "publish"]));');
        $this->site->get('/');
        $this->site->warm(['/feed/', '/category/uncategorized/?long']);
        $this->site->web("wp_update_post(['ID' => get_option('note'), 'post_title' => 'New']); return 1;");
        self::assertSame(['/category/uncategorized/?long'], $this->site->purged(['/feed/', '/category/uncategorized/?long']));
    }

    public function testItCountsWhatBecameOfRequests(): void
    {
        $this->site = new PageSite();
        $sum = 'return Larder\WordPress\Page\Counts::sum(Larder\WordPress\ObjectCache::records($GLOBALS["wp_object_cache"]->larder()), 48);';
        for ($round = 0; $round < 40; $round++) {
            $this->site->site->browser()->together([...\array_fill(0, 8, new Request('/')), new Request('/', null, ['wordpress_logged_in_0123456789abcdef0123456789abcdef' => 'x']), new Request('/nothing-here/')]);
            $counts = $this->site->web($sum);
            if ($counts['hit'] > 0 && isset($counts['why']['status 404'], $counts['why']['the visitor has a cookie that may make the page private (wordpress_logged_in_*)'])) {
                break;
            }
        }
        self::assertGreaterThan(0, $counts['hit']);
        self::assertSame(0, $counts['hit'] % 32);
        self::assertArrayHasKey('status 404', $counts['why']);
        self::assertArrayHasKey('the visitor has a cookie that may make the page private (wordpress_logged_in_*)', $counts['why']);
        $page = $this->site->get('/wp-admin/tools.php?page=larder', $this->site->site->login())->body;
        self::assertStringContainsString('status 404', $page);
        self::assertStringContainsString('Answered with a stored page', $page);
    }
}
