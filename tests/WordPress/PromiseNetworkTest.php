<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Attributes\Group;

/** The sites of a network, over HTTP and on the command line: each has its own, and all have what is the network's. */
#[Group('wordpress')]
final class PromiseNetworkTest extends SharedSiteTestCase
{
    protected static function make(): InstalledSite
    {
        return new InstalledSite(sites: ['second', 'third']);
    }

    public function testOptionsAndTransientsAreOfTheirSiteOnBothSides(): void
    {
        foreach (['first', 'next'] as $round) {
            foreach (['/', '/second/', '/third/'] as $number => $path) {
                $set = "update_option('larder_o', '$round $path'); update_option('larder_n', '$round $path', false); set_transient('larder_t', '$round $path', 60);";
                $number % 2 === 0 ? $this->site->web($set . 'return 1;', $path) : $this->site->site->cli($set, $path);
            }
            $get = '[get_option("larder_o"), get_option("larder_n"), get_transient("larder_t")]';
            foreach (['/third/', '/', '/second/'] as $path) {
                $is = "$round $path";
                self::assertSame([$is, $is, $is], $this->site->web("return $get;", $path));
                self::assertSame([$is, $is, $is], \json_decode($this->site->site->cli("echo json_encode($get);", $path)));
            }
        }
        // A site that another changes.
        $this->site->web('switch_to_blog(2); update_option("larder_o", "by the first"); restore_current_blog(); return 1;');
        self::assertSame(['next /', 'by the first', 'next /third/'], \array_map(fn(string $path): mixed => $this->site->web('return get_option("larder_o");', $path), ['/', '/second/', '/third/']));
        self::assertSame([], $this->site->web(PromiseTest::STALE . 'return $names;', '/second/'));
    }

    public function testWhatIsTheNetworksIsTheSameForAllSites(): void
    {
        foreach (['one' => '/', 'two' => '/second/'] as $value => $path) {
            $this->site->web("update_site_option('larder_s', '$value'); set_site_transient('larder_s', '$value', 60); update_user_meta(1, 'larder_u', '$value'); return 1;", $path);
            foreach (['/', '/third/', '/second/'] as $by) {
                self::assertSame([$value, $value, $value], $this->site->web('return [get_site_option("larder_s"), get_site_transient("larder_s"), get_user_meta(1, "larder_u", true)];', $by));
            }
            self::assertSame("$value $value", $this->site->site->cli('echo get_site_option("larder_s"), " ", get_site_transient("larder_s");', '/third/'));
        }
        $this->site->site->cli('update_site_option("larder_s", "three"); wp_update_user(["ID" => 1, "display_name" => "Three"]);', '/second/');
        self::assertSame(['three', 'Three'], $this->site->web('return [get_site_option("larder_s"), get_userdata(1)->display_name];', '/third/'));
    }

    public function testAFlushOfOneSiteTouchesNoOther(): void
    {
        $set = 'wp_cache_set("k", 1, "posts"); wp_cache_set("k", 1, "shop"); set_transient("larder_f", 1, 60); return 1;';
        $get = 'return [wp_cache_get("k", "posts"), wp_cache_get("k", "shop"), get_transient("larder_f")];';
        foreach (['/', '/second/', '/third/'] as $path) {
            $this->site->web($set, $path);
        }
        self::assertTrue($this->site->web('return wp_cache_flush();', '/second/'));
        self::assertSame([[1, 1, 1], [false, false, false], [1, 1, 1]], \array_map(fn(string $path): mixed => $this->site->web($get, $path), ['/', '/second/', '/third/']));
        $this->site->site->cli('wp_cache_flush_group("shop");', '/third/');
        self::assertSame([[1, 1, 1], [1, false, 1]], \array_map(fn(string $path): mixed => $this->site->web($get, $path), ['/', '/third/']));
        $this->site->site->cli('wp_cache_flush();');
        self::assertSame([[false, false, false], [1, false, 1]], \array_map(fn(string $path): mixed => $this->site->web($get, $path), ['/', '/third/']));
    }

    public function testASiteThatIsMadeAndOneThatIsDeleted(): void
    {
        $path = '/fourth/';
        self::assertSame(404, $this->site->site->get($path)->status, 'There is none of that name, and this is remembered.');
        $id = $this->site->site->cli("echo wpmu_create_blog(parse_url(get_option('siteurl'), PHP_URL_HOST) . (parse_url(get_option('siteurl'), PHP_URL_PORT) ? ':' . parse_url(get_option('siteurl'), PHP_URL_PORT) : ''), '$path', 'Fourth', 1);");
        self::assertSame('Fourth', $this->site->web('return get_option("blogname");', $path));
        $this->site->web("require_once ABSPATH . 'wp-admin/includes/ms.php'; wpmu_delete_blog($id, true); return 1;");
        self::assertNotSame(200, $this->site->site->get($path)->status);
    }

    public function testEveryRequestOfEverySiteHasThePersistentCache(): void
    {
        // The second one finds what the first has used.
        foreach (['/', '/second/', '/third/', '/', '/second/', '/third/'] as $path) {
            $this->site->site->get($path);
            self::assertSame(['', true], $this->site->web('return [$GLOBALS["wp_object_cache"]->problem(), wp_using_ext_object_cache()];', $path));
        }
    }
}
