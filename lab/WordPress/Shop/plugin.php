<?php

// A must-use plugin of the site that the scenario `catalog` measures: products, and a second theme for ?plain=1.

declare(strict_types=1);

add_action('init', 'larder_lab_products');

function larder_lab_products(): void
{
    register_post_type('product', [
        'public' => true,
        'label' => 'Products',
        'has_archive' => 'products',
        'rewrite' => ['slug' => 'product'],
        'supports' => ['title', 'editor', 'excerpt', 'custom-fields'],
        'show_in_rest' => true,
    ]);
    register_taxonomy('product_cat', 'product', ['public' => true, 'hierarchical' => true, 'label' => 'Categories of products', 'show_admin_column' => true]);
    register_taxonomy('product_tag', 'product', ['public' => true, 'label' => 'Tags of products', 'show_admin_column' => true]);
}

add_action('pre_get_posts', static function (WP_Query $query): void {
    if ($query->is_main_query() && $query->is_post_type_archive('product') && !is_admin()) {
        $query->set('posts_per_page', 18);
    }
});

if (isset($_GET['plain'])) {
    foreach (['template', 'stylesheet'] as $option) {
        add_filter("pre_option_$option", static fn(): string => 'larder-lab-plain');
    }
}
