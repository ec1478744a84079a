<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;

/** What the command line changes, the web's next request sees, and the other way round. */
#[Group('wordpress')]
final class CliCoherenceTest extends SharedSiteTestCase
{
    #[TestWith(['wp'])]
    #[TestWith(['wpAsRoot'])]
    public function testAnOptionThatTheCommandLineChangesIsNewToTheNextPage(string $wp): void
    {
        $this->site->web('return update_option("larder_one", "first") && update_option("larder_two", "first", false);');
        foreach (['second', 'third'] as $value) {
            // It is in every tier that a request can find it in.
            $this->site->web('return get_option("larder_one") . get_option("larder_two");');
            $this->site->web('return get_option("larder_one") . get_option("larder_two");');

            $this->site->{$wp}('option', 'update', 'larder_one', $value)->printed();
            $this->site->{$wp}('option', 'update', 'larder_two', $value)->printed();

            self::assertSame([$value, $value], $this->site->web('return [get_option("larder_one"), get_option("larder_two")];'));
        }
        $this->site->{$wp}('option', 'delete', 'larder_one')->printed();
        self::assertSame('none', $this->site->web('return get_option("larder_one", "none");'));
        $this->site->{$wp}('option', 'add', 'larder_one', 'again')->printed();
        self::assertSame('again', $this->site->web('return get_option("larder_one", "none");'), 'That it was not there is not remembered.');
    }

    public function testAnOptionThatAPageChangesIsNewToTheCommandLine(): void
    {
        $this->site->web('return update_option("larder_three", "first") && update_option("larder_four", "first", false);');
        $this->site->wp('option', 'get', 'larder_three')->printed();
        $this->site->wp('option', 'get', 'larder_four')->printed();

        $this->site->web('return update_option("larder_three", "second") && update_option("larder_four", "second", false);');

        self::assertSame('second', $this->site->wp('option', 'get', 'larder_three')->printed());
        self::assertSame('second', $this->site->wp('option', 'get', 'larder_four')->printed());
    }

    public function testTransientsAreOnesOfBothSides(): void
    {
        $web = fn(): mixed => $this->site->web('return get_transient("larder_note");');
        $line = fn(): mixed => \json_decode($this->site->site->cli('echo json_encode(get_transient("larder_note"));'));
        self::assertTrue($this->site->web('return set_transient("larder_note", ["of" => "the web"], 300);'));
        self::assertSame(['of' => 'the web'], (array) $line());
        $this->site->site->cli('set_transient("larder_note", "of the command line", 300);');
        self::assertSame('of the command line', $web());
        $this->site->site->cli('delete_transient("larder_note");');
        self::assertFalse($web());
        $this->site->web('return set_transient("larder_note", 2);');
        $line();
        $this->site->web('return delete_transient("larder_note");');
        self::assertFalse($line());
        self::assertSame([], $this->site->site->sql("SELECT option_name FROM wp_options WHERE option_name LIKE '%larder_note%'"), 'They are in the cache alone.');
    }

    public function testAFlushOnTheCommandLineEmptiesTheWebs(): void
    {
        $set = 'return wp_cache_set("a", 1, "larder_shop") && wp_cache_set("a", 1, "larder_other");';
        $get = 'return [wp_cache_get("a", "larder_shop"), wp_cache_get("a", "larder_other")];';
        $this->site->web($set);
        self::assertSame([1, 1], $this->site->web($get));

        self::assertSame('Success: Emptied the group "larder_shop" of ' . $this->site->site->url() . '.', $this->site->wp('larder', 'flush', '--group=larder_shop')->printed());
        self::assertSame([false, 1], $this->site->web($get));

        $this->site->web($set);
        self::assertSame('Success: Emptied the cache of ' . $this->site->site->url() . '.', $this->site->wp('larder', 'flush')->printed());
        self::assertSame([false, false], $this->site->web($get));
    }

    public function testAFlushOfTheWebEmptiesTheCommandLines(): void
    {
        $this->site->site->cli('wp_cache_set("a", 1, "larder_shop"); wp_cache_set("a", 1, "larder_other");');
        $found = fn(string $group): int => $this->site->wp('larder', 'why', $group, 'a')->status;
        self::assertSame([0, 0], [$found('larder_shop'), $found('larder_other')]);

        $this->site->web('return wp_cache_flush_group("larder_shop");');
        self::assertSame([1, 0], [$found('larder_shop'), $found('larder_other')]);
        $this->site->web('return wp_cache_flush();');
        self::assertSame([1, 1], [$found('larder_shop'), $found('larder_other')]);
    }

    public function testAPluginThatOneSideActivatesWorksForTheOther(): void
    {
        $file = $this->site->site->content('plugins/larder-sign.php');
        \file_put_contents($file, '<?php /* Plugin Name: Sign */ define("LARDER_SIGN", true);');
        $web = fn(): mixed => $this->site->web('return defined("LARDER_SIGN");');
        $active = fn(): bool => \in_array('larder-sign.php', (array) $this->site->wp('option', 'get', 'active_plugins', '--format=json')->json(), true);
        $load = 'require_once ABSPATH . "wp-admin/includes/plugin.php";';

        self::assertFalse($web());
        $this->site->site->cli($load . 'activate_plugin("larder-sign.php");');
        self::assertTrue($web());
        $this->site->web($load . 'return deactivate_plugins("larder-sign.php");');
        self::assertFalse($active());
        $this->site->web($load . 'return activate_plugin("larder-sign.php");');
        self::assertTrue($active());
        $this->site->site->cli($load . 'deactivate_plugins("larder-sign.php");');
        self::assertFalse($web());
    }
}
