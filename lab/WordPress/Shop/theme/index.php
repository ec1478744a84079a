<?php

// A list of products as themes wrote it before there were blocks.

declare(strict_types=1);

?><!DOCTYPE html>
<html <?php language_attributes(); ?>>
<head>
<meta charset="utf-8">
<title><?php echo esc_html(wp_get_document_title()); ?></title>
</head>
<body>
<h1><?php bloginfo('name'); ?></h1>
<?php while (have_posts()) {
    the_post();
    $product = (int) get_the_ID();
    $meta = static function (string $name) use ($product): string {
        $value = get_post_meta($product, "_$name", true);

        return is_string($value) ? esc_html($value) : '';
    }; ?>
<article>
<h2><a href="<?php the_permalink(); ?>"><?php the_title(); ?></a></h2>
<p><?php echo $meta('price'); ?> EUR,
<?php echo $meta('sku'); ?>,
<?php echo $meta('stock'); ?> in stock</p>
<ul>
<?php foreach (['colour', 'size', 'weight', 'material', 'origin'] as $name) { ?>
<li><?php echo $name, ': ', $meta($name); ?></li>
<?php } ?>
</ul>
<p><?php the_terms($product, 'product_cat', 'In ', ', '); ?></p>
<p><?php the_terms($product, 'product_tag', 'Tags: ', ', '); ?></p>
</article>
<?php } ?>
<?php the_posts_pagination(); ?>
</body>
</html>
