<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Page\Serve;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\Group;

/**
 * On a real site with two servers over one Redis: whatever changes, exactly the pages that show it are built anew, at once, on
 * both. What a page should be is what WordPress builds for a visitor with a cookie that nobody knows.
 *
 * @extends OwnSiteTestCase<PageSite>
 */
#[Group('wordpress')]
final class PagePurgeTest extends OwnSiteTestCase
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

    private ?RedisServer $redis = null;

    protected function tearDown(): void
    {
        parent::tearDown();
        $this->redis = null;
    }

    #[Group('long')]
    public function testExactlyThePagesThatShowItArePurgedInTheFastDoorsCopies(): void
    {
        $this->testExactlyThePagesThatShowItArePurgedOnBothServers(false);
    }

    #[Group('long')]
    public function testWhatAThemeOfBlocksIsMadeOfInTheFastDoorsCopies(): void
    {
        $this->testWhatAThemeOfBlocksIsMadeOf(false);
    }

    public function testExactlyThePagesThatShowItArePurgedOnBothServers(bool $isFar = true): void
    {
        $this->open($isFar);
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
        $this->assertPurged('a post that sticks to the front', "stick_post({$id('a')});", self::PATHS);
        $this->assertPurged('the site\'s own styles', "wp_update_custom_css_post('body { color: red }');", self::PATHS);
        $this->assertPurged('a plugin that is switched on', "activate_plugin('tiny.php');", self::PATHS);
        $this->assertPurged('a plugin that is switched off', "deactivate_plugins('tiny.php');", self::PATHS);
        $this->assertPurged('a page in place of the front page', "update_option('page_on_front', {$id('about', 'page')}); update_option('show_on_front', 'page');", self::PATHS);
        $this->assertPurged('the text of the front page', "wp_update_post(['ID' => {$id('about', 'page')}, 'post_content' => 'In front.']);", ['/', '/about/']);
        $this->assertPurged('the front page as it was', "update_option('show_on_front', 'posts');", self::PATHS);
        $this->assertPurged('how many posts a page has', "update_option('posts_per_page', 2);", self::PATHS);
        $this->assertPurged('an excerpt', "wp_update_post(['ID' => {$id('contact', 'page')}, 'post_excerpt' => 'An excerpt.']);", ['/contact/']);
        $this->assertPurged('the address of an author', "wp_update_user(['ID' => 1, 'user_nicename' => 'boss']);", [...$ofA, ...$ofB, ...$menu]);
        $this->assertPurged('the first author\'s name', "wp_update_user(['ID' => 1, 'display_name' => 'The boss']);", [...$ofA, ...$ofB, ...$menu]);
        $this->assertPurged('a date', "wp_update_post(['ID' => {$id('a')}, 'post_date' => '2024-06-20 12:00:00', 'post_date_gmt' => '2024-06-20 12:00:00', 'edit_date' => true]);", [...$ofA, ...$ofB, '/c/', ...$menu]);
        $this->assertPurged('the form of addresses', "\$GLOBALS['wp_rewrite']->set_permalink_structure('/%year%/%postname%/'); flush_rewrite_rules();", self::PATHS);
        $this->assertPurged('the form of addresses as it was', "\$GLOBALS['wp_rewrite']->set_permalink_structure('/%postname%/'); flush_rewrite_rules();", self::PATHS);
        $this->assertPurged('a permanently deleted post', "wp_delete_post({$id('b')}, true);", [...$ofB, '/a/']);
        $this->assertPurged('the theme', "switch_theme('twentytwentyfive');", self::PATHS);
        // The last one, for the post's own page is not stored any more.
        $this->assertPurged('a password', "wp_update_post(['ID' => {$id('c')}, 'post_password' => 'secret']);", ['/', '/a/', '/c/', '/category/one/', '/author/other/', '/2025/01/', '/feed/']);
    }

    /** A theme of blocks: what makes up its pages lies in posts. */
    public function testWhatAThemeOfBlocksIsMadeOf(bool $isFar = true): void
    {
        $this->open($isFar);
        $this->site->site->cli(<<<'PHP'
            switch_theme('twentytwentyfive');
            $pattern = wp_insert_post(['post_type' => 'wp_block', 'post_title' => 'Pattern', 'post_name' => 'pattern', 'post_content' => 'A pattern.', 'post_status' => 'publish']);
            wp_update_post(['ID' => get_page_by_path('a', OBJECT, 'post')->ID, 'post_content' => '<!-- wp:block {"ref":' . $pattern . '} /-->']);
            $navigation = wp_insert_post(['post_type' => 'wp_navigation', 'post_title' => 'Navigation', 'post_name' => 'of-about', 'post_content' => '<!-- wp:navigation-link {"label":"First","url":"/about/"} /-->', 'post_status' => 'publish']);
            wp_update_post(['ID' => get_page_by_path('about')->ID, 'post_content' => '<!-- wp:navigation {"ref":' . $navigation . '} /-->']);
            $part = wp_insert_post(['post_type' => 'wp_template_part', 'post_title' => 'Header', 'post_name' => 'header', 'post_content' => 'A header.', 'post_status' => 'publish']);
            wp_set_post_terms($part, ['twentytwentyfive'], 'wp_theme');
            wp_set_post_terms($part, ['header'], 'wp_template_part_area');
            PHP);
        $id = fn(string $name, string $type): string => "get_posts(['post_type' => '$type', 'name' => '$name', 'post_status' => 'any', 'numberposts' => 1, 'suppress_filters' => true])[0]->ID";
        $this->assertPurged('a pattern', "wp_update_post(['ID' => {$id('pattern', 'wp_block')}, 'post_content' => 'Another pattern.']);", ['/', '/a/', '/category/one/', '/author/admin/', '/2024/05/', '/feed/']);
        $this->assertPurged('a navigation', "wp_update_post(['ID' => {$id('of-about', 'wp_navigation')}, 'post_content' => '<!-- wp:navigation-link {\"label\":\"Second\",\"url\":\"/contact/\"} /-->']);", ['/about/']);
        $this->assertPurged('a part of a template', "wp_update_post(['ID' => {$id('header', 'wp_template_part')}, 'post_content' => 'Another header.']);", self::PATHS);
        $this->assertPurged('a template', "\$template = wp_insert_post(['post_type' => 'wp_template', 'post_title' => 'Single', 'post_name' => 'single', 'post_content' => '<!-- wp:post-title /-->', 'post_status' => 'publish']); wp_set_post_terms(\$template, ['twentytwentyfive'], 'wp_theme');", self::PATHS);
        $this->assertPurged('its styles', "wp_update_post(['ID' => WP_Theme_JSON_Resolver::get_user_global_styles_post_id(), 'post_content' => '{\"version\":3,\"isGlobalStylesUserThemeJSON\":true,\"styles\":{\"color\":{\"background\":\"#123456\"}}}']);", self::PATHS);
    }

    private function open(bool $isFar): void
    {
        $far = [];
        if ($isFar) {
            $this->redis = new RedisServer();
            $far = ['LARDER_DSN' => "redis://127.0.0.1:{$this->redis->port}/0?timeout=5", 'LARDER_NEAR' => 'apcu'];
        }
        $this->site = new PageSite($far + ['EMPTY_TRASH_DAYS' => 30]);
        // Stored with the page, it tells which build of it one has.
        $this->site->plugin('add_action("send_headers", static function (): void { header("X-Built: " . bin2hex(random_bytes(6))); });');
        $plugin = $this->site->site->content('plugins/tiny.php');
        \file_put_contents($plugin, "<?php\n/* Plugin Name: Tiny */\nadd_action('wp_footer', static fn() => print('tiny'));");
        $this->site->site->account->receive($plugin);
        $this->site->theme();
        $this->site->site->cli(self::CONTENT);
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
        // Nobody else than the fast door makes one.
        self::assertCount($this->redis === null ? 1 : 0, \glob(Serve::MEMORY . "*-{$this->site->name()}-*") ?: []);
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
