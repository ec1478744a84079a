<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** `wp larder` on a network: --url says which site. */
#[Group('wordpress')]
final class CliNetworkTest extends TestCase
{
    private static ?CliSite $site = null;

    private string $errors = '';

    public static function tearDownAfterClass(): void
    {
        self::$site?->site->stop();
        self::$site = null;
    }

    protected function setUp(): void
    {
        self::$site ??= new CliSite(sites: ['second']);
        $this->errors = self::$site->site->errors();
    }

    public function testAFlushIsOfOneSiteUnlessAllAreMeant(): void
    {
        $site = $this->site();
        $second = '--url=' . $site->site->url() . '/second/';
        $set = 'return wp_cache_set("a", get_current_blog_id(), "larder_shop");';
        $get = static fn(): array => [
            $site->web('return wp_cache_get("a", "larder_shop");'),
            $site->web('return wp_cache_get("a", "larder_shop");', '/second/'),
        ];
        $fill = static fn(): array => [$site->web($set), $site->web($set, '/second/')];
        $fill();
        self::assertSame([1, 2], $get());

        self::assertSame('Success: Emptied the cache of ' . $site->site->url() . '/second.', $site->wp('larder', 'flush', $second)->printed());
        self::assertSame([1, false], $get());
        self::assertSame([0, 1], [$site->wp('larder', 'why', 'larder_shop', 'a')->status, $site->wp('larder', 'why', 'larder_shop', 'a', $second)->status]);

        $fill();
        $site->wp('larder', 'flush', '--group=larder_shop')->printed();
        self::assertSame([false, 2], $get());

        $fill();
        self::assertSame('Success: Emptied the cache of all sites of the network.', $site->wp('larder', 'flush', '--network')->printed());
        self::assertSame([false, false], $get());
        self::assertSame($this->errors, $site->site->errors());
    }

    public function testAnOptionOfOneSiteAndOneOfTheNetwork(): void
    {
        $site = $this->site();
        $second = '--url=' . $site->site->url() . '/second/';
        $get = static fn(string $path): mixed => $site->web('return get_option("larder_one", "none");', $path);
        $get('/');
        $get('/second/');
        $site->wp('option', 'update', 'larder_one', 'of the second', $second)->printed();
        self::assertSame(['none', 'of the second'], [$get('/'), $get('/second/')]);

        $site->web('return get_site_option("larder_all");');
        $site->site->cli('update_site_option("larder_all", "new");', '/second/');
        self::assertSame('new', $site->web('return get_site_option("larder_all");'));
        self::assertSame($this->errors, $site->site->errors());
    }

    public function testANetworkWhoseCacheCannotBeOpenedGoesOn(): void
    {
        $site = $this->site();
        $site->site->define(['LARDER_DSN' => 'nowhere://']);
        try {
            self::assertFalse($site->web('return wp_using_ext_object_cache();', '/second/'));
            $status = $site->wp('larder', 'status');
            self::assertSame(1, $status->status);
            self::assertMatchesRegularExpression('~^problem\t.*nowhere~m', $status->output);
        } finally {
            $site->site->define([]);
        }
        self::assertTrue($site->web('return wp_using_ext_object_cache();', '/second/'));
    }

    private function site(): CliSite
    {
        return self::$site ?? throw new \LogicException('There is no site.');
    }
}
