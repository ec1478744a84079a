<?php

// Fills the database of the scenario `catalog` once, as plugins of shops do: 1,350 products with 25 metas each.

declare(strict_types=1);

// Of plugin.php, which is put before this; WordPress's own init is over.
larder_lab_products();
flush_rewrite_rules(false);

(static function (): void {
    $wpdb = $GLOBALS['wpdb'];
    assert($wpdb instanceof wpdb);
    wp_defer_term_counting(true);
    $terms = [];
    foreach (['product_cat' => 24, 'product_tag' => 120] as $taxonomy => $count) {
        for ($i = 1; $i <= $count; ++$i) {
            $term = wp_insert_term(($taxonomy === 'product_cat' ? 'Category ' : 'Tag ') . $i, $taxonomy);
            $terms[$taxonomy][] = is_array($term) ? (int) $term['term_taxonomy_id'] : throw new RuntimeException($term->get_error_message());
        }
    }
    $wpdb->query('START TRANSACTION');
    for ($i = 1; $i <= 1350; ++$i) {
        // The newest first: page 75 shows the last of them.
        $date = gmdate('Y-m-d H:i:s', 1_700_000_000 - $i * 3600);
        $wpdb->insert($wpdb->posts, [
            'post_author' => 1,
            'post_date' => $date,
            'post_date_gmt' => $date,
            'post_modified' => $date,
            'post_modified_gmt' => $date,
            'post_title' => sprintf('Product %04d', $i),
            'post_name' => sprintf('product-%04d', $i),
            'post_content' => str_repeat("What there is to say about product $i. ", 12),
            'post_excerpt' => "In short: product $i.",
            'post_status' => 'publish',
            'post_type' => 'product',
            'comment_status' => 'closed',
            'ping_status' => 'closed',
            'to_ping' => '',
            'pinged' => '',
            'post_content_filtered' => '',
        ]);
        $id = (int) $wpdb->insert_id;
        $metas = [
            '_price' => sprintf('%d.%02d', 5 + $i % 90, $i % 100), '_sku' => sprintf('SKU-%05d', $i), '_stock' => (string) ($i % 37),
            '_colour' => ['red', 'green', 'blue', 'black', 'white'][$i % 5], '_size' => ['S', 'M', 'L', 'XL'][$i % 4], '_weight' => (string) (100 + $i),
            '_material' => ['wool', 'cotton', 'steel', 'wood'][$i % 4], '_origin' => ['here', 'there'][$i % 2],
            '_gallery' => serialize([['id' => $i, 'alt' => "Product $i"], ['id' => $i + 1, 'alt' => "Product $i from behind"]]),
            '_attributes' => serialize(['warranty' => '2 years', 'set' => range(1, 1 + $i % 9), 'care' => ['wash' => 30, 'iron' => false]]),
        ];
        for ($j = count($metas); $j < 25; ++$j) {
            $metas["_detail_$j"] = "Detail $j of product $i";
        }
        $rows = [];
        foreach ($metas as $name => $value) {
            $rows[] = $wpdb->prepare('(%d, %s, %s)', $id, $name, $value);
        }
        $wpdb->query("INSERT INTO $wpdb->postmeta (post_id, meta_key, meta_value) VALUES " . implode(',', $rows));
        $rows = [];
        foreach ([$terms['product_cat'][$i % 24], $terms['product_cat'][($i * 7 + 1) % 24], $terms['product_tag'][$i % 120], $terms['product_tag'][($i * 11 + 1) % 120], $terms['product_tag'][($i * 13 + 2) % 120]] as $term) {
            $rows[] = $wpdb->prepare('(%d, %d, 0)', $id, $term);
        }
        $wpdb->query("INSERT IGNORE INTO $wpdb->term_relationships (object_id, term_taxonomy_id, term_order) VALUES " . implode(',', $rows));
    }
    $wpdb->query('COMMIT');
    foreach ($terms as $taxonomy => $ids) {
        wp_update_term_count_now($ids, $taxonomy);
    }
})();
