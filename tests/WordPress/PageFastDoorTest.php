<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Response;
use Larder\Page\Serve;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use Symfony\Component\Process\ExecutableFinder;

/**
 * A stored page that is answered without the cache: for whom, and until when.
 *
 * @extends OwnSiteTestCase<PageSite>
 */
#[Group('wordpress')]
final class PageFastDoorTest extends OwnSiteTestCase
{
    private TemporaryDirectory $directory;

    /** Which way the last request was answered on: fast or slow. */
    private string $way = '';

    /** Whether WordPress had begun then. */
    private string $when = '';

    public function testItAnswersWhomAStoredPageIsForAndNobodyElse(): void
    {
        $this->open();
        $this->assertFast('/');
        $this->assertFast('/hello-world/');
        $this->assertFast('/hello-world/', ['_ga' => '1', 'wordpress_test_cookie' => 'x'], ['Sec-Purpose' => 'prefetch']);
        $this->assertFast('/?utm_source=letter');
        self::assertSame(304, $this->assertFast('/', [], ['If-None-Match' => $this->get('/')->header('etag')], 304)->status);
        self::assertSame('bytes 0-9/' . \strlen($this->get('/')->body), $this->assertFast('/', [], ['Range' => 'bytes=0-9', 'Accept-Encoding' => 'identity'], 206)->header('content-range'));

        foreach (['wordpress_logged_in_1' => 'x', 'comment_author_1' => 'V', 'wp-postpass_1' => 'x', 'woocommerce_items_in_cart' => '1', 'woocommerce_cart_hash' => 'x', 'wp_woocommerce_session_1' => 'x', 'edd_items_in_cart' => '1', 'PHPSESSID' => 'x', 'nobody_knows' => '1'] as $name => $value) {
            $this->assertSlow('/', [$name => $value]);
        }
        foreach (['X-WP-Nonce' => 'x', 'Authorization' => 'Basic eDp5', 'X-HTTP-Method-Override' => 'POST', 'X-Forwarded-Host' => 'evil.example', 'Cache-Control' => 'no-cache'] as $name => $value) {
            $this->assertSlow('/', [], [$name => $value]);
        }
        foreach (['preview=true', 'preview_id=1', 'customize_changeset_uuid=x', 'unapproved=1&moderation-hash=x', '_wpnonce=x'] as $query) {
            for ($i = 0; $i < 2; $i++) {
                $this->assertSlow("/?$query");
            }
        }
        $user = $this->site->site->login();
        self::assertStringContainsString('id="wpadminbar"', $this->assertSlow('/', $user)->body);
        self::assertStringNotContainsString('id="wpadminbar"', $this->assertFast('/')->body);
    }

    public function testTheVisitorsDeviceIsWhatTheSiteSaysAndNotHe(): void
    {
        $this->open();
        $this->site->plugin('add_action("wp_footer", static function (): void { echo wp_is_mobile() ? "a telephone" : "a desk"; });');
        $this->site->web('Larder\WordPress\Page\Purge::site(); return 1;');
        $phone = ['User-Agent' => 'Mozilla/5.0 (Linux; Android 15) Mobile'];
        foreach ([[[], 'a desk'], [$phone, 'a telephone']] as [$headers, $text]) {
            $this->get('/sample-page/', [], $headers);
            self::assertStringContainsString($text, $this->assertFast('/sample-page/', [], $headers)->body);
        }
        self::assertStringContainsString('a desk', $this->assertFast('/sample-page/', [], ['X-Larder-Device' => 'mobile'])->body);
        self::assertStringContainsString('a telephone', $this->assertFast('/sample-page/', [], $phone + ['X-Larder-Device' => 'other'])->body);
    }

    public function testWhatSomebodyChangesWithoutTheCacheIsSeen(): void
    {
        $this->open();
        $plugin = $this->site->site->content('plugins/larder');
        $change = fn(string $title): string => $this->site->site->cli("wp_update_post(['ID' => 2, 'post_title' => '$title']);");
        $this->assertFast('/sample-page/');

        // The plugin's files are away for a moment, in which a command runs without the cache.
        \rename($plugin, "$plugin-gone");
        $change('Without the files');
        \rename("$plugin-gone", $plugin);
        self::assertStringContainsString('Without the files', $this->get('/sample-page/')->body);
        // Whatever began then may go on for a while.
        self::assertStringContainsString('Without the files', $this->assertSlow('/sample-page/')->body);
        $this->site->age();
        $this->assertFast('/sample-page/', before: 2);

        // The same, and no visitor comes for long before and after it.
        foreach (\glob("/var/tmp/larder-{$this->site->name()}-*-*") ?: [] as $note) {
            \touch($note, \time() - 86_400);
        }
        \rename($plugin, "$plugin-gone");
        $change('Long ago');
        \rename("$plugin-gone", $plugin);
        $this->site->age();
        self::assertStringContainsString('Long ago', $this->get('/sample-page/')->body);
        $this->assertFast('/sample-page/', before: 2);

        // All of it is away, and comes back as it was.
        $site = $this->site->site;
        foreach (['object-cache.php', 'advanced-cache.php'] as $name) {
            \rename($site->content($name), $site->content("$name.gone"));
        }
        \rename($plugin, "$plugin-gone");
        $change('Without all of it');
        foreach (['object-cache.php', 'advanced-cache.php'] as $name) {
            $site->putDropIn($site->content("$name.gone"), $name);
        }
        \rename("$plugin-gone", $plugin);
        self::assertStringContainsString('Without all of it', $this->get('/sample-page/')->body);
        $this->assertFast('/sample-page/', before: 2);
    }

    public function testWhatSomebodyChangesWhileNobodyMayEnterTheDirectoryIsSeen(): void
    {
        $this->open();
        $directory = (string) $this->site->web('return Larder\WordPress\Site::current()->directory();');
        $this->assertFast('/sample-page/', before: 1);
        \chmod($directory, 0);
        $this->site->site->cli('wp_update_post(["ID" => 2, "post_title" => "Before a closed door"]);', before: 'ini_set("error_log", "/dev/null"); define("WP_DEBUG_LOG", false);');
        \chmod($directory, 0o700);
        self::assertStringContainsString('Before a closed door', $this->get('/sample-page/')->body);
        // What it said of that.
        \file_put_contents(\dirname($this->site->site->root) . '/debug.log', '');
    }

    #[TestWith(['mv DIR DIR.away && mv DIR.backup DIR'])]
    #[TestWith(['rm -r DIR && cp -a DIR.backup DIR'])]
    #[TestWith(['rsync -a DIR.backup/ DIR'])]
    public function testADirectoryThatComesBackFromABackupAnswersNothing(string $how): void
    {
        if (\str_contains($how, 'rsync') && (new ExecutableFinder())->find('rsync') === null) {
            self::markTestSkipped('There is no rsync.');
        }
        $this->open();
        $directory = (string) $this->site->web('return Larder\WordPress\Site::current()->directory();');
        $this->assertFast('/sample-page/', before: 1);
        \exec('cp -a ' . \escapeshellarg($directory) . ' ' . \escapeshellarg("$directory.backup"), result_code: $code);
        self::assertSame(0, $code);
        $this->site->site->cli('wp_update_post(["ID" => 2, "post_title" => "After the backup"]);');
        self::assertStringContainsString('After the backup', $this->get('/sample-page/')->body);
        // A process that has the old files open would keep their numbers from being given again.
        $this->site->site->fpm->stop();
        $now = \time();
        Wait::until(static fn(): bool => \time() > $now + 1, 'another second');
        \exec(\str_replace('DIR', $directory, $how), result_code: $code);
        self::assertSame(0, $code);
        $this->site->site->fpm->start();
        self::assertStringContainsString('After the backup', $this->get('/sample-page/')->body);
        $this->assertFast('/sample-page/', before: 2);
    }

    public function testAnotherOptionIsAnotherDoorAndDeactivationClosesAll(): void
    {
        $this->open();
        $site = $this->site->site;
        $this->assertFast('/');
        $config = (string) \file_get_contents($site->root . '/wp-config.php');
        $site->define(['LARDER_PAGES' => false]);
        $this->assertSlow('/');
        \file_put_contents($site->root . '/wp-config.php', \str_replace("<?php\n", "<?php\ndefine('LARDER_PAGES', ['varyCookies' => ['lang']]);\n", $config));
        $this->assertSlow('/', ['lang' => '1']);
        $this->assertFast('/', ['lang' => '1'], before: 1);
        $this->assertSlow('/', ['lang' => '2']);
        self::assertCount(2, $this->places());

        $site->cli('require_once ABSPATH . "wp-admin/includes/plugin.php"; deactivate_plugins("larder/larder.php");');
        self::assertSame([], $this->places());
        $this->assertSlow('/');
        self::assertSame([], $this->places());
    }

    public function testAskedByTheConfigurationItAnswersWithoutWordPress(): void
    {
        $this->open();
        $config = $this->site->site->root . '/wp-config.php';
        $before = (string) \file_get_contents($config);
        $line = "require_once ABSPATH . 'wp-settings.php';";
        \file_put_contents($config, \str_replace($line, "@include ABSPATH . 'wp-content/advanced-cache.php';\n$line", $before));
        // Where it does not answer, WordPress does, and stores.
        $this->assertSlow('/?new');
        $this->assertFast('/?new');
        self::assertSame('before WordPress', $this->when);
        $this->assertSlow('/', ['wordpress_logged_in_1' => 'x']);
        $this->assertSlow('/', [], ['X-WP-Nonce' => 'x']);
        $this->assertSlow('/?preview=true');
        $this->site->site->cli('wp_update_post(["ID" => 2, "post_title" => "Changed"]);');
        self::assertStringContainsString('Changed', $this->assertSlow('/sample-page/')->body);
        self::assertSame(200, $this->site->site->get('/wp-login.php')->status);
        $this->assertFast('/?new', before: 1);

        \file_put_contents($config, \str_replace("define('WP_CACHE', true)", "define('WP_CACHE', false)", (string) \file_get_contents($config)));
        $this->assertSlow('/?new');
        \file_put_contents($config, $before);
        $this->assertFast('/?new', before: 1);
        self::assertSame('in WordPress', $this->when);
        \unlink($this->site->site->content('advanced-cache.php'));
        $this->assertSlow('/?new');
    }

    public function testWithRedisNobodyAnswersWithoutAskingIt(): void
    {
        $redis = new RedisServer();
        $this->open(['LARDER_DSN' => "redis://127.0.0.1:$redis->port/0"]);
        for ($i = 0; $i < 3; $i++) {
            self::assertSame('hit', PageSite::did($this->assertSlow('/')));
        }
        self::assertSame([], $this->places());
    }

    public function testOneHitInManyIsCountedForAll(): void
    {
        $this->open();
        for ($i = 0; $i < 400; $i++) {
            self::assertSame('hit', PageSite::did($this->get('/')));
        }
        $hits = $this->site->web('return Larder\WordPress\Page\Counts::sum(Larder\WordPress\ObjectCache::records($GLOBALS["wp_object_cache"]->larder()), 2)["hit"];');
        self::assertIsInt($hits);
        self::assertSame(0, $hits % 32);
        // Of 400 requests none is drawn with a probability of 1 to 300,000, and more than 40 are with a smaller one.
        self::assertGreaterThan(0, $hits);
        self::assertLessThan(40 * 32, $hits);
    }

    /** @param array<string, string> $constants */
    private function open(array $constants = []): void
    {
        $this->directory = new TemporaryDirectory();
        \chmod($this->directory->path, 0o711);
        $this->directory->write('way', '');
        \chmod($this->log(), 0o666);
        $prepend = $this->directory->write('prepend.php', \sprintf(<<<'PHP'
            <?php
            register_shutdown_function(static function (): void {
                if (basename($_SERVER['SCRIPT_NAME']) === 'index.php') {
                    $way = class_exists('Larder\Page\PageCache', false) || function_exists('add_shortcode') ? 'slow' : 'fast';
                    file_put_contents(%s, $way . ' ' . (function_exists('add_filter') ? 'in WordPress' : 'before WordPress'));
                }
            });
            PHP, \var_export($this->log(), true)));
        $this->site = new PageSite($constants, ini: ['auto_prepend_file' => $prepend]);
        $this->site->warm(['/', '/hello-world/', '/sample-page/']);
    }

    /**
     * @param array<string, string> $cookies
     * @param array<string, string> $headers
     */
    private function get(string $path, array $cookies = [], array $headers = []): Response
    {
        \file_put_contents($this->log(), '');
        $response = $this->site->get($path, $cookies, $headers);
        // Its process may say it after the response.
        Wait::until(fn(): bool => \filesize($this->log()) > 0, 'what the process says');
        [$this->way, $this->when] = \explode(' ', (string) \file_get_contents($this->log()), 2) + ['', ''];

        return $response;
    }

    /**
     * @param array<string, string> $cookies
     * @param array<string, string> $headers
     * @param int<0, max>           $before requests before it is to be so
     */
    private function assertFast(string $path, array $cookies = [], array $headers = [], int $status = 200, int $before = 0): Response
    {
        // One in 32 goes another way, to be counted.
        for ($i = -$before, $asked = 0; $i < 5 && $asked < 1_000; $asked++) {
            $believed = $this->believe();
            $response = $this->get($path, $cookies, $headers);
            if ($i >= 0 && $this->way === 'fast') {
                break;
            }
            // A purge by another test lets this site be asked once which cache it opens (FastDoor::doubtOthers).
            $i += $i < 0 || $believed === $this->believed() ? 1 : 0;
        }
        self::assertSame([$status, 'hit', 'fast'], [$response->status, PageSite::did($response), $this->way], $path . \json_encode([$cookies, $headers]));

        return $response;
    }

    /**
     * @param array<string, string> $cookies
     * @param array<string, string> $headers
     */
    private function assertSlow(string $path, array $cookies = [], array $headers = []): Response
    {
        $response = $this->get($path, $cookies, $headers);
        self::assertSame('slow', $this->way, $path . \json_encode([$cookies, $headers]));

        return $response;
    }

    private function log(): string
    {
        return $this->directory->file('way');
    }

    /** @return list<string> the directories of this site's constants */
    private function places(): array
    {
        return \glob(Serve::MEMORY . '*-' . $this->site->name() . '-*') ?: [];
    }

    /** @return list<int> since when each place has been believed; 1: it is doubted */
    private function believed(): array
    {
        \clearstatcache();

        return \array_map(\filemtime(...), $this->places());
    }

    /**
     * Lets each place that is believed have been so for a second, so that a doubt shows that came and went since.
     *
     * @return list<int> since when each has been believed, if that stays so; a doubt is not undone
     */
    private function believe(): array
    {
        $time = \time() - 1;
        foreach (\array_combine($this->places(), $this->believed()) as $place => $since) {
            $since === 1 || \touch("$place/.", $time);
        }

        return \array_fill(0, \count($this->places()), $time);
    }
}
