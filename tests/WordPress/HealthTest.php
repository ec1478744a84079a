<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\WordPress\Health;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** What Site Health says, on real sites that are well and that are not. */
#[Group('wordpress')]
final class HealthTest extends TestCase
{
    private PluginSite $site;

    public function testAllIsWellAndSiteHealthShowsIt(): void
    {
        $this->site = PluginSite::active();
        $page = $this->site->page('/wp-admin/site-health.php');
        self::assertSame(1, \preg_match('~var SiteHealth = (\{.*?\});~s', $page->body, $match));
        $status = \json_decode($match[1], true, flags: \JSON_THROW_ON_ERROR)['site_status'];
        $ours = \array_filter(\array_column($status['direct'], 'status', 'test'), static fn(string $test): bool => \str_starts_with($test, 'larder_'), \ARRAY_FILTER_USE_KEY);
        // A machine that is busy may have a slow disk just now.
        self::assertContains($ours['larder_machine'] ?? '', ['good', 'recommended']);
        self::assertSame(['larder_drop_in' => 'good', 'larder_works' => 'good', 'larder_flushes' => 'good', 'larder_pages' => 'recommended'], \array_diff_key($ours, ['larder_machine' => '']));
        $asked = \array_values(\preg_grep('~larder~', \array_column($status['async'], 'test')) ?: []);
        self::assertCount(1, $asked);

        // As the page's script asks.
        $path = \substr($asked[0], \strlen($this->site->site->url()));
        self::assertSame(401, $this->site->site->get($path)->status, 'Not everybody is told.');
        self::assertSame(1, \preg_match('~wpApiSettings = .*?"nonce":"([0-9a-f]+)"~', $page->body, $nonce));
        $answer = $this->site->site->get($path, $this->site->cookies, ['X-WP-Nonce' => $nonce[1]]);
        self::assertSame(200, $answer->status);
        self::assertSame('larder_privacy', \json_decode($answer->body, true, flags: \JSON_THROW_ON_ERROR)['test']);
        self::assertSame('', $this->site->site->errors());
    }

    public function testTheWebServerIsAskedForTheData(): void
    {
        $this->site = PluginSite::active();
        // nginx knows of no .htaccess.
        $privacy = $this->test('privacy');
        self::assertSame('recommended', $privacy['status']);
        self::assertStringContainsString($this->site->site->url() . '/wp-content/larder-', $privacy['description']);

        // A name that can be guessed is worse.
        $this->site->site->define(['LARDER_DIRECTORY' => $this->site->site->content('cache')]);
        self::assertSame('critical', $this->test('privacy')['status']);
        self::assertSame([], \glob($this->site->site->content('{cache,larder-*}/probe-*'), \GLOB_BRACE), 'The probe has gone.');
    }

    public function testAWebServerThatRefusesItIsGood(): void
    {
        $this->site = PluginSite::active(nginx: ['location ~ /larder-[0-9a-f]+/ { deny all; }']);
        $privacy = $this->test('privacy');
        self::assertSame('good', $privacy['status']);
        self::assertStringContainsString('refused', $privacy['description']);
    }

    public function testWhatIsNotServedNeedsNoQuestion(): void
    {
        $this->site = new PluginSite();
        \chmod(\dirname($this->site->site->root), 0o777);
        $this->site->activate();
        self::assertCount(1, \glob(\dirname($this->site->site->root) . '/larder-*') ?: []);
        $privacy = $this->test('privacy');
        self::assertSame('good', $privacy['status']);
        self::assertStringContainsString('does not serve', $privacy['description']);
        self::assertSame('Larder', $this->site->title());
        $this->site->deactivate();
        $this->site->delete();
        self::assertSame([], $this->site->left());
    }

    public function testACacheThatKeepsNothingIsCritical(): void
    {
        if (\posix_geteuid() !== 0) {
            self::markTestSkipped('Only root can give a directory to somebody else.');
        }
        $this->site = PluginSite::active();
        $directory = (\glob($this->site->site->content('larder-*')) ?: [''])[0];
        \chown($directory, 0);
        \chown((\glob($directory . '/prefix-*') ?: [''])[0], 0);
        self::assertSame('Larder', $this->site->title());
        $works = $this->test('works');
        self::assertSame('critical', $works['status']);
        self::assertStringContainsString('root', $works['description']);
        self::assertStringContainsString('error: Larder currently keeps nothing beyond a request.', PluginSite::notices($this->site->plugins())[0]);
        self::assertSame('critical', $this->test('machine')['status']);
    }

    public function testWhatOtherProgramsHaveDoneToItsFilesIsSaid(): void
    {
        $this->site = PluginSite::active();
        $directory = (\glob($this->site->site->content('larder-*/prefix-*')) ?: [\glob($this->site->site->content('larder-*'))[0] ?? ''])[0];
        self::assertStringNotContainsString('lost files', $this->test('machine')['description']);
        \unlink($directory . '/larder.db');
        self::assertSame('Larder', $this->site->title());
        $machine = $this->test('machine');
        self::assertSame('recommended', $machine['status']);
        self::assertMatchesRegularExpression('/lost files: 20\d\d-.*larder\.db was removed.*delete mishaps\.txt/', $machine['description']);
        $fields = $this->site->web('return Larder\WordPress\Health::information([]);', '/wp-admin/index.php')['larder']['fields'];
        self::assertContains('lost files', \array_column($fields, 'label'));
    }

    public function testApcuIsWarnedOfOnlyWhereItIsUsed(): void
    {
        $this->site = PluginSite::active(['LARDER_NEAR' => 'apcu']);
        $machine = $this->test('machine');
        self::assertSame('recommended', $machine['status']);
        self::assertStringContainsString('lock is not robust', $machine['description']);
        $this->site->site->define(['LARDER_NEAR' => 'none']);
        self::assertStringNotContainsString('apc', $this->test('machine')['description']);
    }

    public function testWhoFlushesAllTheTimeIsNamed(): void
    {
        $this->site = PluginSite::active();
        $plugin = $this->site->site->content('plugins/flusher');
        \mkdir($plugin);
        \file_put_contents($plugin . '/flusher.php', "<?php\n/* Plugin Name: Flusher */\nadd_action('init', fn() => wp_cache_flush());\n");
        $this->site->site->account->receive($plugin);
        $this->site->site->activate('flusher/flusher.php');
        for ($i = 0; $i < 30; $i++) {
            $this->site->title();
        }
        $flushes = $this->test('flushes');
        self::assertSame('recommended', $flushes['status']);
        self::assertStringContainsString('flusher', $flushes['description']);
    }

    public function testTheInformationTellsNoSecret(): void
    {
        $this->site = PluginSite::active(['AUTH_KEY' => 'the-very-secret-salt', 'LARDER_SECRET' => 'another-secret']);
        $information = $this->site->web('return Larder\WordPress\Health::information(["other" => []]);', '/wp-admin/index.php');
        self::assertArrayHasKey('other', $information);
        $fields = $information['larder']['fields'];
        self::assertSame('ours', $fields['drop_in']['value']);
        self::assertSame('yes', $fields['persistent']['value']);
        self::assertTrue($fields['directory']['private'], 'Not in what is copied for others.');
        self::assertArrayHasKey('tier_disk', $fields);
        self::assertStringNotContainsString('secret', (string) \json_encode($information));
        $page = $this->site->page('/wp-admin/site-health.php?tab=debug')->body;
        self::assertStringContainsString('health-check-accordion-block-larder', $page);
    }

    public function testItIsLookedAtEachWeekByItself(): void
    {
        $this->site = PluginSite::active();
        $this->site->site->cli('do_action("wp_site_health_scheduled_check");');
        $result = \json_decode((string) $this->site->web('return get_transient("health-check-site-status-result");'), true, flags: \JSON_THROW_ON_ERROR);
        self::assertIsArray($result);
    }

    /** @return array{status: string, label: string, description: string, test: string} */
    private function test(string $name): array
    {
        return $this->site->web("return Larder\WordPress\Health::$name();", '/wp-admin/index.php');
    }
}
