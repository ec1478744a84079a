<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Attributes\Group;

/** The pages of a network and of its sites: who sees and flushes what. */
#[Group('wordpress')]
final class AdminNetworkTest extends SharedSiteTestCase
{
    private const SITE = '/wp-admin/tools.php?page=larder';
    private const NETWORK = '/wp-admin/network/settings.php?page=larder';

    /** @var array<string, string> of the network */
    private static array $super = [];

    /** @var array<string, string> of the second site alone */
    private static array $local = [];

    protected static function make(): InstalledSite
    {
        $site = new InstalledSite(sites: ['second']);
        // What a form of whoever asks would have in it, had he the form.
        $site->write('mu-plugins/nonce.php', '<?php add_action("init", static function (): void { isset($_GET["nonce"]) && exit(wp_create_nonce("larder_flush-" . $_GET["nonce"])); });');
        $site->site->cli('$user = wp_insert_user(["user_login" => "local", "user_pass" => "local", "user_email" => "l@example.org"]); add_user_to_blog(get_sites(["path" => "/second/"])[0]->blog_id, $user, "administrator");');
        self::$super = $site->site->login();
        self::$local = $site->site->login('local', 'local');

        return $site;
    }

    protected function setUp(): void
    {
        parent::setUp();
        // Among the largest keys, which the page lists.
        foreach (['/', '/second/'] as $path) {
            $this->site->web('return wp_cache_set("key of blog " . get_current_blog_id(), str_repeat("x", 300000), "larder_shop");', $path);
        }
    }

    public function testASitesAdministratorSeesThatSiteAlone(): void
    {
        $page = $this->page('/second' . self::SITE, self::$local);

        self::assertStringContainsString('key of blog 2', $page);
        self::assertStringNotContainsString('key of blog 1', $page);
        // What is global, the accounts of all sites, is nobody's single site's.
        self::assertStringNotContainsString('>userlogins<', $page);
        self::assertStringNotContainsString('larder-findings', $page);
        self::assertStringNotContainsString('value="network"', $page);
        self::assertSame(403, $this->site->site->get(self::SITE, self::$local)->status);
        self::assertSame(403, $this->site->site->get(self::NETWORK, self::$local)->status);
    }

    public function testTheNetworksAdministratorSeesAll(): void
    {
        $page = $this->page(self::NETWORK, self::$super);

        foreach (['key of blog 1', 'key of blog 2', 'all sites', 'larder-findings', 'value="network"'] as $text) {
            self::assertStringContainsString($text, $page);
        }
        self::assertStringNotContainsString('value="site"', $page);
    }

    public function testASitesAdministratorFlushesThatSiteAlone(): void
    {
        $post = fn(string $path, string $what): string => $this->site->site->post("$path/wp-admin/admin-post.php", [
            'action' => 'larder_flush', 'what' => $what, '_wpnonce' => $this->site->site->get("$path/?nonce=$what", self::$local)->body,
        ], self::$local)->header('location');

        self::assertSame('', $post('/second', 'network'));
        self::assertSame('', $post('', 'network'));
        self::assertSame('', $post('', 'site'));
        self::assertSame([true, true], $this->there());
        self::assertStringEndsWith('/second' . self::SITE . '&larder-notice=site', $post('/second', 'site'));
        self::assertSame([true, false], $this->there());
    }

    public function testTheNetworksAdministratorFlushesAll(): void
    {
        $nonce = self::nonce('value="network"', $this->page(self::NETWORK, self::$super));

        $response = $this->site->site->post('/wp-admin/admin-post.php', ['action' => 'larder_flush', 'what' => 'network', '_wpnonce' => $nonce], self::$super);

        self::assertStringEndsWith(self::NETWORK . '&larder-notice=network', $response->header('location'));
        self::assertSame([false, false], $this->there());
        self::assertStringContainsString('The cache of all sites was flushed.', $this->page(self::NETWORK . '&larder-notice=network', self::$super));
    }

    /** @return list<mixed> of the first and the second site */
    private function there(): array
    {
        $get = 'return wp_cache_get("key of blog " . get_current_blog_id(), "larder_shop") !== false;';

        return [$this->site->web($get), $this->site->web($get, '/second/')];
    }
}
