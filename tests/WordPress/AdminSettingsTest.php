<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Response;
use PHPUnit\Framework\Attributes\Group;

/**
 * What an owner finds and changes on the plugin's page without wp-config.php, over HTTP.
 *
 * @extends SharedSiteTestCase<PageSite>
 */
#[Group('wordpress')]
final class AdminSettingsTest extends SharedSiteTestCase
{
    private const PAGE = '/wp-admin/tools.php?page=larder';
    private const ALL = ['pages' => '1', 'life' => '3600', 'prefetch' => '1', 'statistics' => '1'];

    /** @var array<string, string> */
    private static array $admin = [];

    protected static function make(): InstalledSite
    {
        $site = new PageSite();
        self::$admin = $site->site->login();

        return $site;
    }

    public function testWhatAnOwnerLooksForComesFirst(): void
    {
        $page = $this->page(self::PAGE, self::$admin);
        $first = \explode('</h2>', \explode('<div class="wrap larder">', $page)[1])[0];
        self::assertStringContainsString('<dd>Larder keeps what is stored</dd>', $first);
        self::assertStringContainsString('<dd>Larder stores pages</dd>', $first);
        self::assertMatchesRegularExpression('~<dt>Store</dt><dd>[^<]*sqlite, [\d.]+ (B|KB|MB)~', $first);
        self::assertStringContainsString('<dd>' . $this->site->web('return Larder\WordPress\Site::current()->directory();') . '</dd>', $first);
        self::assertMatchesRegularExpression('~<dt>Contents</dt><dd>\d+ entries, ~', $first);
        self::assertStringContainsString('>Flush this site</button>', $first);
        self::assertStringContainsString('>Empty the pages of this site</button>', $first);
        // This nginx has no rule.
        self::assertStringContainsString('The web server exposes Larder&#039;s data', \explode('larder-passed', $page)[0]);
    }

    public function testPagesAreSwitchedOffAndOnAndHaveAnotherLife(): void
    {
        $this->site->warm(['/sample-page/']);
        self::assertStringEndsWith('&larder-saved=1', $this->save(['life' => '100'] + self::ALL)->header('location'));
        self::assertSame('stored', PageSite::did($this->site->get('/sample-page/')), 'What was stored had the other life.');
        self::assertStringContainsString('max-age=100', $this->site->life('/sample-page/'));
        $this->save(['pages' => '0'] + self::ALL);
        self::assertSame('', $this->site->get('/sample-page/')->header('cache-status'));
        $page = $this->page(self::PAGE, self::$admin);
        self::assertStringContainsString('<dd>Larder stores no pages</dd>', $page);
        self::assertStringContainsString('The page cache is switched off in the settings of Larder.', $page);
        $this->save(self::ALL);
        $this->site->warm(['/sample-page/']);
    }

    public function testPrefetchAndFiguresAreSwitchedOff(): void
    {
        $this->save(['prefetch' => '0', 'statistics' => '0'] + self::ALL);
        $lists = fn(): array => \glob($this->site->site->content('larder-*/*/local-*-routes/*')) ?: [];
        \array_map(\unlink(...), $lists());
        self::assertSame(['pages' => true, 'life' => 3600, 'prefetch' => false, 'statistics' => false], $this->site->web('return Larder\WordPress\Choices::all();'));
        self::assertSame([], $lists());
        $this->save(self::ALL);
        $this->site->web('return 1;');
        self::assertNotSame([], $lists());
    }

    public function testWhatWpConfigSaysIsShownAsFixedAndCounts(): void
    {
        $this->save(['life' => '100'] + self::ALL);
        $this->site->site->define(['LARDER_PAGES' => false, 'LARDER_STATISTICS' => false]);
        $page = $this->page(self::PAGE, self::$admin);
        self::assertSame(2, \substr_count($page, 'Fixed in wp-config.php by LARDER_PAGES.'));
        self::assertSame(1, \substr_count($page, 'Fixed in wp-config.php by LARDER_STATISTICS.'));
        self::assertMatchesRegularExpression('~name="pages" value="1" disabled~', $page);
        self::assertSame('', $this->site->get('/sample-page/')->header('cache-status'));
        // What is fixed is not sent.
        $this->save(['prefetch' => '1']);
        $this->site->site->define([]);
        self::assertSame(100, $this->site->web('return Larder\WordPress\Choices::all()["life"];'));
        $this->save(self::ALL);
    }

    public function testAnotherWebServerTakesThemOver(): void
    {
        $this->save(['life' => '200'] + self::ALL);
        \unlink($this->site->site->content('larder-choices.php'));
        self::assertSame(3600, $this->site->web('return Larder\WordPress\Choices::all()["life"];'));
        $this->page(self::PAGE, self::$admin);
        self::assertSame(200, $this->site->web('return Larder\WordPress\Choices::all()["life"];'));
        self::assertSame('', $this->site->get('/wp-content/larder-choices.php')->body);
        $this->save(self::ALL);
    }

    public function testAnAddressIsPurged(): void
    {
        $paths = ['/', '/sample-page/', '/sample-page/?a=b', '/hello-world/'];
        foreach (['/sample-page/' => ['/sample-page/'], $this->site->site->url() . '/sample-page/?a=b' => ['/sample-page/?a=b'], $this->site->site->url() => ['/']] as $address => $purged) {
            $this->site->warm($paths);
            self::assertStringEndsWith('&larder-notice=address', $this->send('larder_flush', 'address', ['what' => 'address', 'address' => (string) $address])->header('location'));
            self::assertSame($purged, $this->site->purged($paths), (string) $address);
        }
        foreach (['https://other.example/sample-page/', 'sample page', '//other.example/', ' '] as $address) {
            self::assertStringEndsWith('&larder-notice=failed', $this->send('larder_flush', 'address', ['what' => 'address', 'address' => $address])->header('location'), $address);
        }
        self::assertSame([], $this->site->purged($paths));
    }

    public function testNobodyElsesFormSaves(): void
    {
        $post = fn(array $fields, array $cookies): int => $this->site->site->post('/wp-admin/admin-post.php', ['action' => 'larder_settings', 'pages' => '0'] + $fields, $cookies)->status;
        self::assertSame(403, $post(['_wpnonce' => 'forged'], self::$admin));
        self::assertSame(403, $post([], self::$admin));
        self::assertSame(400, $post([], []));
        self::assertTrue($this->site->web('return Larder\WordPress\Choices::all()["pages"];'));
    }

    /** @param array<string, string> $fields */
    private function save(array $fields): Response
    {
        return $this->send('larder_settings', null, $fields);
    }

    /**
     * @param ?string               $what   of the buttons
     * @param array<string, string> $fields
     */
    private function send(string $action, ?string $what, array $fields): Response
    {
        $nonce = self::nonce($what === null ? "\"$action\"" : "value=\"$what\"", $this->page(self::PAGE, self::$admin));
        $response = $this->site->site->post('/wp-admin/admin-post.php', ['action' => $action, '_wpnonce' => $nonce] + $fields, self::$admin);
        self::assertSame(302, $response->status, $response->body);

        return $response;
    }
}
