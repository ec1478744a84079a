<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\Service\Directory;
use Larder\Lab\Service\NginxServer;
use Larder\Lab\Service\PhpFpmServer;
use Larder\Lab\WordPress\Browser;
use Larder\Lab\WordPress\Options;
use Larder\Lab\WordPress\Request;
use Larder\Lab\WordPress\Response;
use Larder\Lab\WordPress\Site;
use PHPUnit\Framework\Assert;

/** A site with the plugin, and the line in its wp-config.php that turns on the page cache. */
final class PageSite
{
    /** Runs PHP code that a request of the web brings along, when WordPress is ready. */
    private const PROBE = <<<'PHP'
        <?php

        add_action('wp_loaded', static function (): void {
            if (isset($_POST['larder_test'])) {
                echo "\n", json_encode(eval(wp_unslash($_POST['larder_test'])));
                exit;
            }
        });
        PHP;

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

    public readonly Site $site;

    /** @var ?array{Directory, PhpFpmServer, NginxServer} */
    private ?array $second = null;

    private ?string $name = null;
    private int $aged = 0;

    /**
     * @param array<string, string|int|float|bool|null> $constants
     * @param ?list<string>                             $sites     as Options takes them
     * @param array<string, string|int|float>           $ini
     */
    public function __construct(array $constants = [], ?array $sites = null, array $ini = [])
    {
        $this->site = new Site(new Options(
            \getenv('LARDER_WORDPRESS') ?: '7.1',
            $sites,
            $constants + ['WP_CACHE' => true],
            $ini,
            errors: $sites === null ? \E_ALL : \E_ALL & ~\E_DEPRECATED,
        ));
        $plugins = $this->site->content('plugins');
        \is_dir($plugins) || \mkdir($plugins);
        \is_dir($this->site->content('mu-plugins')) || \mkdir($this->site->content('mu-plugins'));
        \exec('cp -r ' . \escapeshellarg(BuiltPlugin::path()) . ' ' . \escapeshellarg("$plugins/larder"), result_code: $code);
        Assert::assertSame(0, $code);
        \file_put_contents($this->site->content('mu-plugins/probe.php'), self::PROBE);
        $this->site->account->receive($this->site->content());
        $this->site->activate('larder/larder.php', $sites !== null);
        // That was a request without the cache, after which the fast door stays shut for a minute.
        $this->get('/');
        $this->age();
    }

    /** Code of the site's owner, which every request runs. */
    public function plugin(string $code): void
    {
        $file = $this->site->content('mu-plugins/owner.php');
        \file_put_contents($file, "<?php $code");
        $this->site->account->receive($file);
    }

    /**
     * Runs code in a request of the web, to an address of its own: a POST purges what is stored for its address.
     *
     * @param array<string, string> $cookies
     */
    public function web(string $code, array $cookies = [], string $path = '/'): mixed
    {
        $response = $this->site->post("{$path}larder-probe/", ['larder_test' => $code], $cookies);
        Assert::assertSame(200, $response->status, $response->body);

        return \json_decode((string) \strrchr($response->body, "\n"), true);
    }

    /**
     * @param array<string, string> $cookies
     * @param array<string, string> $headers
     */
    public function get(string $path, array $cookies = [], array $headers = []): Response
    {
        return $this->site->get($path, $cookies, $headers);
    }

    public function __destruct()
    {
        [$directory, $fpm, $nginx] = $this->second ?? [null, null, null];
        $nginx?->stop();
        $fpm?->stop();
        $directory?->remove();
    }

    /** What the plugin calls the site, in names of files outside of it. */
    public function name(): string
    {
        return $this->name ??= $this->site->cli('echo Larder\WordPress\Presence::name();');
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
        $folder = $this->site->content('themes/plain');
        \mkdir($folder);
        foreach (self::THEME as $name => $text) {
            \file_put_contents("$folder/$name", $text);
        }
        $this->site->account->receive($folder);
        $this->site->cli('switch_theme("plain");');
    }

    /**
     * A page from another server of the same site: a php-fpm and a web server of its own, which share nothing with the first but
     * files, database and Redis.
     *
     * @param array<string, string> $cookies
     */
    public function getFromSecond(string $path, array $cookies = []): Response
    {
        if ($this->second === null) {
            $directory = Directory::temporary()->open();
            \chmod($directory->path, 0o711);
            // Whoever asks either of them asks for the same host, as behind a balancer.
            ['host' => $host, 'port' => $port] = $this->site->nginx->address();
            $prepend = $directory->file('host.php');
            \file_put_contents($prepend, "<?php \$_SERVER['HTTP_HOST'] = '$host:$port'; \$_SERVER['SERVER_PORT'] = '$port';");
            $fpm = new PhpFpmServer($directory, $this->site->account, 2, ['auto_prepend_file' => $prepend] + $this->site->options->ini());
            $fpm->start();
            $nginx = new NginxServer($directory, $this->site->account, $this->site->root, (string) $fpm->address()['socket']);
            $nginx->start();
            $this->second = [$directory, $fpm, $nginx];
        }
        ['host' => $host, 'port' => $port] = $this->second[2]->address();

        return (new Browser("http://$host:$port"))->ask(new Request($path, null, $cookies));
    }

    /** The field Larder-Cache-Control of a stored page, which visitors do not get. */
    public function life(string $path): string
    {
        $url = 'http://' . \implode(':', $this->site->nginx->address()) . $path;
        $life = $this->web('
            \Larder\Page\Serve::of($_SERVER);
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
}
