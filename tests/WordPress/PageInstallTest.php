<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Attributes\Group;

/**
 * The page cache's drop-in comes and goes with the plugin, as by an administrator with a browser.
 *
 * @extends OwnSiteTestCase<PluginSite>
 */
#[Group('wordpress')]
final class PageInstallTest extends OwnSiteTestCase
{
    private const FOREIGN = "<?php\n/*\n * Plugin Name: Other Pages\n */\n";
    private const LINE = 'add this line to wp-config.php, above the line that says to stop editing: define(&#039;WP_CACHE&#039;, true);';

    public function testActivationSaysWhichLineIsNeededAndDeactivationTakesAllBack(): void
    {
        $this->site = new PluginSite();
        $before = (string) \file_get_contents($this->site->site->root . '/wp-config.php');
        self::assertStringContainsString(self::LINE, PluginSite::notices($this->site->activate())[0]);
        self::assertFileEquals(BuiltPlugin::path('drop-ins/advanced-cache.php'), $this->file());
        self::assertSame('', $this->did('/'));
        self::assertStringEqualsFile($this->site->site->root . '/wp-config.php', $before);
        self::assertStringContainsString(\html_entity_decode(self::LINE, \ENT_QUOTES), \html_entity_decode($this->health()["description"], \ENT_QUOTES));

        $this->site->site->define(['WP_CACHE' => true]);
        $this->did('/');
        self::assertStringContainsString('stored', $this->did('/sample-page/'));
        self::assertStringContainsString('hit', $this->did('/sample-page/'));
        self::assertStringContainsString('Larder stores pages', $this->health()['label']);

        $this->site->deactivate();
        self::assertFileDoesNotExist($this->file());
        self::assertSame('', $this->did('/sample-page/'));
        // What changed meanwhile nobody has told the cache.
        $this->site->site->cli('wp_update_post(["ID" => 2, "post_title" => "Changed meanwhile"]);');
        self::assertStringNotContainsString('add this line', \implode(PluginSite::notices($this->site->activate())));
        self::assertStringContainsString('Changed meanwhile', $this->site->site->get('/sample-page/')->body);
        $this->site->deactivate();
        $this->site->delete();
        self::assertSame([], $this->site->left());
        self::assertSame(200, $this->site->site->get('/')->status);
    }

    public function testAnothersPageCacheIsLeftAlone(): void
    {
        $this->site = new PluginSite();
        $this->put(self::FOREIGN);
        $this->site->activate();
        $this->site->plugins();
        self::assertStringEqualsFile($this->file(), self::FOREIGN);
        self::assertStringContainsString('belongs to Other Pages', $this->health()['description']);
        $this->site->deactivate();
        self::assertStringEqualsFile($this->file(), self::FOREIGN);
        // When that is gone, ours comes with the next page of wp-admin.
        \unlink($this->file());
        $this->site->activate();
        self::assertFileEquals(BuiltPlugin::path('drop-ins/advanced-cache.php'), $this->file());
        $this->put(\str_replace('Version: ', 'Version: 0.', (string) \file_get_contents($this->file())));
        $this->site->plugins();
        self::assertFileEquals(BuiltPlugin::path('drop-ins/advanced-cache.php'), $this->file());
    }

    public function testLeftBehindItDoesNothing(): void
    {
        $this->site = PluginSite::active(['WP_CACHE' => true]);
        $this->did('/');
        $this->did('/sample-page/');
        self::assertStringContainsString('hit', $this->did('/sample-page/'));
        // Another plugin takes the object cache's place: nobody would hear of changes.
        $ours = (string) \file_get_contents($this->site->dropIn());
        $this->site->foreign("<?php\n/* Plugin Name: Other */\nrequire ABSPATH . WPINC . '/cache.php';\n");
        self::assertSame('', $this->did('/sample-page/'));
        $this->site->site->cli('wp_update_post(["ID" => 2, "post_title" => "By another cache"]);');
        $this->site->foreign($ours);
        self::assertStringContainsString('By another cache', $this->site->site->get('/sample-page/')->body);
        // Not active, without anybody having taken the drop-ins away: what changes is told all the same.
        $this->site->site->cli('update_option("active_plugins", []);');
        $this->did('/sample-page/');
        self::assertStringContainsString('hit', $this->did('/sample-page/'));
        $this->site->site->cli('wp_update_post(["ID" => 2, "post_title" => "Without the plugin"]);');
        self::assertStringContainsString('Without the plugin', $this->site->site->get('/sample-page/')->body);
        // The files are gone.
        \rename($this->site->site->content('plugins/larder'), $this->site->site->content('gone'));
        self::assertSame('', $this->did('/sample-page/'));
        self::assertSame('Larder', $this->site->title());
        \rename($this->site->site->content('gone'), $this->site->site->content('plugins/larder'));
        // The owner switches it off.
        $this->site->site->define(['LARDER_DISABLED' => true]);
        self::assertSame('', $this->did('/sample-page/'));
        $this->site->site->define(['LARDER_PAGES' => false]);
        self::assertSame('', $this->did('/sample-page/'));
    }

    private function did(string $path): string
    {
        $page = $this->site->site->get($path);
        self::assertSame(200, $page->status, $page->body);

        return $page->header('cache-status');
    }

    private function file(): string
    {
        return $this->site->site->content('advanced-cache.php');
    }

    private function put(string $code): void
    {
        \file_put_contents($this->file(), $code);
        $this->site->site->account->receive($this->file());
    }

    /** @return array<string, string> */
    private function health(): array
    {
        return $this->site->web('return Larder\WordPress\Health::pages();', '/wp-admin/index.php');
    }
}
