<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

/**
 * WordPress's functions that write to its database, as code: what comes before, and what dies.
 *
 * $round is another number each time; what the first returns is $ids of the second, and what state.php looks at besides
 * all that is there.
 */
final class IntentCases
{
    private const POST = '$id = wp_insert_post(["post_title" => "Title $round", "post_status" => "publish", "post_content" => "Text it\'s", "meta_input" => ["colour" => "red", "size" => "1"]], true);';
    private const PAGES = '$id = wp_insert_post(["post_title" => "Page $round", "post_type" => "page", "post_status" => "publish"]);'
        . '$child = wp_insert_post(["post_title" => "Child $round", "post_type" => "page", "post_status" => "publish", "post_parent" => $id]);';
    private const TERM = '$id = wp_insert_term("Term $round", "category")["term_id"]; $child = wp_insert_term("Child $round", "category", ["parent" => $id])["term_id"];';
    private const USER = '$id = wp_insert_user(["user_login" => "u$round", "user_email" => "u$round@example.org", "user_pass" => "x", "role" => "author"]);';
    private const COMMENT = self::POST . '$comment = wp_insert_comment(["comment_post_ID" => $id, "comment_content" => "Comment $round", "comment_approved" => 1, "comment_author" => "A"]);'
        . '$answer = wp_insert_comment(["comment_post_ID" => $id, "comment_content" => "Answer $round", "comment_parent" => $comment, "comment_approved" => 1, "comment_author" => "B"]);';
    private const COMMENTS = self::COMMENT . 'return ["id" => $id, "comment" => $comment, "answer" => $answer];';

    /** The three of the promise. */
    public const FIRST = [
        'update_option' => ['update_option("opt_a", "v$round", true); return [];', 'update_option("opt_a", "w$round"); return [];'],
        'wp_update_post' => [
            self::TERM . self::POST . 'return ["id" => $id, "category" => $child];',
            'wp_update_post(["ID" => $ids["id"], "post_title" => "New $round", "post_content" => "New", "post_category" => [$ids["category"]], "tags_input" => ["tag$round"], "meta_input" => ["colour" => "blue"]]); return [];',
        ],
        'update_post_meta' => [self::POST . 'return ["id" => $id];', 'update_post_meta($ids["id"], "colour", "blue"); return [];'],
    ];

    public const OPTIONS = [
        'update_option, not autoloaded' => ['update_option("opt_b", "v$round", false); return [];', 'update_option("opt_b", "w$round"); return [];'],
        'update_option, now autoloaded' => ['update_option("opt_b", "v$round", false); return [];', 'update_option("opt_b", "w$round", true); return [];'],
        'update_option, autoloaded no more' => ['update_option("opt_b", "v$round", true); return [];', 'update_option("opt_b", "w$round", false); return [];'],
        'add_option' => ['return ["options" => ["new_$round"]];', 'add_option("new_$round", "x"); return [];'],
        'add_option, not autoloaded' => ['return ["options" => ["new_$round"]];', 'add_option("new_$round", ["it\'s" => "x"], "", false); return [];'],
        'delete_option' => ['add_option("new_$round", "x"); return ["options" => ["new_$round"]];', 'delete_option("new_$round"); return [];'],
        'delete_option, not autoloaded' => ['add_option("new_$round", "x", "", false); return ["options" => ["new_$round"]];', 'delete_option("new_$round"); return [];'],
        'wp_set_option_autoload_values' => [
            'update_option("opt_c", "v$round", true); update_option("opt_d", "v$round", false); return [];',
            'wp_set_option_autoload_values(["opt_c" => false, "opt_d" => true]); update_option("opt_c", "w$round"); return [];',
        ],
        'set_theme_mod' => ['set_theme_mod("colour", "v$round"); return [];', 'set_theme_mod("colour", "w$round"); return [];'],
        'activate_plugin' => ['deactivate_plugins("larder/extra.php"); file_put_contents(WP_PLUGIN_DIR . "/larder/extra.php", "<?php\n/* Plugin Name: Extra */\n"); wp_cache_delete("plugins", "plugins"); return [];', '$done = activate_plugin("larder/extra.php"); deactivate_plugins("larder/extra.php"); return $done;'],
        'calendar' => ['update_option("gmt_offset", "1"); wp_insert_post(["post_title" => "Title $round", "post_status" => "publish"]); return [];', 'update_option("gmt_offset", "2"); return [];'],
    ];

    public const POSTS = [
        'wp_insert_post' => ['return [];', self::POST . 'return is_wp_error($id) ? $id : [];'],
        'wp_insert_post, page' => ['return [];', self::PAGES . 'return [];'],
        'wp_update_post, published' => ['$id = wp_insert_post(["post_title" => "Draft $round"]); return ["id" => $id];', 'wp_update_post(["ID" => $ids["id"], "post_status" => "publish"]); return [];'],
        'wp_update_post, another parent' => [self::PAGES . '$other = wp_insert_post(["post_title" => "Other $round", "post_type" => "page", "post_status" => "publish"]); return ["child" => $child, "other" => $other];', 'wp_update_post(["ID" => $ids["child"], "post_parent" => $ids["other"], "post_type" => "page"]); return [];'],
        'wp_publish_post' => ['$id = wp_insert_post(["post_title" => "Draft $round"]); return ["id" => $id];', 'wp_publish_post($ids["id"]); return [];'],
        'set_post_type' => [self::PAGES . 'return ["id" => $child];', 'set_post_type($ids["id"], "post"); return [];'],
        'wp_trash_post' => [self::COMMENTS, 'wp_trash_post($ids["id"]); return [];'],
        'wp_untrash_post' => [self::COMMENT . 'wp_trash_post($id); return ["id" => $id];', 'wp_untrash_post($ids["id"]); return [];'],
        'wp_delete_post' => [self::COMMENTS, 'wp_delete_post($ids["id"], true); return [];'],
        'wp_delete_post, with children' => [self::PAGES . 'return ["id" => $id];', 'wp_delete_post($ids["id"], true); return [];'],
        'wp_insert_attachment' => [self::POST . 'return ["id" => $id];', 'wp_delete_attachment(wp_insert_attachment(["post_title" => "File $round", "post_mime_type" => "image/png"], "x.png", $ids["id"]), true); return [];'],
        'stick_post' => [self::POST . 'return ["id" => $id];', 'stick_post($ids["id"]); return [];'],
    ];

    public const METADATA = [
        'add_post_meta' => [self::POST . 'return ["id" => $id];', 'add_post_meta($ids["id"], "new", "it\'s ) WHERE `post_id` = 1"); return [];'],
        'delete_post_meta' => [self::POST . 'return ["id" => $id];', 'delete_post_meta($ids["id"], "colour"); return [];'],
        'delete_post_meta_by_key' => [self::POST . 'return ["id" => $id];', 'delete_post_meta_by_key("colour"); return [];'],
        'update_metadata_by_mid' => [self::POST . 'return ["mid" => add_post_meta($id, "new", "a")];', 'update_metadata_by_mid("post", $ids["mid"], "b"); return [];'],
        'delete_metadata_by_mid' => [self::POST . 'return ["mid" => add_post_meta($id, "new", "a")];', 'delete_metadata_by_mid("post", $ids["mid"]); return [];'],
        'update_post_meta, of one value' => [self::POST . 'add_post_meta($id, "size", "a WHERE b"); return ["id" => $id];', 'update_post_meta($ids["id"], "size", "3", "a WHERE b"); return [];'],
        'update_user_meta' => ['update_user_meta(1, "colour", "red"); return [];', 'update_user_meta(1, "colour", "w$round"); return [];'],
        'delete_user_meta' => ['update_user_meta(1, "colour", "red"); return [];', 'delete_user_meta(1, "colour"); return [];'],
        'update_term_meta' => ['update_term_meta(1, "colour", "red"); return [];', 'update_term_meta(1, "colour", "w$round"); return [];'],
        'add_term_meta' => ['return [];', 'add_term_meta(1, "size", "w$round"); return [];'],
        'update_comment_meta' => ['update_comment_meta(1, "colour", "red"); return [];', 'update_comment_meta(1, "colour", "w$round"); return [];'],
        'delete_comment_meta' => ['update_comment_meta(1, "colour", "red"); return [];', 'delete_comment_meta(1, "colour"); return [];'],
    ];

    public const TERMS = [
        'wp_insert_term' => ['return [];', 'wp_insert_term("Term $round", "category"); return [];'],
        'wp_update_term' => [self::TERM . 'return ["terms" => [$id], "id" => $child];', 'wp_update_term($ids["id"], "category", ["name" => "New $round", "description" => "New", "parent" => 0]); return [];'],
        'wp_delete_term' => [self::TERM . '$term = $id; ' . self::POST . 'wp_set_post_terms($id, [$term], "category"); return ["terms" => [$term], "category" => $child];', 'wp_delete_term($ids["terms"][0], "category"); return [];'],
        'wp_set_object_terms' => [self::POST . 'wp_set_post_tags($id, ["a", "b"]); return ["id" => $id];', 'wp_set_object_terms($ids["id"], ["b", "c$round"], "post_tag"); return [];'],
        'wp_remove_object_terms' => [self::POST . 'wp_set_post_tags($id, ["a", "b"]); return ["id" => $id];', 'wp_remove_object_terms($ids["id"], ["a"], "post_tag"); return [];'],
        'wp_update_term_count' => [self::TERM . '$wpdb->query("UPDATE $wpdb->term_taxonomy SET count = 7 WHERE term_id = $id"); clean_term_cache([$id]); return ["tt" => get_term($id)->term_taxonomy_id];', 'wp_update_term_count([$ids["tt"]], "category"); return [];'],
    ];

    public const USERS = [
        'wp_insert_user' => ['return [];', self::USER . 'return is_wp_error($id) ? $id : [];'],
        'wp_update_user' => [
            self::USER . 'return ["id" => $id, "mail" => ["u$round@example.org", "n$round@example.org"], "slugs" => ["u$round", "n$round"]];',
            'wp_update_user(["ID" => $ids["id"], "user_email" => "n$round@example.org", "user_nicename" => "n$round", "display_name" => "New", "first_name" => "New"]); return [];',
        ],
        'wp_set_password' => [self::USER . 'return ["id" => $id];', 'wp_set_password("new$round", $ids["id"]); return [];'],
        'set_role' => [self::USER . 'return ["id" => $id];', '(new WP_User($ids["id"]))->set_role("editor"); return [];'],
        'wp_delete_user' => [
            self::USER . '$user = $id; wp_insert_post(["post_title" => "Post $round", "post_status" => "publish", "post_author" => $user]); return ["users" => [$user], "mail" => ["u$round@example.org"], "slugs" => ["u$round"]];',
            'wp_delete_user($ids["users"][0], 1); return [];',
        ],
    ];

    public const COMMENTS_AND_LINKS = [
        'wp_insert_comment' => [self::POST . 'return ["id" => $id];', 'wp_insert_comment(["comment_post_ID" => $ids["id"], "comment_content" => "New $round", "comment_approved" => 1, "comment_meta" => ["colour" => "red"]]); return [];'],
        'wp_update_comment' => [self::COMMENTS, 'wp_update_comment(["comment_ID" => $ids["comment"], "comment_content" => "New $round", "comment_approved" => 0]); return [];'],
        'wp_set_comment_status' => [self::COMMENTS, 'wp_set_comment_status($ids["comment"], "hold"); return [];'],
        'wp_delete_comment' => [self::COMMENTS, 'wp_delete_comment($ids["comment"], true); return [];'],
        'wp_update_link' => [
            '$id = wp_insert_link(["link_name" => "Link $round", "link_url" => "https://example.org/$round"]); return ["links" => [$id]];',
            'wp_update_link(["link_id" => $ids["links"][0], "link_name" => "New $round"]); return [];',
        ],
        'wp_delete_link' => [
            '$id = wp_insert_link(["link_name" => "Link $round", "link_url" => "https://example.org/$round"]); return ["links" => [$id]];',
            'wp_delete_link($ids["links"][0]); return [];',
        ],
    ];

    public const NETWORK = [
        'add_network_option' => ['return ["network" => ["net_$round"]];', 'add_network_option(1, "net_$round", "x"); return [];'],
        'update_network_option' => ['update_network_option(1, "net", "v$round"); return [];', 'update_network_option(1, "net", "w$round"); return [];'],
        'delete_network_option' => ['update_network_option(1, "net", "v$round"); return ["network" => ["net"]];', 'delete_network_option(1, "net"); return [];'],
        'update_blog_option' => ['update_blog_option(2, "colour", "v$round"); return [];', 'update_blog_option(2, "colour", "w$round"); return [];'],
        'update_option, blogname' => ['update_option("blogname", "v$round"); return [];', 'update_option("blogname", "w$round"); return [];'],
        'update_blog_details' => ['update_blog_details(2, ["public" => 1]); return [];', 'update_blog_details(2, ["public" => 0]); return [];'],
        'wp_update_site' => ['wp_update_site(2, ["path" => "/second/"]); return ["places" => ["/second/", "/moved$round/"]];', 'wp_update_site(2, ["path" => "/moved$round/"]); return [];'],
        'update_site_meta' => ['update_site_meta(2, "colour", "v$round"); return [];', 'update_site_meta(2, "colour", "w$round"); return [];'],
        'switched wp_update_post' => [
            'switch_to_blog(2); $id = wp_insert_post(["post_title" => "Title $round", "post_status" => "publish"]); restore_current_blog(); return ["id" => $id];',
            'switch_to_blog(2); wp_update_post(["ID" => $ids["id"], "post_title" => "New $round"]); restore_current_blog(); return [];',
        ],
        'wp_insert_site' => [
            'return ["places" => ["/n$round/"]];',
            'wp_insert_site(["domain" => get_network()->domain, "path" => "/n$round/", "title" => "New", "user_id" => 1]); return [];',
        ],
    ];
}
