<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Request;
use Larder\Lab\WordPress\Response;
use PHPUnit\Framework\Assert;

/** A site with the plugin, and the line in its wp-config.php that turns on the page cache. */
final class PageSite extends InstalledSite
{
    /** A classic theme: lists show titles, excerpts and authors; pages the menu; one of them the last comments; the front the widgets. */
    private const THEME = [
        'style.css' => "/*\nTheme Name: Plain\n*/",
        'functions.php' => <<<'PHP'
            <?php
            add_action('after_setup_theme', static function (): void {
                register_nav_menus(['main' => 'Main']);
                add_theme_support('automatic-feed-links');
                add_theme_support('title-tag');
            });
            add_action('widgets_init', static function (): void {
                remove_theme_support('widgets-block-editor');
                register_sidebar(['id' => 'side', 'name' => 'Side']);
            });
            PHP,
        'comments.php' => <<<'PHP'
            <?php
            wp_list_comments();
            comment_form();
            PHP,
        'index.php' => <<<'PHP'
            <!doctype html><html><head><?php wp_head(); ?></head><body>
            <h1><?php bloginfo('name'); ?></h1>
            <?php
            if (is_page()) {
                wp_nav_menu(['theme_location' => 'main', 'fallback_cb' => false]);
            }
            while (have_posts()) {
                the_post();
                echo '<h2><a href="', get_permalink(), '">', get_the_title(), '</a></h2> by ', get_the_author(), ' in ', get_the_category_list(' ');
                if (is_singular()) {
                    the_content();
                    the_post_navigation();
                    comments_template();
                } else {
                    the_excerpt();
                    comments_number();
                }
            }
            if (is_page('contact')) {
                echo implode(wp_list_pluck(get_comments(['status' => 'approve']), 'comment_content'));
            }
            if (is_front_page()) {
                dynamic_sidebar('side');
            }
            ?>
            <?php wp_footer(); ?></body></html>
            PHP,
    ];

    private ?SecondServer $second = null;
    private int $aged = 0;

    /**
     * @param array<string, string|int|float|bool|null> $constants
     * @param ?list<string>                             $sites     as Options takes them
     * @param array<string, string|int|float>           $ini
     */
    public function __construct(array $constants = [], ?array $sites = null, array $ini = [])
    {
        parent::__construct($constants + ['WP_CACHE' => true], $sites, $ini);
    }

    /** Code of the site's owner, which every request runs. */
    public function plugin(string $code): void
    {
        $this->write('mu-plugins/owner.php', "<?php $code");
    }

    /**
     * @param array<string, string> $cookies
     * @param array<string, string> $headers
     */
    public function get(string $path, array $cookies = [], array $headers = []): Response
    {
        return $this->site->get($path, $cookies, $headers);
    }

    /** Lets the marks of requests without the cache be as old as a minute makes them. */
    public function age(): void
    {
        // Each time another one.
        $time = \time() - 100 * ++$this->aged;
        $marks = [$this->site->content('.larder-away'), "/var/tmp/larder-{$this->name()}-away", \sys_get_temp_dir() . "/larder-{$this->name()}-away"];
        foreach ([...$marks, ...\glob($this->site->content('larder-*/away')) ?: []] as $mark) {
            \is_file($mark) && \touch($mark, $time);
        }
    }

    /** The theme above. */
    public function theme(): void
    {
        foreach (self::THEME as $name => $text) {
            $this->write("themes/plain/$name", $text);
        }
        $this->site->cli('switch_theme("plain");');
    }

    /** A page from another server of the same site. */
    public function getFromSecond(string $path): Response
    {
        $this->second ??= new SecondServer($this->site);

        return $this->second->browser->ask(new Request($path));
    }

    /** The field Larder-Cache-Control of a stored page, which visitors do not get. */
    public function life(string $path): string
    {
        $url = 'http://' . \implode(':', $this->site->nginx->address()) . $path;
        $life = $this->web('
            \Larder\Page\RequestKey::of($_SERVER);
            $root = \Larder\Cache::open(\Larder\WordPress\Site::current()->source());
            $stored = (new \Larder\Page\Pages(\Larder\WordPress\Page\Door::pages($root)))->find(' . \var_export($url, true) . ');
            return (new \Larder\Page\Reply(200, $stored["page"]["ours"] ?? []))->fields()["larder-cache-control"][0] ?? "";
        ');
        Assert::assertIsString($life);

        return $life;
    }

    /** What the page cache did with a request for a page. */
    public static function did(Response $response): string
    {
        $said = $response->header('cache-status');

        return match (true) {
            \str_contains($said, '; hit') => 'hit',
            \str_contains($said, '; stored') => 'stored',
            default => \preg_match('/detail="(.*)"$/', $said, $match) === 1 ? $match[1] : $said,
        };
    }

    /**
     * Asks for pages until all of them are stored.
     *
     * @param list<string> $paths
     */
    public function warm(array $paths): void
    {
        foreach ($paths as $path) {
            $first = $this->get($path);
            Assert::assertSame(200, $first->status, "$path: $first->body");
            Assert::assertContains(self::did($first), ['stored', 'hit'], $path);
            Assert::assertSame('hit', self::did($this->get($path)), $path);
        }
    }

    /**
     * Which of some pages are not stored any more. They are again after it.
     *
     * @param list<string> $paths
     *
     * @return list<string>
     */
    public function purged(array $paths): array
    {
        return \array_values(\array_filter($paths, function (string $path): bool {
            $did = self::did($this->get($path));
            // Else it was not asked for, or not stored, for a reason that has nothing to do with a purge.
            Assert::assertContains($did, ['stored', 'hit'], $path);

            return $did === 'stored';
        }));
    }

    protected function begin(): void
    {
        parent::begin();
        // That was a request without the cache, after which the fast door stays shut for a minute.
        $this->get('/');
        $this->age();
    }
}
