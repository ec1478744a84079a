<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Attributes\Group;

/** `wp larder` on a network: --url says which site. */
#[Group('wordpress')]
final class CliNetworkTest extends SharedSiteTestCase
{
    protected static function make(): InstalledSite
    {
        return new InstalledSite(sites: ['second']);
    }

    public function testAFlushIsOfOneSiteUnlessAllAreMeant(): void
    {
        $second = '--url=' . $this->site->site->url() . '/second/';
        $set = 'return wp_cache_set("a", get_current_blog_id(), "larder_shop");';
        $get = fn(): array => [
            $this->site->web('return wp_cache_get("a", "larder_shop");'),
            $this->site->web('return wp_cache_get("a", "larder_shop");', '/second/'),
        ];
        $fill = fn(): array => [$this->site->web($set), $this->site->web($set, '/second/')];
        $fill();
        self::assertSame([1, 2], $get());

        self::assertSame('Success: Emptied the cache of ' . $this->site->site->url() . '/second.', $this->site->wp('larder', 'flush', $second)->printed());
        self::assertSame([1, false], $get());
        self::assertSame([0, 1], [$this->site->wp('larder', 'why', 'larder_shop', 'a')->status, $this->site->wp('larder', 'why', 'larder_shop', 'a', $second)->status]);

        $fill();
        $this->site->wp('larder', 'flush', '--group=larder_shop')->printed();
        self::assertSame([false, 2], $get());

        $fill();
        self::assertSame('Success: Emptied the cache of all sites of the network.', $this->site->wp('larder', 'flush', '--network')->printed());
        self::assertSame([false, false], $get());
    }

    public function testAnOptionOfOneSiteAndOneOfTheNetwork(): void
    {
        $second = '--url=' . $this->site->site->url() . '/second/';
        $get = fn(string $path): mixed => $this->site->web('return get_option("larder_one", "none");', $path);
        $get('/');
        $get('/second/');
        $this->site->wp('option', 'update', 'larder_one', 'of the second', $second)->printed();
        self::assertSame(['none', 'of the second'], [$get('/'), $get('/second/')]);

        $this->site->web('return get_site_option("larder_all");');
        $this->site->site->cli('update_site_option("larder_all", "new");', '/second/');
        self::assertSame('new', $this->site->web('return get_site_option("larder_all");'));
    }

    public function testANetworkWhoseCacheCannotBeOpenedGoesOn(): void
    {
        $this->site->site->define(['LARDER_DSN' => 'nowhere://']);
        self::assertFalse($this->site->web('return wp_using_ext_object_cache();', '/second/'));
        $status = $this->site->wp('larder', 'status');
        self::assertSame(1, $status->status);
        self::assertMatchesRegularExpression('~^problem\t.*nowhere~m', $status->output);
        self::$known = $this->site->site->errors();
        $this->site->site->define([]);
        self::assertTrue($this->site->web('return wp_using_ext_object_cache();', '/second/'));
    }
}
