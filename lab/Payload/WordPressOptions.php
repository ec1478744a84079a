<?php

declare(strict_types=1);

namespace Larder\Lab\Payload;

/**
 * The autoloaded options of a site with twenty plugins, as wp_load_alloptions() holds them: every one a string, what
 * was an array serialized in its string (wp-includes/option.php).
 *
 * The names and forms are those of wp-admin/includes/schema.php, wp-includes/cron.php, wp-includes/widgets.php and
 * WP_Rewrite::generate_rewrite_rules(); the plugins are nobody's. Of transients only those without an end are
 * autoloaded (set_transient()).
 */
final readonly class WordPressOptions
{
    public const COUNT = 400;

    private const HOME = 'https://www.example.org';

    /** Options of a new installation that are short, with the values most sites leave them at. */
    private const SHORT = [
        'users_can_register' => '0', 'admin_email' => 'owner@example.org', 'start_of_week' => '1', 'use_balanceTags' => '0',
        'use_smilies' => '1', 'require_name_email' => '1', 'comments_notify' => '1', 'posts_per_rss' => '10',
        'rss_use_excerpt' => '0', 'mailserver_url' => 'mail.example.com', 'mailserver_login' => 'login@example.com',
        'mailserver_pass' => '', 'mailserver_port' => '110', 'default_category' => '1', 'default_comment_status' => 'open',
        'default_ping_status' => 'open', 'default_pingback_flag' => '0', 'posts_per_page' => '10', 'date_format' => 'F j, Y',
        'time_format' => 'g:i a', 'links_updated_date_format' => 'F j, Y g:i a', 'comment_moderation' => '0',
        'moderation_notify' => '1', 'permalink_structure' => '/%postname%/', 'hack_file' => '0', 'blog_charset' => 'UTF-8',
        'category_base' => '', 'ping_sites' => 'http://rpc.pingomatic.com/', 'comment_max_links' => '2', 'gmt_offset' => '',
        'default_email_category' => '1', 'template' => 'twentytwentyfive', 'stylesheet' => 'twentytwentyfive',
        'comment_registration' => '0', 'html_type' => 'text/html', 'use_trackback' => '0', 'default_role' => 'subscriber',
        'db_version' => '60421', 'uploads_use_yearmonth_folders' => '1', 'upload_path' => '', 'blog_public' => '1',
        'default_link_category' => '2', 'show_on_front' => 'page', 'tag_base' => '', 'show_avatars' => '1',
        'avatar_rating' => 'G', 'upload_url_path' => '', 'thumbnail_size_w' => '150', 'thumbnail_size_h' => '150',
        'thumbnail_crop' => '1', 'medium_size_w' => '300', 'medium_size_h' => '300', 'avatar_default' => 'mystery',
        'large_size_w' => '1024', 'large_size_h' => '1024', 'image_default_link_type' => 'none', 'image_default_size' => '',
        'image_default_align' => '', 'close_comments_for_old_posts' => '0', 'close_comments_days_old' => '14',
        'thread_comments' => '1', 'thread_comments_depth' => '5', 'page_comments' => '0', 'comments_per_page' => '50',
        'default_comments_page' => 'newest', 'comment_order' => 'asc', 'timezone_string' => 'Europe/Berlin',
        'page_for_posts' => '12', 'page_on_front' => '9', 'default_post_format' => '0', 'link_manager_enabled' => '0',
        'finished_splitting_shared_terms' => '1', 'site_icon' => '41', 'medium_large_size_w' => '768',
        'medium_large_size_h' => '0', 'wp_page_for_privacy_policy' => '3', 'show_comments_cookies_opt_in' => '1',
        'admin_email_lifespan' => '1762000000', 'comment_previously_approved' => '1', 'auto_update_core_dev' => 'enabled',
        'auto_update_core_minor' => 'enabled', 'auto_update_core_major' => 'unset', 'initial_db_version' => '53496',
        'fresh_site' => '0', 'WPLANG' => '', 'https_detection_errors' => 'a:0:{}', 'db_upgraded' => '', 'recently_activated' => 'a:0:{}',
        'finished_updating_comment_type' => '1', 'wp_attachment_pages_enabled' => '0', 'can_compress_scripts' => '0',
        'sticky_posts' => 'a:0:{}', 'wp_force_deactivated_plugins' => 'a:0:{}', 'nav_menu_options' => 'a:1:{s:8:"auto_add";a:0:{}}',
    ];

    /** Ends of the rules that WP_Rewrite makes for an address that has pages and feeds. */
    private const ENDS = [
        'feed/(feed|rdf|rss|rss2|atom)/?$' => '&feed=$matches[%d]',
        '(feed|rdf|rss|rss2|atom)/?$' => '&feed=$matches[%d]',
        'embed/?$' => '&embed=true',
        'page/?([0-9]{1,})/?$' => '&paged=$matches[%d]',
        '?$' => '',
    ];

    private const CAPABILITIES = [
        'read', 'level_0', 'edit_posts', 'delete_posts', 'level_1', 'publish_posts', 'upload_files', 'edit_published_posts',
        'delete_published_posts', 'level_2', 'moderate_comments', 'manage_categories', 'manage_links', 'unfiltered_html',
        'edit_others_posts', 'edit_pages', 'edit_others_pages', 'edit_published_pages', 'publish_pages', 'delete_pages',
        'delete_others_pages', 'delete_published_pages', 'delete_others_posts', 'delete_private_posts', 'edit_private_posts',
        'read_private_posts', 'delete_private_pages', 'edit_private_pages', 'read_private_pages', 'level_7', 'switch_themes',
        'edit_themes', 'activate_plugins', 'edit_plugins', 'edit_users', 'edit_files', 'manage_options', 'import', 'level_10',
        'delete_users', 'create_users', 'update_plugins', 'delete_plugins', 'install_plugins', 'update_themes',
        'install_themes', 'update_core', 'list_users', 'remove_users', 'promote_users', 'edit_theme_options', 'export',
    ];

    public function __construct(private Prose $prose) {}

    /** @return array<string, string> COUNT of them */
    public function all(): array
    {
        $plugins = [];
        while (\count($plugins) < 20) {
            $plugins[$this->prose->rare() . '-' . $this->prose->rare()] = true;
        }
        $plugins = \array_keys($plugins);
        \sort($plugins);

        $options = [
            'siteurl' => self::HOME,
            'home' => self::HOME,
            'blogname' => $this->prose->title(2, 4),
            'blogdescription' => $this->prose->sentence(),
            ...self::SHORT,
            'rewrite_rules' => $this->rewriteRules(),
            'active_plugins' => \serialize(\array_map(static fn(string $plugin): string => "$plugin/$plugin.php", $plugins)),
            'wp_user_roles' => $this->roles(),
            'cron' => $this->cron($plugins),
            'sidebars_widgets' => \serialize(['wp_inactive_widgets' => ['block-7', 'block-8'], 'sidebar-1' => ['block-2', 'block-3', 'block-4'], 'footer-1' => ['block-5', 'text-2'], 'array_version' => 3]),
            ...$this->widgets(),
            'theme_mods_twentytwentyfive' => \serialize(['custom_css_post_id' => -1, 'nav_menu_locations' => ['primary' => 4, 'footer' => 7], 'sidebars_widgets' => ['time' => WordPressCorpus::NOW - 9_000_000, 'data' => ['wp_inactive_widgets' => [], 'sidebar-1' => ['block-2', 'block-3']]]]),
            '_transient_is_multi_author' => '1',
            '_transient_health-check-site-status-result' => '{"good":17,"recommended":4,"critical":1}',
        ];
        while (\count($options) < self::COUNT) {
            [$name, $value] = $this->plugin($plugins[\count($options) % \count($plugins)]);
            $options[$name] ??= $value;
        }

        return $options;
    }

    /**
     * An option of a plugin. Most are short, one in eight is a whole page of settings.
     *
     * @return array{string, string} name and value
     */
    private function plugin(string $plugin): array
    {
        $prose = $this->prose;
        $prose->turn();
        $prefix = \strtr($plugin, '-', '_');
        [$name, $value] = match ($prose->int(0, 15)) {
            0 => ['version', \sprintf('%d.%d.%d', $prose->int(1, 9), $prose->int(0, 20), $prose->int(0, 9))],
            1 => ['db_version', (string) $prose->int(100, 4_000)],
            2 => ['installed', (string) (WordPressCorpus::NOW - $prose->int(1_000_000, 90_000_000))],
            3 => ['license_key', $prose->hex(32)],
            4 => ["{$prose->rare()}_email", "{$prose->rare()}@example.org"],
            5 => ["{$prose->rare()}_text", $prose->paragraph(1, 3)],
            6, 7 => ["{$prose->rare()}_settings", $this->settings($prose->int(12, 36))],
            8 => ["{$prose->rare()}_notices", \serialize(\array_fill(0, $prose->int(1, 4), ['id' => $prose->rare(), 'seen' => true, 'time' => WordPressCorpus::NOW - $prose->int(1, 900_000)]))],
            9 => ["{$prose->rare()}_page_id", (string) $prose->int(10, 4_000)],
            10 => ["{$prose->rare()}_ids", \implode(',', \array_map(fn(): int => $prose->int(100, 4_000), \range(1, $prose->int(3, 14))))],
            default => ["{$prose->rare()}_{$prose->rare()}", $prose->one(['yes', 'no', '1', '0', 'on', '', (string) $prose->int(1, 500)])],
        };

        return [($name === 'installed' ? '_transient_' : '') . "{$prefix}_$name", $value];
    }

    private function settings(int $count): string
    {
        $prose = $this->prose;
        $settings = [];
        for (; $count > 0; --$count) {
            $settings["{$prose->rare()}_{$prose->word()}"] = match ($prose->int(0, 6)) {
                0 => true,
                1 => $prose->int(0, 2_000),
                2 => '#' . $prose->hex(6),
                3 => $prose->sentence(),
                4 => [$prose->rare(), $prose->rare(), $prose->rare()],
                5 => self::HOME . "/{$prose->rare()}/",
                default => $prose->word(),
            };
        }

        return \serialize($settings);
    }

    /** Rules of a site with three kinds of posts and four taxonomies of its plugins besides WordPress's own. */
    private function rewriteRules(): string
    {
        $rules = [
            '^wp-json/?$' => 'index.php?rest_route=/',
            '^wp-json/(.*)?' => 'index.php?rest_route=/$matches[1]',
            '^wp-sitemap\.xml$' => 'index.php?sitemap=index',
            'robots\.txt$' => 'index.php?robots=1',
            'favicon\.ico$' => 'index.php?favicon=1',
            '.*wp-(atom|rdf|rss|rss2|feed|commentsrss2)\.php$' => 'index.php?feed=old',
        ];
        foreach (['category' => 'category_name', 'tag' => 'tag', 'type' => 'post_format', ...$this->variables(4)] as $base => $variable) {
            $rules += self::ends("$base/(.+?)/", "index.php?$variable=\$matches[1]", 2);
        }
        foreach ($this->variables(3) as $base => $variable) {
            $rules += self::ends("$base/", "index.php?post_type=$variable", 1);
            $rules += self::attachments("$base/[^/]+/");
            $rules += self::ends("$base/([^/]+)/", "index.php?$variable=\$matches[1]", 2);
        }
        $rules += self::ends('', 'index.php?', 1);
        $rules += self::ends('search/(.+)/', 'index.php?s=$matches[1]', 2);
        $rules += self::ends('author/([^/]+)/', 'index.php?author_name=$matches[1]', 2);
        $rules += self::ends('([0-9]{4})/([0-9]{1,2})/([0-9]{1,2})/', 'index.php?year=$matches[1]&monthnum=$matches[2]&day=$matches[3]', 4);
        $rules += self::ends('([0-9]{4})/([0-9]{1,2})/', 'index.php?year=$matches[1]&monthnum=$matches[2]', 3);
        $rules += self::ends('([0-9]{4})/', 'index.php?year=$matches[1]', 2);
        $rules += self::attachments('.?.+?/');
        $rules += self::ends('(.?.+?)/', 'index.php?pagename=$matches[1]', 2);
        $rules += self::attachments('[^/]+/');
        $rules += self::ends('([^/]+)/', 'index.php?name=$matches[1]', 2);

        return \serialize($rules);
    }

    /** @return array<string, string> what stands in the address => the query's variable */
    private function variables(int $count): array
    {
        $variables = [];
        for (; $count > 0; --$count) {
            $variables["{$this->prose->rare()}-{$this->prose->rare()}"] = $this->prose->rare();
        }

        return $variables;
    }

    /** @return array<string, string> the site's own front page, which has no address, needs no rule */
    private static function ends(string $address, string $query, int $next): array
    {
        $rules = [];
        foreach (self::ENDS as $end => $more) {
            if ($address . $end !== '?$') {
                $rules[$address . $end] = $query . \sprintf($more, $next);
            }
        }

        return $rules;
    }

    /** @return array<string, string> */
    private static function attachments(string $address): array
    {
        $rules = [];
        foreach (["{$address}attachment/([^/]+)/", "$address([^/]+)/"] as $attachment) {
            $rules += ["{$attachment}trackback/?$" => 'index.php?attachment=$matches[1]&tb=1'] + self::ends($attachment, 'index.php?attachment=$matches[1]', 2);
        }

        return $rules;
    }

    /** Each role has what the one below it has. */
    private function roles(): string
    {
        $roles = [];
        foreach (['administrator' => 52, 'editor' => 30, 'author' => 10, 'contributor' => 5, 'subscriber' => 2, $this->prose->rare() => 33, $this->prose->rare() => 4] as $role => $count) {
            $roles[$role] = ['name' => \ucfirst($role), 'capabilities' => \array_fill_keys(\array_slice(self::CAPABILITIES, 0, $count), true)];
        }

        return \serialize($roles);
    }

    /**
     * Time => hook => hash of the arguments => how often (_set_cron_array() in wp-includes/cron.php).
     *
     * @param list<string> $plugins
     */
    private function cron(array $plugins): string
    {
        $hooks = ['wp_privacy_delete_old_export_files', 'wp_version_check', 'wp_update_plugins', 'wp_update_themes', 'recovery_mode_clean_expired_keys', 'wp_scheduled_delete', 'delete_expired_transients', 'wp_scheduled_auto_draft_delete', 'wp_site_health_scheduled_check'];
        foreach ($plugins as $plugin) {
            $hooks[] = \strtr($plugin, '-', '_') . '_' . $this->prose->rare();
        }
        $none = \hash('md5', \serialize([]));
        $cron = [];
        foreach ($hooks as $hook) {
            [$schedule, $interval] = $this->prose->one([['hourly', 3_600], ['twicedaily', 43_200], ['daily', 86_400], ['weekly', 604_800]]);
            $cron[WordPressCorpus::NOW + $this->prose->int(1, $interval)][$hook] = [$none => ['schedule' => $schedule, 'args' => [], 'interval' => $interval]];
        }
        \ksort($cron);

        return \serialize($cron + ['version' => 2]);
    }

    /** @return array<string, string> */
    private function widgets(): array
    {
        $widgets = [];
        foreach (['pages', 'calendar', 'archives', 'media_audio', 'media_image', 'media_gallery', 'media_video', 'meta', 'search', 'recent-posts', 'recent-comments', 'rss', 'tag_cloud', 'nav_menu', 'custom_html', 'categories'] as $widget) {
            $widgets["widget_$widget"] = \serialize(['_multiwidget' => 1]);
        }
        $widgets['widget_text'] = \serialize([2 => ['title' => $this->prose->title(), 'text' => $this->prose->paragraph(), 'filter' => true, 'visual' => true], '_multiwidget' => 1]);
        $blocks = [];
        for ($i = 2; $i < 9; ++$i) {
            $blocks[$i] = ['content' => "<!-- wp:group -->\n<div class=\"wp-block-group\"><!-- wp:heading -->\n<h2 class=\"wp-block-heading\">{$this->prose->title()}</h2>\n<!-- /wp:heading --><!-- wp:paragraph -->\n<p>{$this->prose->paragraph(1, 3)}</p>\n<!-- /wp:paragraph --></div>\n<!-- /wp:group -->"];
        }
        $widgets['widget_block'] = \serialize($blocks + ['_multiwidget' => 1]);

        return $widgets;
    }
}
