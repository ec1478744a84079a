<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Request;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\Wait;
use Larder\Tests\System\DisabledFunctionsTest;
use Larder\WordPress\Plugin;
use PHPUnit\Framework\Attributes\Group;

/**
 * The plugin comes and goes, as on a real site over HTTP.
 *
 * @extends OwnSiteTestCase<PluginSite>
 */
#[Group('wordpress')]
final class ActivationTest extends OwnSiteTestCase
{
    private const FOREIGN = "<?php\n/*\n * Plugin Name: <b>Other</b> Cache\n */\n";

    /** What PHP says of WordPress's own files when it reads them. */
    protected function complaints(string $errors): string
    {
        return (string) \preg_replace('/^.*PHP Deprecated:  (Return type of|Optional parameter) .*wp-includes.*\n?/m', '', $errors);
    }

    public function testActivatedItWorksAndSaysSoOnce(): void
    {
        $this->site = new PluginSite();
        $page = $this->site->activate();
        $notices = PluginSite::notices($page);
        self::assertCount(1, $notices);
        self::assertStringContainsString('success: Larder is now the object cache of this site, and works.', $notices[0]);
        self::assertSame([], PluginSite::notices($this->site->plugins()));
        self::assertFileEquals(BuiltPlugin::path('drop-ins/object-cache.php'), $this->site->dropIn());

        $this->site->web('wp_cache_set("seen", "by the web", "test");');
        self::assertSame('by the web', $this->site->web('return wp_cache_get("seen", "test");'));
        self::assertSame('by the web', $this->site->site->cli('echo wp_cache_get("seen", "test");'));
    }

    public function testAVisitorsPageLoadsNothingOfTheAdministrators(): void
    {
        $this->site = PluginSite::active();
        $loaded = $this->site->web('return array_values(preg_grep("~^Larder.WordPress~", get_declared_classes()));');
        \sort($loaded);
        self::assertSame([], \array_values(\preg_grep('~Admin|Cli|Health|Notice|Notes|Activation|DropIn|SelfCheck|Privacy|Uninstall|Console~', $loaded) ?: []));
        self::assertContains('Larder\WordPress\ObjectCache', $loaded);
        self::assertContains('Larder\WordPress\Intents', $loaded);
    }

    public function testAnothersDropInIsAskedFor(): void
    {
        $this->site = new PluginSite();
        $this->site->foreign(self::FOREIGN);
        $page = $this->site->activate();
        $notices = PluginSite::notices($page);
        self::assertCount(1, $notices);
        self::assertStringContainsString('belongs to &lt;b&gt;Other&lt;/b&gt; Cache, so Larder does nothing', $notices[0]);
        self::assertStringEqualsFile($this->site->dropIn(), self::FOREIGN);

        // Whoever has no right to it, or was only led there, changes nothing.
        self::assertSame(403, $this->site->send('/wp-admin/admin-post.php', ['action' => 'larder_enable', '_wpnonce' => 'abc'])->status);
        $this->site->site->cli('wp_create_user("reader", "reader", "reader@example.org");');
        $reader = $this->site->site->login('reader', 'reader');
        $this->assertMayNotChoose($reader);
        self::assertSame([], PluginSite::notices($this->site->site->get('/wp-admin/index.php', $reader)));
        self::assertStringEqualsFile($this->site->dropIn(), self::FOREIGN);

        $notices = PluginSite::notices($this->site->press($page));
        self::assertStringContainsString('success: ', $notices[0]);
        self::assertStringContainsString('object-cache.php.larder-backup-', $notices[0]);
        self::assertFileEquals(BuiltPlugin::path('drop-ins/object-cache.php'), $this->site->dropIn());
        self::assertStringEqualsFile((\glob($this->site->dropIn() . '.larder-backup-*') ?: [''])[0], self::FOREIGN);
        self::assertTrue($this->site->web('return $GLOBALS["wp_object_cache"]->larder() !== null;'));

        $this->site->deactivate();
        self::assertFileDoesNotExist($this->site->dropIn(), 'It is not put back.');
        $this->site->delete();
        self::assertSame([], $this->site->left());
    }

    public function testItDoesNotFightForItsPlace(): void
    {
        $this->site = PluginSite::active();
        $drop = 'return Larder\WordPress\Health::drop_in();';
        self::assertSame('good', $this->site->web($drop)['status']);
        foreach ([1, 2] as $times) {
            $this->site->foreign(self::FOREIGN);
            for ($i = 0; $i < 3; $i++) {
                $page = $this->site->plugins();
                self::assertStringEqualsFile($this->site->dropIn(), self::FOREIGN);
            }
            self::assertStringContainsString('&lt;b&gt;Other&lt;/b&gt; Cache has replaced Larder', PluginSite::notices($page)[0]);
            $health = $this->site->web($drop);
            self::assertSame('critical', $health['status']);
            self::assertStringContainsString('&lt;b&gt;Other&lt;/b&gt; Cache', $health['description']);
            self::assertStringContainsString("($times times", $health['description']);
            $this->site->press($page);
            self::assertFileEquals(BuiltPlugin::path('drop-ins/object-cache.php'), $this->site->dropIn());
        }
        self::assertSame('critical', $this->site->web($drop)['status'], 'It has happened more than once.');
    }

    /** As the zip has it that a repository makes of a branch. */
    public function testThePluginsFolderMayHaveAnotherName(): void
    {
        $this->site = new PluginSite(folder: 'larder-main');
        $page = $this->site->activate();
        self::assertSame('Larder\WordPress\ObjectCache', $this->site->web('return get_class($GLOBALS["wp_object_cache"]);'));
        self::assertStringStartsWith('success: Larder is now the object cache of this site', PluginSite::notices($page)[0] ?? '');
        self::assertSame('good', $this->site->web('return Larder\WordPress\Health::drop_in()["status"];', '/wp-admin/index.php'));

        // Another name again, as of a copy that somebody unpacks by hand.
        $plugins = $this->site->site->content('plugins');
        \rename("$plugins/larder-main", "$plugins/larder-it's");
        $this->site->web('update_option("active_plugins", ["larder-it\'s/larder.php"]); return 1;');
        $result = $this->site->web('return Larder\WordPress\Health::drop_in();', '/wp-admin/index.php');
        // Looking at it has put it right.
        self::assertSame('Larder\WordPress\ObjectCache', $this->site->web('return get_class($GLOBALS["wp_object_cache"]);'), (string) \json_encode($result));
        $this->site->deactivate();
        self::assertFileDoesNotExist($this->site->dropIn());
    }

    public function testItNeedsNoFunctionThatSharedHostsTakeAway(): void
    {
        // WordPress cannot do without these, nor this site's php-fpm without the last.
        $disabled = \implode(',', \array_diff(\explode(',', DisabledFunctionsTest::COMMON), ['ini_set', 'error_log', 'phpversion', 'posix_getppid']));
        $this->site = new PluginSite(ini: ['disable_functions' => $disabled]);
        $page = $this->site->activate();
        self::assertStringStartsWith('success: Larder is now the object cache of this site', PluginSite::notices($page)[0] ?? '');
        $this->site->web('return wp_cache_set("k", "kept", "plugin");');
        self::assertSame('kept', $this->site->web('return wp_cache_get("k", "plugin");'));
        self::assertSame('kept', $this->site->site->cli('echo wp_cache_get("k", "plugin");'));
        foreach (['drop_in', 'works', 'machine', 'flushes', 'privacy'] as $test) {
            self::assertIsString($this->site->web("return Larder\\WordPress\\Health::$test()['status'];", '/wp-admin/index.php'), $test);
        }
        self::assertSame('good', $this->site->web('return Larder\\WordPress\\Health::works()["status"];', '/wp-admin/index.php'));
        self::assertStringContainsString('Larder', $this->site->page('/wp-admin/tools.php?page=larder')->body);
        $this->site->deactivate();
        $this->site->delete();
        self::assertSame([], $this->site->left());
        self::assertSame('', $this->site->site->errors());
    }

    /** Larder cannot do without these: then each page is WordPress's own, says why in the log, and what it changes is not forgotten. */
    public function testAFunctionThatTheHostTakesAwayLaterLeavesNothingStale(): void
    {
        $this->site = PluginSite::active();
        $site = $this->site->site;
        foreach (['chmod', 'fileowner', 'fileperms', 'lstat', 'touch', 'clearstatcache', 'sys_get_temp_dir'] as $function) {
            $server = new SecondServer($site, ['disable_functions' => $function]);
            foreach (['there', 'gone'] as $plugin) {
                self::assertNotSame('', $this->site->title(), 'The cache has the old one.');
                $plugin === 'there' || \rename($site->content('plugins/larder'), $site->content('gone'));
                $value = "Changed without $function, $plugin";
                $response = $server->browser->ask(new Request('/?larder_test=' . \rawurlencode(\base64_encode("update_option('blogname', '$value'); return get_option('blogname');"))));
                $plugin === 'there' || \rename($site->content('gone'), $site->content('plugins/larder'));
                self::assertSame([200, \json_encode($value)], [$response->status, $response->body], "$function, $plugin");
                self::assertSame($value, $this->site->title());
            }
        }
        self::assertSame([], \preg_grep('~fatal|^(?!\[[^]]+\] Larder: .*disabled in fpm-fcgi)~i', \array_filter(\explode("\n", $site->errors()))));
        \file_put_contents(\dirname($site->root) . '/debug.log', '');
    }

    public function testADropInThatIsNotUsedSaysSo(): void
    {
        $this->site = PluginSite::active();
        // Another one's cache, loaded before all drop-ins.
        \file_put_contents($this->site->site->content('db.php'), '<?php function wp_cache_init() { require_once ABSPATH . WPINC . "/class-wp-object-cache.php"; $GLOBALS["wp_object_cache"] = new WP_Object_Cache(); }'
            . ' foreach (["get", "set", "add", "delete", "replace", "incr", "decr"] as $name) { eval("function wp_cache_$name(...\$given) { return \$GLOBALS[\'wp_object_cache\']->$name(...\$given); }"); }'
            . ' foreach (["get_multiple", "set_multiple", "add_multiple", "delete_multiple", "add_global_groups", "switch_to_blog", "flush"] as $name) { eval("function wp_cache_$name(...\$given) { return \$GLOBALS[\'wp_object_cache\']->$name(...\$given); }"); }'
            . ' function wp_cache_add_non_persistent_groups() {} function wp_cache_close() { return true; } function wp_cache_flush_runtime() { return wp_cache_flush(); } function wp_cache_supports() { return false; }');
        $result = $this->site->web('return Larder\WordPress\Health::drop_in();', '/wp-admin/index.php');
        self::assertSame('critical', $result['status']);
        self::assertStringContainsString('another object cache', $result['description']);
        self::assertStringContainsString('another object cache', PluginSite::notices($this->site->plugins())[0] ?? '');
    }

    public function testAnotherVersionsDropInIsReplaced(): void
    {
        $this->site = PluginSite::active();
        $ours = (string) \file_get_contents($this->site->dropIn());
        $this->site->foreign(\str_replace('Version: ', 'Version: 0.', $ours));
        $this->site->title();
        $this->site->page('/wp-admin/admin-ajax.php?action=none');
        self::assertStringNotEqualsFile($this->site->dropIn(), $ours);
        $this->site->page('/wp-admin/index.php');
        self::assertStringEqualsFile($this->site->dropIn(), $ours);
        self::assertSame([], \glob($this->site->dropIn() . '.*'));
    }

    public function testAnUpdateLeavesNothingStale(): void
    {
        $this->site = PluginSite::active();
        self::assertSame('Larder', $this->site->title());
        $zip = $this->site->site->content('larder.zip');
        \copy(\dirname(BuiltPlugin::path()) . '/larder.zip', $zip);
        $this->site->site->account->receive($zip);
        $this->site->web('set_site_transient("update_plugins", (object) ["last_checked" => time(), "checked" => [], "response" => ["larder/larder.php" => (object) [
            "slug" => "larder", "plugin" => "larder/larder.php", "new_version" => "99", "package" => WP_CONTENT_DIR . "/larder.zip"]]]);');
        $nonce = $this->site->web('return wp_create_nonce("updates");', '/wp-admin/index.php');
        $answer = $this->site->send('/wp-admin/admin-ajax.php', ['action' => 'update-plugin', 'plugin' => 'larder/larder.php', 'slug' => 'larder', '_ajax_nonce' => $nonce]);
        self::assertTrue(\json_decode($answer->body, true)['success'] ?? null, $answer->body);
        self::assertFileDoesNotExist($this->site->dropIn(), 'It is put back by a request that runs the new code only.');
        // Nobody tells the cache.
        $this->site->site->cli('update_option("blogname", "Changed meanwhile");');

        // Its answer comes before it begins.
        self::assertSame(200, $this->site->site->get('/wp-cron.php')->status);
        Wait::until(fn(): bool => \file_exists($this->site->dropIn()), 'the drop-in');
        self::assertFileEquals(BuiltPlugin::path('drop-ins/object-cache.php'), $this->site->dropIn());
        self::assertSame('Changed meanwhile', $this->site->title());
        self::assertTrue($this->site->web('return $GLOBALS["wp_object_cache"] instanceof Larder\WordPress\ObjectCache;'));
        \unlink($zip);
    }

    public function testARequestUnderWayKeepsItsOwnCodeWhileAnUpdateReplacesIt(): void
    {
        $this->site = PluginSite::active();
        $content = $this->site->site->content();
        // A class of this version that the request needs when the next version is there, which has another one of the name.
        $next = "$content/next";
        \exec('cp -r ' . \escapeshellarg(BuiltPlugin::path()) . ' ' . \escapeshellarg($next), result_code: $code);
        self::assertSame(0, $code);
        \file_put_contents("$next/src/Admin/Contents.php", '<?php throw new Error("This is of the next version.");');
        \file_put_contents("$next/classes.php", \preg_replace("/'' => '\w+'/", "'' => 'next'", (string) \file_get_contents("$next/classes.php")));
        $this->site->site->account->receive($content);
        $child = \pcntl_fork();
        if ($child === 0) {
            $said = $this->site->web('file_put_contents(WP_CONTENT_DIR . "/waits", ""); while (!is_file(WP_CONTENT_DIR . "/go")) { usleep(5_000); clearstatcache(); } return class_exists("Larder\\WordPress\\Admin\\Contents");', '/wp-admin/index.php');
            \file_put_contents("$content/said", \json_encode($said));
            \posix_kill((int) \getmypid(), \SIGKILL);
        }
        Wait::until(static fn(): bool => \is_file("$content/waits"), 'the request');
        $this->site->web('return Larder\WordPress\Activation::updating(true, ["plugin" => "larder/larder.php"]);');
        \rename("$content/plugins/larder", "$content/old");
        \rename($next, "$content/plugins/larder");
        \touch("$content/go");
        \pcntl_waitpid($child, $status);
        self::assertSame('true', (string) @\file_get_contents("$content/said"), $this->site->site->errors());
        self::assertCount(1, \glob("$content/larder-before-*") ?: []);
        $this->site->web('Larder\WordPress\Activation::sweep(0); return 1;', '/wp-admin/index.php');
        self::assertSame([], \glob("$content/larder-before-*"));
    }

    public function testAnUpdateThatNeverEndedIsEnded(): void
    {
        $this->site = PluginSite::active();
        $this->site->web('Larder\WordPress\Activation::updating(true, ["plugin" => "larder/larder.php"]);');
        self::assertFileDoesNotExist($this->site->dropIn());
        $this->site->plugins();
        self::assertFileDoesNotExist($this->site->dropIn(), 'It may still go on.');
        $this->site->web('Larder\WordPress\Notes::put(["updating" => time() - 1000]);');
        $this->site->plugins();
        self::assertFileExists($this->site->dropIn());
    }

    public function testActivatedAgainItKnowsNothingFromBefore(): void
    {
        $this->site = PluginSite::active();
        self::assertSame('Larder', $this->site->title());
        $this->site->deactivate();
        self::assertFileDoesNotExist($this->site->dropIn());
        $this->site->site->cli('update_option("blogname", "Another");');
        self::assertSame([], PluginSite::notices($this->site->plugins()));
        $this->site->activate();
        self::assertSame('Another', $this->site->title());

        // Also where somebody has taken the drop-in away by hand.
        \unlink($this->site->dropIn());
        $this->site->site->cli('update_option("blogname", "A third");');
        $page = $this->site->plugins();
        self::assertStringContainsString('its drop-in is not in place', PluginSite::notices($page)[0]);
        self::assertStringContainsString('success', PluginSite::notices($this->site->press($page))[0]);
        self::assertSame('A third', $this->site->title());
    }

    public function testDeletedItHasLeftNothing(): void
    {
        $this->site = new PluginSite(['LARDER_NEAR' => 'apcu']);
        $rows = fn(): array => $this->site->site->sql("SELECT option_name FROM wp_options WHERE option_name LIKE '%larder%' UNION SELECT meta_key FROM wp_usermeta WHERE meta_key LIKE '%larder%'");
        $keys = 'return array_values(array_filter(array_column(apcu_cache_info()["cache_list"], "info"), fn($key) => str_contains($key, ":")));';
        $this->site->activate();
        $this->site->title();
        self::assertNotSame([], $this->site->web($keys));
        self::assertNotSame([], $this->site->left());
        self::assertNotSame([], $rows());
        $this->site->deactivate();
        $this->site->delete();
        self::assertSame([], $this->site->left());
        self::assertSame([], $rows());
        self::assertSame([], $this->site->web($keys));
        self::assertSame('Larder', $this->site->title());
    }

    public function testDeletedItHasLeftNothingOnAServerOfSeveral(): void
    {
        $redis = new RedisServer();
        $this->site = new PluginSite(['LARDER_DSN' => "redis://127.0.0.1:$redis->port/0"]);
        $client = new \Redis();
        $client->connect($redis->socket);
        // Somebody else's, whose prefix looks like one of ours.
        $client->set('wp-other:0123456789abcdef:r:x', 'theirs');
        $this->site->activate();
        $this->site->title();
        self::assertGreaterThan(3, $client->dbSize());
        $this->site->deactivate();
        $this->site->delete();
        self::assertSame(['wp-other:0123456789abcdef:r:x'], $client->keys('*'));
        self::assertSame([], $this->site->left());
    }

    public function testWhereNothingCanBeWrittenItSaysWhatToDo(): void
    {
        $this->site = new PluginSite();
        \chmod($this->site->site->content(), 0o555);
        \chown($this->site->site->content(), \posix_geteuid());
        $notices = PluginSite::notices($this->site->activate());
        self::assertStringStartsWith('error: Larder is not the object cache of this site yet.', $notices[0]);
        self::assertStringContainsString('warning: Larder could not install its drop-in', $notices[1]);
        self::assertSame('Larder', $this->site->title());
        \chmod($this->site->site->content(), 0o755);
        $this->site->site->account->receive($this->site->site->content());
        $page = $this->site->plugins();
        self::assertStringContainsString('success', PluginSite::notices($this->site->press($page))[0]);
    }

    public function testAnOwnerWhoForbidsChangesOfFilesIsObeyed(): void
    {
        $this->site = new PluginSite();
        $this->site->site->define(['DISALLOW_FILE_MODS' => true]);
        $this->site->site->activate('larder/larder.php');
        $notices = PluginSite::notices($this->site->plugins());
        self::assertStringContainsString('DISALLOW_FILE_MODS', $notices[0]);
        self::assertFileDoesNotExist($this->site->dropIn());
        // As it says, by hand.
        $this->site->site->putDropIn(BuiltPlugin::path('drop-ins/object-cache.php'));
        self::assertSame([], PluginSite::notices($this->site->plugins()));
        self::assertTrue($this->site->web('return $GLOBALS["wp_object_cache"]->larder() !== null;'));
    }

    public function testWithItsFilesGoneTheSiteGoesOn(): void
    {
        $this->site = PluginSite::active();
        \rename($this->site->site->content('plugins/larder'), $this->site->site->content('gone'));
        self::assertSame('Larder', $this->site->title());
        self::assertFalse($this->site->web('return class_exists("Larder\WordPress\ObjectCache", false);'));
        \rename($this->site->site->content('gone'), $this->site->site->content('plugins/larder'));
    }

    public function testOnANetworkItIsTheNetworks(): void
    {
        $this->site = new PluginSite(sites: ['second']);
        $notices = PluginSite::notices($this->site->activate());
        self::assertStringContainsString('success: ', $notices[0]);
        self::assertTrue($this->site->web('return $GLOBALS["wp_object_cache"]->larder() !== null;', '/second/'));
        $this->site->foreign(self::FOREIGN);
        // The administrator of one site may not choose for all.
        $this->site->site->cli('$user = wp_create_user("owner", "owner", "owner@example.org"); add_user_to_blog(2, $user, "administrator"); add_user_to_blog(1, $user, "administrator");');
        $owner = $this->site->site->login('owner', 'owner');
        self::assertSame([], PluginSite::notices($this->site->site->get('/wp-admin/index.php', $owner)));
        $page = $this->site->plugins();
        self::assertStringContainsString('warning: ', PluginSite::notices($page)[0]);
        $this->assertMayNotChoose($owner);
        $this->site->press($page);
        self::assertFileEquals(BuiltPlugin::path('drop-ins/object-cache.php'), $this->site->dropIn());
        $this->site->deactivate();
        $this->site->delete();
        self::assertSame([], $this->site->left());
        self::assertSame([], $this->site->site->sql("SELECT meta_key FROM wp_sitemeta WHERE meta_key LIKE '%larder%'"));
    }

    /**
     * Not even with a form that was made for him.
     *
     * @param array<string, string> $cookies
     */
    private function assertMayNotChoose(array $cookies): void
    {
        $nonce = $this->site->web('return wp_create_nonce("larder_enable");', '/wp-admin/profile.php', $cookies);
        self::assertSame(403, $this->site->site->post('/wp-admin/admin-post.php', ['action' => 'larder_enable', '_wpnonce' => $nonce], $cookies)->status);
        self::assertStringEqualsFile($this->site->dropIn(), self::FOREIGN);
    }
}
