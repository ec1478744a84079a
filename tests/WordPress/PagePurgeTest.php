<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Tests\Support\RedisServer;
use Larder\WordPress\Page\Purge;
use Larder\WordPress\Page\Shown;
use Larder\WordPress\Page\Tag;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/**
 * On a real site with two servers over one Redis: whatever changes, exactly the pages that show it are built anew, at once, on
 * both. What a page should be is what WordPress builds for a visitor with a cookie that nobody knows.
 */
#[CoversClass(Purge::class)]
#[CoversClass(Shown::class)]
#[CoversClass(Tag::class)]
#[Group('wordpress')]
final class PagePurgeTest extends TestCase
{
    private const PATHS = [
        '/', '/a/', '/b/', '/c/', '/about/', '/contact/', '/category/one/', '/category/two/', '/author/admin/', '/author/other/', '/2024/05/', '/2024/06/', '/2025/01/', '/feed/',
    ];

    private const CONTENT = <<<'PHP'
        wp_delete_post(1, true);
        wp_delete_post(2, true);
        $GLOBALS['wp_rewrite']->set_permalink_structure('/%postname%/');
        $other = wp_create_user('other', 'other', 'other@example.org');
        wp_update_user(['ID' => $other, 'role' => 'author', 'display_name' => 'Other']);
        $one = wp_insert_term('One', 'category')['term_id'];
        $two = wp_insert_term('Two', 'category')['term_id'];
        foreach ([['a', 1, $one, '2024-05-01'], ['b', 1, $one, '2024-06-01'], ['c', $other, $two, '2025-01-01']] as [$name, $author, $term, $date]) {
            wp_insert_post(['post_title' => "Post $name", 'post_name' => $name, 'post_content' => "Text of $name.", 'post_author' => $author, 'post_category' => [$term], 'post_status' => 'publish', 'post_date' => "$date 12:00:00"]);
        }
        foreach (['about', 'contact'] as $name) {
            wp_insert_post(['post_type' => 'page', 'post_title' => "Page $name", 'post_name' => $name, 'post_content' => "Text of $name.", 'post_author' => 1, 'post_status' => 'publish']);
        }
        $menu = wp_create_nav_menu('Main');
        wp_update_nav_menu_item($menu, 0, ['menu-item-object-id' => get_page_by_path('about')->ID, 'menu-item-object' => 'page', 'menu-item-type' => 'post_type', 'menu-item-status' => 'publish']);
        wp_update_nav_menu_item($menu, 0, ['menu-item-object-id' => get_page_by_path('a', OBJECT, 'post')->ID, 'menu-item-object' => 'post', 'menu-item-type' => 'post_type', 'menu-item-status' => 'publish']);
        set_theme_mod('nav_menu_locations', ['main' => $menu]);
        update_option('widget_text', [2 => ['title' => '', 'text' => 'A widget', 'filter' => false], '_multiwidget' => 1]);
        wp_set_sidebars_widgets(['side' => ['text-2'], 'wp_inactive_widgets' => []]);
        PHP;

    /** A visitor for whom nothing may be stored, and who gets the same page. */
    private const BYPASS = ['unknown' => '1'];

    private PageSite $site;
    private RedisServer $redis;

    protected function tearDown(): void
    {
        if (isset($this->site)) {
            $errors = $this->site->site->errors();
            unset($this->site, $this->redis);
            self::assertSame('', $errors);
        }
    }

    public function testExactlyThePagesThatShowItArePurgedOnBothServers(): void
    {
        $this->redis = new RedisServer();
        $this->site = new PageSite(['LARDER_DSN' => "redis://127.0.0.1:{$this->redis->port}/0", 'LARDER_NEAR' => 'apcu', 'EMPTY_TRASH_DAYS' => 30]);
        // Stored with the page, it tells which build of it one has.
        $this->site->plugin('add_action("send_headers", static function (): void { header("X-Built: " . bin2hex(random_bytes(6))); });');
        $this->site->theme();
        $this->site->site->cli(self::CONTENT);
        $id = fn(string $name, string $type = 'post'): string => "get_page_by_path('$name', OBJECT, '$type')->ID";
        $ofA = ['/', '/a/', '/category/one/', '/author/admin/', '/2024/05/', '/feed/'];
        $ofB = ['/', '/b/', '/category/one/', '/author/admin/', '/2024/06/', '/feed/'];
        $ofC = ['/', '/c/', '/category/two/', '/author/other/', '/2025/01/', '/feed/'];
        $menu = ['/about/', '/contact/'];
        $comments = [...$ofB, '/contact/'];

        $this->assertPurged('the text of a post', "wp_update_post(['ID' => {$id('a')}, 'post_content' => 'Another text.']);", $ofA);
        $this->assertPurged('the title of a post that is in the menu, and next to another', "wp_update_post(['ID' => {$id('a')}, 'post_title' => 'Another title']);", [...$ofA, '/b/', ...$menu]);
        $this->assertPurged('the text of a page that is in the menu', "wp_update_post(['ID' => {$id('about', 'page')}, 'post_content' => 'More about.']);", ['/about/']);
        $this->assertPurged('a draft', "wp_insert_post(['post_title' => 'Draft', 'post_content' => 'x', 'post_status' => 'draft']);", []);
        $this->assertPurged('meta that no page shows', "update_post_meta({$id('a')}, '_edit_lock', time() . ':1');", []);
        $this->assertPurged('meta', "update_post_meta({$id('c')}, 'price', '9.99');", $ofC);
        $this->assertPurged('a comment that waits', "wp_insert_comment(['comment_post_ID' => {$id('b')}, 'comment_author' => 'V', 'comment_content' => 'Well said.', 'comment_approved' => 0]);", []);
        $this->assertPurged('its approval', "wp_set_comment_status(get_comments()[0]->comment_ID, 'approve');", $comments);
        $this->assertPurged('its text', "wp_update_comment(['comment_ID' => get_comments()[0]->comment_ID, 'comment_content' => 'Not so.']);", $comments);
        $this->assertPurged('its way to the trash', "wp_trash_comment(get_comments()[0]->comment_ID);", $comments);
        $this->assertPurged('a user', "wp_update_user(['ID' => get_user_by('login', 'other')->ID, 'display_name' => 'Somebody']);", $ofC);
        $this->assertPurged('another term', "wp_set_post_terms({$id('c')}, [get_term_by('slug', 'one', 'category')->term_id], 'category');", [...$ofC, '/category/one/']);
        $this->assertPurged('the name of a term', "wp_update_term(get_term_by('slug', 'two', 'category')->term_id, 'category', ['name' => 'The second']);", ['/category/two/']);
        $this->assertPurged('a new post', "wp_insert_post(['post_title' => 'Post d', 'post_name' => 'd', 'post_content' => 'd', 'post_author' => get_user_by('login', 'other')->ID, 'post_category' => [get_term_by('slug', 'two', 'category')->term_id], 'post_status' => 'publish', 'post_date' => '2024-05-20 12:00:00']);", ['/', '/a/', '/b/', '/category/two/', '/author/other/', '/2024/05/', '/feed/']);
        $this->assertPurged('a post that goes to the trash', "wp_trash_post({$id('d')});", ['/', '/a/', '/b/', '/category/two/', '/author/other/', '/2024/05/', '/feed/']);
        $this->assertPurged('an item of the menu', "\$item = wp_get_nav_menu_items('Main')[0]; wp_update_nav_menu_item(wp_get_nav_menu_object('Main')->term_id, \$item->db_id, ['menu-item-title' => 'About us', 'menu-item-object-id' => \$item->object_id, 'menu-item-object' => 'page', 'menu-item-type' => 'post_type', 'menu-item-status' => 'publish']);", $menu);
        $this->assertPurged('meta of an item', "update_post_meta(wp_get_nav_menu_items('Main')[0]->db_id, '_menu_item_classes', ['a-class']);", $menu);
        $this->assertPurged('the order of the menu', "wp_update_post(['ID' => wp_get_nav_menu_items('Main')[0]->db_id, 'menu_order' => 9]);", $menu);
        $this->assertPurged('an item less', "wp_delete_post(wp_get_nav_menu_items('Main')[0]->db_id, true);", $menu);
        $this->assertPurged('a draft in a category', "wp_insert_post(['post_title' => 'Soon', 'post_name' => 'soon', 'post_content' => 'x', 'post_author' => get_user_by('login', 'other')->ID, 'post_category' => [get_term_by('slug', 'two', 'category')->term_id], 'post_status' => 'draft', 'post_date' => '2025-01-05 12:00:00']);", []);
        $this->assertPurged('its publication', "wp_publish_post({$id('soon')});", ['/', '/c/', '/category/two/', '/author/other/', '/2025/01/', '/feed/']);
        $this->assertPurged('a widget', "update_option('widget_text', [2 => ['title' => '', 'text' => 'Another widget', 'filter' => false], '_multiwidget' => 1]);", self::PATHS);
        $this->assertPurged('an option', "update_option('blogname', 'Renamed');", self::PATHS);
        $this->assertPurged('an option that a plugin notes for itself', "update_option('some_plugin_counter', 5);", []);
        $this->assertPurged('a permanently deleted post', "wp_delete_post({$id('b')}, true);", [...$ofB, '/a/', '/c/']);
        $this->assertPurged('the theme', "switch_theme('twentytwentyfive');", self::PATHS);
    }

    /**
     * @param string       $code   makes the change, in a request of the web
     * @param list<string> $purged the pages that are built anew; no others
     */
    private function assertPurged(string $what, string $code, array $purged): void
    {
        $paths = \array_values(\array_filter(self::PATHS, fn(string $path): bool => $this->site->get($path, self::BYPASS)->status === 200));
        $this->site->warm($paths);
        $before = $this->built($paths);
        $builds = \array_map(fn(string $path): string => $this->site->get($path)->header('x-built'), $paths);
        $this->site->web("require_once ABSPATH . 'wp-admin/includes/admin.php'; $code return 1;");
        $now = $this->built($paths);
        self::assertSame([], \array_values(\array_diff(\array_keys(\array_diff_assoc($now, $before)), $purged)), "$what: these pages change, and are not expected to.");
        $again = [];
        foreach ($paths as $number => $path) {
            // The other server first: nobody but the cache has told it.
            $second = $this->site->getFromSecond($path);
            self::assertSame($now[$path], $second->body, "$what: $path on the second server");
            $first = $this->site->get($path);
            self::assertSame($now[$path], $first->body, "$what: $path");
            $first->header('x-built') === $builds[$number] || $again[] = $path;
        }
        $expected = \array_values(\array_intersect($paths, $purged));
        self::assertSame($expected, $again, $what);
    }

    /**
     * @param list<string> $paths
     *
     * @return array<string, string> what WordPress makes of each now
     */
    private function built(array $paths): array
    {
        $pages = [];
        foreach ($paths as $path) {
            $response = $this->site->get($path, self::BYPASS);
            self::assertStringContainsString('unknown', $response->header('cache-status'), $path);
            $pages[$path] = $response->body;
        }

        return $pages;
    }
}
