<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** What the command line changes, the web's next request sees, and the other way round. */
#[Group('wordpress')]
final class CliCoherenceTest extends TestCase
{
    private static ?CliSite $site = null;

    public static function tearDownAfterClass(): void
    {
        self::$site?->site->stop();
        self::$site = null;
    }

    protected function setUp(): void
    {
        self::$site ??= new CliSite();
    }

    protected function tearDown(): void
    {
        self::assertSame('', self::$site?->site->errors());
    }

    #[TestWith(['wp'])]
    #[TestWith(['wpAsRoot'])]
    public function testAnOptionThatTheCommandLineChangesIsNewToTheNextPage(string $wp): void
    {
        $site = $this->site();
        $site->web('return update_option("larder_one", "first") && update_option("larder_two", "first", false);');
        foreach (['second', 'third'] as $value) {
            // It is in every tier that a request can find it in.
            $site->web('return get_option("larder_one") . get_option("larder_two");');
            $site->web('return get_option("larder_one") . get_option("larder_two");');

            $site->{$wp}('option', 'update', 'larder_one', $value)->printed();
            $site->{$wp}('option', 'update', 'larder_two', $value)->printed();

            self::assertSame([$value, $value], $site->web('return [get_option("larder_one"), get_option("larder_two")];'));
        }
        $site->{$wp}('option', 'delete', 'larder_one')->printed();
        self::assertSame('none', $site->web('return get_option("larder_one", "none");'));
        $site->{$wp}('option', 'add', 'larder_one', 'again')->printed();
        self::assertSame('again', $site->web('return get_option("larder_one", "none");'), 'That it was not there is not remembered.');
    }

    public function testAnOptionThatAPageChangesIsNewToTheCommandLine(): void
    {
        $site = $this->site();
        $site->web('return update_option("larder_three", "first") && update_option("larder_four", "first", false);');
        $site->wp('option', 'get', 'larder_three')->printed();
        $site->wp('option', 'get', 'larder_four')->printed();

        $site->web('return update_option("larder_three", "second") && update_option("larder_four", "second", false);');

        self::assertSame('second', $site->wp('option', 'get', 'larder_three')->printed());
        self::assertSame('second', $site->wp('option', 'get', 'larder_four')->printed());
    }

    public function testTransientsAreOnesOfBothSides(): void
    {
        $site = $this->site();
        $web = static fn(): mixed => $site->web('return get_transient("larder_note");');
        $line = static fn(): mixed => \json_decode($site->site->cli('echo json_encode(get_transient("larder_note"));'));
        self::assertTrue($site->web('return set_transient("larder_note", ["of" => "the web"], 300);'));
        self::assertSame(['of' => 'the web'], (array) $line());
        $site->site->cli('set_transient("larder_note", "of the command line", 300);');
        self::assertSame('of the command line', $web());
        $site->site->cli('delete_transient("larder_note");');
        self::assertFalse($web());
        $site->web('return set_transient("larder_note", 2);');
        $line();
        $site->web('return delete_transient("larder_note");');
        self::assertFalse($line());
        self::assertSame([], $site->site->sql("SELECT option_name FROM wp_options WHERE option_name LIKE '%larder_note%'"), 'They are in the cache alone.');
    }

    public function testAFlushOnTheCommandLineEmptiesTheWebs(): void
    {
        $site = $this->site();
        $set = 'return wp_cache_set("a", 1, "larder_shop") && wp_cache_set("a", 1, "larder_other");';
        $get = 'return [wp_cache_get("a", "larder_shop"), wp_cache_get("a", "larder_other")];';
        $site->web($set);
        self::assertSame([1, 1], $site->web($get));

        self::assertSame('Success: Emptied the group "larder_shop" of ' . $site->site->url() . '.', $site->wp('larder', 'flush', '--group=larder_shop')->printed());
        self::assertSame([false, 1], $site->web($get));

        $site->web($set);
        self::assertSame('Success: Emptied the cache of ' . $site->site->url() . '.', $site->wp('larder', 'flush')->printed());
        self::assertSame([false, false], $site->web($get));
    }

    public function testAFlushOfTheWebEmptiesTheCommandLines(): void
    {
        $site = $this->site();
        $site->site->cli('wp_cache_set("a", 1, "larder_shop"); wp_cache_set("a", 1, "larder_other");');
        $found = static fn(string $group): int => $site->wp('larder', 'why', $group, 'a')->status;
        self::assertSame([0, 0], [$found('larder_shop'), $found('larder_other')]);

        $site->web('return wp_cache_flush_group("larder_shop");');
        self::assertSame([1, 0], [$found('larder_shop'), $found('larder_other')]);
        $site->web('return wp_cache_flush();');
        self::assertSame([1, 1], [$found('larder_shop'), $found('larder_other')]);
    }

    public function testAPluginThatOneSideActivatesWorksForTheOther(): void
    {
        $site = $this->site();
        $file = $site->site->content('plugins/larder-sign.php');
        \file_put_contents($file, '<?php /* Plugin Name: Sign */ define("LARDER_SIGN", true);');
        $web = static fn(): mixed => $site->web('return defined("LARDER_SIGN");');
        $active = static fn(): bool => \in_array('larder-sign.php', (array) $site->wp('option', 'get', 'active_plugins', '--format=json')->json(), true);
        $load = 'require_once ABSPATH . "wp-admin/includes/plugin.php";';

        self::assertFalse($web());
        $site->site->cli($load . 'activate_plugin("larder-sign.php");');
        self::assertTrue($web());
        $site->web($load . 'return deactivate_plugins("larder-sign.php");');
        self::assertFalse($active());
        $site->web($load . 'return activate_plugin("larder-sign.php");');
        self::assertTrue($active());
        $site->site->cli($load . 'deactivate_plugins("larder-sign.php");');
        self::assertFalse($web());
    }

    private function site(): CliSite
    {
        return self::$site ?? throw new \LogicException('There is no site.');
    }
}
