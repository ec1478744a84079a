<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\Group;

/**
 * What plugins and themes write and read by statements of their own: no stored page is older than that.
 *
 * @extends SharedSiteTestCase<PageSite>
 */
#[Group('wordpress')]
final class PageWrittenTest extends SharedSiteTestCase
{
    private const PATHS = ['/', '/hello-world/', '/sample-page/', '/category/uncategorized/', '/feed/'];

    protected static function make(): InstalledSite
    {
        $site = new PageSite();
        $site->theme();
        $site->site->cli('$GLOBALS["wp_rewrite"]->set_permalink_structure("/%postname%/"); $GLOBALS["wpdb"]->query("CREATE TABLE wp_own (id INT PRIMARY KEY, name TEXT)"); $GLOBALS["wpdb"]->query("CREATE TABLE wp_seen (n INT)"); $GLOBALS["wpdb"]->query("CREATE TABLE wp_log (n INT)");');

        return $site;
    }

    protected function tearDown(): void
    {
        $this->site->plugin('');
        parent::tearDown();
    }

    public function testWhatAStatementChangesIsPurged(): void
    {
        $all = self::PATHS;
        $ofPost = ['/', '/hello-world/', '/category/uncategorized/', '/feed/'];
        $wpdb = '$wpdb = $GLOBALS["wpdb"]; ';
        $changes = [
            'a text' => ['$wpdb->update($wpdb->posts, ["post_content" => "By a statement."], ["ID" => 1]);', $ofPost],
            'the same once more, which changes nothing' => ['$wpdb->update($wpdb->posts, ["post_content" => "By a statement."], ["ID" => 1]);', []],
            'twice, the second time without a change' => ['foreach ([1, 2] as $time) { $wpdb->update($wpdb->posts, ["post_content" => "Once more."], ["ID" => 1]); }', $ofPost],
            'with the word of a plugin' => ['get_post(1); $wpdb->update($wpdb->posts, ["post_date" => "2024-01-01 00:00:00"], ["ID" => 1]); clean_post_cache(1);', $ofPost],
            'all columns, of which one has changed' => ['$post = get_object_vars(get_post(2)); unset($post["filter"]); $wpdb->update($wpdb->posts, ["post_excerpt" => "Short."] + $post, ["ID" => 2]); clean_post_cache(2);', ['/sample-page/']],
            'another status' => ['get_post(1); $wpdb->update($wpdb->posts, ["post_status" => "private"], ["ID" => 1]); $wpdb->update($wpdb->posts, ["post_status" => "publish"], ["ID" => 1]);', $ofPost],
            'of what nobody knows how it was' => ['wp_cache_delete(2, "posts"); $wpdb->update($wpdb->posts, ["post_name" => "sample-page"] + ["menu_order" => 5], ["ID" => 2]);', $all],
            'a term, with the word of a plugin' => ['$wpdb->update($wpdb->terms, ["name" => "A term"], ["term_id" => 1]); clean_term_cache(1);', $all],
            'a title' => ['wp_cache_delete(2, "posts"); $wpdb->update($wpdb->posts, ["post_title" => "By a statement"], ["ID" => 2]);', $all],
            'meta' => ['$wpdb->insert($wpdb->postmeta, ["post_id" => 2, "meta_key" => "price", "meta_value" => 1]);', ['/sample-page/']],
            'meta that no page shows' => ['$wpdb->insert($wpdb->postmeta, ["post_id" => 2, "meta_key" => "views", "meta_value" => 1]);', []],
            'a new post' => ['$wpdb->insert($wpdb->posts, ["post_title" => "New", "post_name" => "new", "post_status" => "publish", "post_type" => "post", "post_author" => 1, "post_date" => "2025-01-01 00:00:00", "post_content" => "", "post_excerpt" => "", "to_ping" => "", "pinged" => "", "post_content_filtered" => ""]);', $all],
            'a new post, and then a draft by WordPress' => ['$wpdb->insert($wpdb->posts, ["post_title" => "Newer", "post_name" => "newer", "post_status" => "publish", "post_type" => "post", "post_author" => 1, "post_date" => "2025-01-02 00:00:00", "post_content" => "", "post_excerpt" => "", "to_ping" => "", "pinged" => "", "post_content_filtered" => ""]); wp_insert_post(["post_title" => "Draft", "post_content" => "x", "post_status" => "draft"]);', $all],
            'posts that nobody knows' => ['$wpdb->query("UPDATE $wpdb->posts SET post_content = CONCAT(post_content, \'!\') WHERE post_content LIKE \'%more%\'");', $all],
            'a term' => ['$wpdb->update($wpdb->terms, ["name" => "Another"], ["term_id" => 1]);', $all],
            'an assignment' => ['$wpdb->insert($wpdb->term_relationships, ["object_id" => 2, "term_taxonomy_id" => 1]);', $all],
            'a user' => ['$wpdb->update($wpdb->users, ["display_name" => "Somebody"], ["ID" => 1]);', $all],
            'a comment' => ['$wpdb->update($wpdb->comments, ["comment_content" => "Other words"], ["comment_ID" => 1]);', $ofPost],
            'an option of WordPress' => ['$wpdb->update($wpdb->options, ["option_value" => "Renamed"], ["option_name" => "blogname"]);', $all],
            'a note of a plugin' => ['$wpdb->update($wpdb->options, ["option_value" => "x" . mt_rand()], ["option_name" => "mailserver_pass"]);', []],
            'a table that no page shows' => ['$wpdb->insert("wp_log", ["n" => 1]);', []],
            'when WordPress has closed its cache' => ['register_shutdown_function(static fn() => $wpdb->update($wpdb->posts, ["post_content" => "At last."], ["ID" => 1]));', $ofPost],
            'in a transaction' => ['$wpdb->query("START TRANSACTION"); $wpdb->update($wpdb->posts, ["post_content" => "In it."], ["ID" => 1]); $wpdb->query("COMMIT");', $ofPost],
            'behind a comment, which hides from WordPress that it writes' => ['$wpdb->query("/* of a plugin */ UPDATE $wpdb->posts SET post_content = \'Behind a comment.\' WHERE ID = 1");', $ofPost],
            'by WordPress, as before' => ['wp_update_post(["ID" => 2, "post_content" => "By WordPress."]);', ['/sample-page/']],
            'a post by WordPress' => ['wp_insert_post(["post_title" => "Published", "post_content" => "x", "post_status" => "publish"]);', ['/', '/category/uncategorized/', '/feed/']],
            'a draft by WordPress' => ['wp_insert_post(["post_title" => "Draft", "post_content" => "x", "post_status" => "draft"]);', []],
        ];
        $this->site->get('/');
        $this->site->web('return 1;');
        foreach ($changes as $what => [$code, $purged]) {
            $this->site->warm(self::PATHS);
            $this->site->web("$wpdb$code return 1;");
            self::assertSame($purged, $this->site->purged(self::PATHS), $what);
        }
        // A command that goes on for long.
        $this->site->warm(self::PATHS);
        $command = $this->site->site->start("$wpdb\$wpdb->update(\$wpdb->posts, ['post_content' => 'By a long one.'], ['ID' => 2]); do { \$wpdb->get_var('SELECT 1'); usleep(50000); } while (!file_exists(WP_CONTENT_DIR . '/enough'));");
        Wait::until(fn(): bool => \str_contains($this->site->get('/sample-page/')->body, 'By a long one.'), 'its change');
        self::assertTrue($command->isRunning());
        \touch($this->site->site->content('enough'));
        $command->wait();
        self::assertStringContainsString('By a long one.', $this->site->get('/sample-page/')->body);
    }

    public function testWhatAThemeReadsByItselfIsPurged(): void
    {
        $this->site->plugin(<<<'PHP'
            add_action('wp_footer', static function (): void {
                global $wpdb;
                echo is_front_page() ? implode(', ', $wpdb->get_col("SELECT post_title FROM $wpdb->posts WHERE post_status = 'publish' ORDER BY comment_count DESC, ID LIMIT 3")) : '';
                echo is_page() ? implode(', ', $wpdb->get_col('SELECT name FROM wp_own ORDER BY id')) : '';
                echo is_category() ? $wpdb->query('INSERT INTO wp_seen VALUES (1)') . $wpdb->get_var('SELECT COUNT(*) FROM wp_seen') : '';
            });
            PHP);
        $this->site->web('Larder\WordPress\Page\Purge::all(); return 1;');
        // Before the first page that shows a table, nobody knew that one does.
        \array_map($this->site->get(...), self::PATHS);
        $this->site->warm(self::PATHS);
        $this->site->web('global $wpdb; wp_update_post(["ID" => 2, "post_title" => "Of the sample"]); return 1;');
        self::assertStringContainsString('Of the sample', $this->site->get('/')->body);
        $this->site->warm(self::PATHS);
        $this->site->web('global $wpdb; return $wpdb->insert("wp_own", ["id" => 1, "name" => "Something of its own"]);');
        self::assertSame(['/sample-page/'], $this->site->purged(self::PATHS));
        self::assertStringContainsString('Something of its own', $this->site->get('/sample-page/')->body);
        // A page that writes what it shows, as a counter does, goes by its life.
        $this->site->web('global $wpdb; return $wpdb->insert("wp_seen", ["n" => 1]);');
        self::assertSame([], $this->site->purged(self::PATHS));
    }

    public function testAScriptThatLoadsNoMoreThanTheDatabase(): void
    {
        $this->site->get('/');
        $this->site->warm(self::PATHS);
        foreach (['$wpdb->update($wpdb->posts, ["post_title" => "By a short script"], ["ID" => 2]);', '$wpdb->update($wpdb->comments, ["comment_content" => "By a short script"], ["comment_ID" => 1]);'] as $change) {
            $this->site->site->cli($change, before: 'define("SHORTINIT", true);');
            self::assertSame(self::PATHS, $this->site->purged(self::PATHS), $change);
        }
    }

    public function testOptionsThatTheOwnerChanges(): void
    {
        $this->site->get('/');
        $change = 'update_option("shop_opening_hours", "now " . mt_rand());';
        $this->site->warm(self::PATHS);
        $this->site->web($change);
        self::assertSame([], $this->site->purged(self::PATHS), 'a visitor');
        $changes = [
            'cron' => fn() => $this->site->web("define('DOING_CRON', true); $change"),
            'a script of the command line' => fn() => $this->site->site->cli($change),
            'an administrator, by REST' => fn() => $this->site->web("\$_SERVER['REQUEST_METHOD'] = 'PUT'; wp_set_current_user(1); $change"),
            'an administrator, by a link' => fn() => $this->site->web("\$_SERVER['REQUEST_METHOD'] = 'GET'; \$_GET['_wpnonce'] = 'x'; wp_set_current_user(1); $change"),
            'who manages the shop' => fn() => $this->site->web("get_role('editor')->add_cap('manage_woocommerce'); wp_set_current_user(wp_insert_user(['user_login' => 'keeper', 'user_pass' => 'x', 'role' => 'editor'])); $change"),
        ];
        foreach ($changes as $who => $do) {
            $this->site->warm(self::PATHS);
            $do();
            self::assertSame(self::PATHS, $this->site->purged(self::PATHS), $who);
        }
    }
}
