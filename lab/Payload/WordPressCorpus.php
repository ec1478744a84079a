<?php

declare(strict_types=1);

namespace Larder\Lab\Payload;

/**
 * Values like those that WordPress keeps in its object cache: their shapes are its, their words are Prose's.
 *
 *     alloptions  400 options as wp_load_alloptions() holds them, name => string          106 kB serialized
 *     post        what get_post() caches: a row of wp_posts as an object                    7 kB
 *     meta        what update_meta_cache() caches of a post: 25 keys => list of strings     3 kB
 *     terms       rows as update_term_cache() is given them, 40 objects                    11 kB
 *     feed        what SimplePie parsed of the dashboard's news, a transient              198 kB
 *
 * A name gives the same value in every process and on every PHP.
 */
final class WordPressCorpus
{
    /** The moment at which the imaginary site is looked at: 2025-06-30 14:40:00 UTC. */
    public const NOW = 1_751_294_400;

    /** @return non-empty-list<string> what get() takes */
    public static function names(): array
    {
        return ['alloptions', 'post', 'meta', 'terms', 'feed'];
    }

    /** @throws \InvalidArgumentException for another name */
    public static function get(string $name): mixed
    {
        return match ($name) {
            'alloptions' => (new WordPressOptions(new Prose(11)))->all(),
            'post' => self::post(new Prose(12)),
            'meta' => self::meta(new Prose(13)),
            'terms' => self::terms(new Prose(14)),
            'feed' => (new WordPressFeed(new Prose(15)))->data(),
            default => throw new \InvalidArgumentException("There is no value \"$name\" in the corpus: use " . \implode(', ', self::names()) . '.'),
        };
    }

    /**
     * The columns of wp_posts in their order (wp-admin/includes/schema.php), strings but for the three that
     * sanitize_post_field() makes whole numbers of, and the mark that sanitize_post() leaves (wp-includes/post.php).
     */
    private static function post(Prose $prose): \stdClass
    {
        $title = $prose->title(5, 9);
        $written = self::NOW - 40 * 86_400;
        $changed = $written + 3 * 86_400 + 4_211;

        return (object) [
            'ID' => 4_711,
            'post_author' => '3',
            'post_date' => \gmdate('Y-m-d H:i:s', $written + 7_200),
            'post_date_gmt' => \gmdate('Y-m-d H:i:s', $written),
            'post_content' => self::blocks($prose),
            'post_title' => $title,
            'post_excerpt' => $prose->paragraph(1, 2),
            'post_status' => 'publish',
            'comment_status' => 'open',
            'ping_status' => 'open',
            'post_password' => '',
            'post_name' => Prose::slug($title),
            'to_ping' => '',
            'pinged' => '',
            'post_modified' => \gmdate('Y-m-d H:i:s', $changed + 7_200),
            'post_modified_gmt' => \gmdate('Y-m-d H:i:s', $changed),
            'post_content_filtered' => '',
            'post_parent' => 0,
            'guid' => 'https://www.example.org/?p=4711',
            'menu_order' => 0,
            'post_type' => 'post',
            'post_mime_type' => '',
            'comment_count' => '17',
            'filter' => 'raw',
        ];
    }

    /** A post as the block editor writes it: each block between two comments, its attributes as JSON in the first. */
    private static function blocks(Prose $prose): string
    {
        $blocks = [];
        for ($section = 0; $section < 4; ++$section) {
            $blocks[] = "<!-- wp:heading -->\n<h2 class=\"wp-block-heading\">{$prose->title()}</h2>\n<!-- /wp:heading -->";
            for ($paragraph = $prose->int(2, 3); $paragraph > 0; --$paragraph) {
                $link = Prose::slug($prose->title(2, 4));
                $blocks[] = "<!-- wp:paragraph -->\n<p>{$prose->paragraph(2, 4)} <a href=\"https://www.example.org/$link/\">{$prose->word()} {$prose->word()}</a> <em>{$prose->word()}</em> {$prose->sentence()}</p>\n<!-- /wp:paragraph -->";
            }
            $id = $prose->int(900, 4_000);
            $blocks[] = $section % 2 === 0
                ? "<!-- wp:image {\"id\":$id,\"sizeSlug\":\"large\",\"linkDestination\":\"none\"} -->\n<figure class=\"wp-block-image size-large\"><img src=\"https://www.example.org/wp-content/uploads/2025/05/{$prose->rare()}-1024x683.jpg\" alt=\"{$prose->sentence()}\" class=\"wp-image-$id\"/></figure>\n<!-- /wp:image -->"
                : "<!-- wp:list -->\n<ul><!-- wp:list-item -->\n<li>{$prose->sentence()}</li>\n<!-- /wp:list-item -->\n\n<!-- wp:list-item -->\n<li>{$prose->sentence()}</li>\n<!-- /wp:list-item --></ul>\n<!-- /wp:list -->";
        }

        return \implode("\n\n", $blocks);
    }

    /**
     * Every value is a string in a list, for a key may have several; what was an array is serialized in its string
     * (update_meta_cache() in wp-includes/meta.php).
     *
     * @return array<string, list<string>> 25 keys
     */
    private static function meta(Prose $prose): array
    {
        $sizes = [];
        foreach (['medium' => [300, 200], 'large' => [1_024, 683], 'thumbnail' => [150, 150], 'medium_large' => [768, 512], '1536x1536' => [1_536, 1_024]] as $size => [$width, $height]) {
            $sizes[$size] = ['file' => "{$prose->rare()}-{$width}x$height.jpg", 'width' => $width, 'height' => $height, 'mime-type' => 'image/jpeg', 'filesize' => $prose->int(6_000, 190_000)];
        }
        $attributes = [];
        foreach (['pa_colour', 'pa_size', 'pa_material'] as $position => $attribute) {
            $attributes[$attribute] = ['name' => $attribute, 'value' => '', 'position' => $position, 'is_visible' => 1, 'is_variation' => $position === 1 ? 1 : 0, 'is_taxonomy' => 1];
        }

        return [
            '_edit_last' => ['3'],
            '_edit_lock' => [self::NOW - 3_600 . ':3'],
            '_thumbnail_id' => ['2718'],
            '_wp_page_template' => ['default'],
            '_wp_old_slug' => [Prose::slug($prose->title()), Prose::slug($prose->title())],
            '_wp_old_date' => ['2025-05-20'],
            '_pingme' => ['1'],
            '_encloseme' => ['1'],
            '_wp_attached_file' => ["2025/05/{$prose->rare()}.jpg"],
            '_wp_attachment_metadata' => [\serialize(['width' => 2_048, 'height' => 1_365, 'file' => "2025/05/{$prose->rare()}.jpg", 'filesize' => 412_377, 'sizes' => $sizes])],
            '_wp_attachment_image_alt' => [$prose->sentence()],
            '_sku' => [\strtoupper($prose->rare()) . '-0217'],
            '_regular_price' => ['49.90'],
            '_sale_price' => [''],
            '_price' => ['49.90'],
            '_stock' => ['112'],
            '_stock_status' => ['instock'],
            '_manage_stock' => ['yes'],
            '_product_attributes' => [\serialize($attributes)],
            '_product_image_gallery' => ['2719,2720,2721,2725'],
            '_upsell_ids' => [\serialize([4_100, 4_127, 4_290])],
            '_seo_title' => [$prose->title()],
            '_seo_description' => [$prose->paragraph(1, 2)],
            '_oembed_' . $prose->hex(32) => ["<iframe title=\"{$prose->title()}\" width=\"500\" height=\"281\" src=\"https://video.example.net/embed/{$prose->hex(11)}?feature=oembed\" frameborder=\"0\" allowfullscreen></iframe>"],
            'related_links' => ["https://www.example.org/{$prose->rare()}/", "https://www.example.org/{$prose->rare()}/", "https://www.example.net/{$prose->rare()}/"],
        ];
    }

    /**
     * Rows of wp_terms and wp_term_taxonomy joined, every column a string, as _prime_term_caches() reads them
     * (wp-includes/taxonomy.php).
     *
     * @return list<\stdClass> 40
     */
    private static function terms(Prose $prose): array
    {
        $terms = [];
        for ($i = 0; $i < 40; ++$i) {
            $name = $prose->title(1, 3);
            $terms[] = (object) [
                'term_id' => (string) (17 + $i * 3),
                'name' => $name,
                'slug' => Prose::slug($name),
                'term_group' => '0',
                'term_taxonomy_id' => (string) (17 + $i * 3),
                'taxonomy' => $i < 12 ? 'category' : 'post_tag',
                'description' => $i < 12 ? $prose->sentence() : '',
                'parent' => $i > 3 && $i < 12 ? (string) (17 + ($i % 4) * 3) : '0',
                'count' => (string) $prose->int(0, 240),
            ];
        }

        return $terms;
    }
}
