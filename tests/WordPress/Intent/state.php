<?php

/** All that WordPress's functions say of a site: once by the cache, once without, it must be the same. */

declare(strict_types=1);

/**
 * @param array<string, mixed> $ids what the case has made, and names what may not be there
 *
 * @return array<string, mixed>
 */
return static function (array $ids): array {
    global $wpdb;
    $state = [];
    $plain = static fn(mixed $value): mixed => json_decode((string) json_encode($value, JSON_PARTIAL_OUTPUT_ON_ERROR), true);
    // Made by whoever reads the terms; and what WordPress and the plugin keep there without a cache.
    $made = static fn(string $name): bool => $name === 'larder' || str_contains($name, '_transient_') || str_ends_with($name, '_children');
    $names = array_filter($wpdb->get_col("SELECT option_name FROM $wpdb->options"), static fn(string $name): bool => !$made($name));
    foreach ([...$names, ...($ids['options'] ?? [])] as $name) {
        $state["option $name"] = get_option($name, 'none');
    }
    $state['alloptions'] = array_filter(wp_load_alloptions(), static fn(string $name): bool => !$made($name), ARRAY_FILTER_USE_KEY);
    ksort($state['alloptions']);
    $taxonomies = array_values(get_taxonomies());
    $last = (int) $wpdb->get_var("SELECT MAX(ID) FROM $wpdb->posts") + 1;
    for ($id = max(1, $last - 30); $id <= $last; $id++) {
        $post = get_post($id);
        $state["post $id"] = $post === null ? null : $plain($post->to_array());
        $state["meta of post $id"] = get_post_meta($id);
        $state["terms of post $id"] = $post === null ? [] : array_map(
            static fn(string $taxonomy): mixed => $plain(get_the_terms($id, $taxonomy)),
            get_object_taxonomies($post->post_type),
        );
    }
    // Many are made in one second.
    $order = ['orderby' => 'ID', 'order' => 'DESC'];
    foreach (['post', 'page', 'any', 'attachment'] as $type) {
        foreach (['publish', 'draft', 'trash', 'any'] as $status) {
            $query = ['post_type' => $type, 'post_status' => $status, 'posts_per_page' => 20] + $order;
            $state["query $type $status"] = $plain(wp_list_pluck((new WP_Query($query))->posts, 'post_title', 'ID'));
            $state["parents $type $status"] = (new WP_Query($query + ['fields' => 'id=>parent']))->posts;
        }
    }
    $state['by meta'] = (new WP_Query(['post_type' => 'any', 'post_status' => 'any', 'fields' => 'ids', 'meta_key' => 'colour', 'meta_value' => 'red'] + $order))->posts;
    $state['by term'] = (new WP_Query(['post_type' => 'any', 'post_status' => 'any', 'fields' => 'ids', 'cat' => $ids['category'] ?? 1] + $order))->posts;
    $state['pages'] = get_all_page_ids();
    $state['archives'] = wp_get_archives(['echo' => false]);
    $state['calendar'] = get_calendar(['display' => false]);
    foreach (['server', 'gmt', 'blog'] as $zone) {
        $state["last post $zone"] = [get_lastpostdate($zone), get_lastpostdate($zone, 'post'), get_lastpostmodified($zone), get_lastcommentmodified($zone)];
    }
    foreach ($taxonomies as $taxonomy) {
        $state["terms $taxonomy"] = $plain(get_terms(['taxonomy' => $taxonomy, 'hide_empty' => false]));
        $state["hierarchy $taxonomy"] = get_terms(['taxonomy' => $taxonomy, 'hide_empty' => false, 'fields' => 'id=>parent']);
    }
    $terms = $wpdb->get_col("SELECT term_id FROM $wpdb->terms");
    foreach ([...$terms, ...($ids['terms'] ?? [])] as $term) {
        $state["term $term"] = [$plain(get_term((int) $term)), get_term_meta((int) $term)];
    }
    $state['users'] = $plain(wp_list_pluck(get_users(), 'display_name', 'ID'));
    $state['authors'] = $plain(wp_list_pluck(get_users(['meta_key' => 'colour', 'meta_value' => 'red']), 'ID'));
    foreach ([...$wpdb->get_col("SELECT ID FROM $wpdb->users"), ...($ids['users'] ?? [])] as $user) {
        $data = get_userdata((int) $user);
        $state["user $user"] = [$data === false ? null : $plain($data->data), get_user_meta((int) $user), count_user_posts((int) $user)];
    }
    foreach ($ids['mail'] ?? [] as $mail) {
        $state["mail $mail"] = get_user_by('email', $mail)->ID ?? null;
    }
    foreach ($ids['slugs'] ?? [] as $slug) {
        $state["slug $slug"] = [get_user_by('slug', $slug)->ID ?? null, get_user_by('login', $slug)->ID ?? null];
    }
    $state['comments'] = $plain(wp_list_pluck(get_comments(['status' => 'any', 'orderby' => 'comment_ID']), 'comment_content', 'comment_ID'));
    $state['threads'] = $plain(get_comments(['status' => 'approve', 'hierarchical' => 'flat', 'orderby' => 'comment_ID']));
    $last = (int) $wpdb->get_var("SELECT MAX(comment_ID) FROM $wpdb->comments") + 1;
    for ($id = max(1, $last - 10); $id <= $last; $id++) {
        $state["comment $id"] = [$plain(get_comment($id)), get_comment_meta($id)];
    }
    $state['links'] = $plain(get_bookmarks(['hide_invisible' => 0]));
    foreach ($ids['links'] ?? [] as $link) {
        $state["link $link"] = $plain(get_bookmark($link));
    }
    $state['is site'] = get_site_option('no such option', 'none');
    if (is_multisite()) {
        $names = array_filter($wpdb->get_col("SELECT meta_key FROM $wpdb->sitemeta"), static fn(string $name): bool => !$made($name));
        foreach ([...$names, ...($ids['network'] ?? [])] as $name) {
            $state["network option $name"] = get_network_option(1, $name, 'none');
        }
        $state['sites'] = get_sites(['fields' => 'ids']);
        $places = $wpdb->get_results("SELECT * FROM $wpdb->blogs");
        foreach ($places as $place) {
            $site = (int) $place->blog_id;
            $state["site $site"] = [$plain(get_site($site)->to_array()), $plain(get_blog_details($site)), get_site_meta($site)];
            $state["place of $site"] = get_blog_id_from_url($place->domain, $place->path);
            $state["options of $site"] = [get_blog_option($site, 'blogname'), get_blog_option($site, 'colour', 'none')];
        }
        foreach ($ids['places'] ?? [] as $path) {
            $state["place $path"] = get_blog_id_from_url((string) $places[0]->domain, $path);
        }
    }
    // WordPress caches many values as they were given, which come from the database as strings.
    array_walk_recursive($state, static function (mixed &$value): void {
        $value = is_int($value) ? (string) $value : $value;
    });

    return $state;
};
