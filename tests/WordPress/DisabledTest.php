<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\WordPress\Activation;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** A site that goes without the cache for a while, by LARDER_DISABLED, finds nothing old in it afterwards. */
#[CoversClass(Activation::class)]
#[Group('wordpress')]
final class DisabledTest extends TestCase
{
    public function testWhatChangedMeanwhileIsSeen(): void
    {
        $site = new PluginSite();
        $site->activate();
        $get = 'return [(bool) wp_using_ext_object_cache(), get_option("larder_test_a", "none"), get_option("larder_test_b", "none")];';
        $site->web('update_option("larder_test_a", "old", true); update_option("larder_test_b", "old", false);');
        self::assertSame([true, 'old', 'old'], $site->web($get));

        $site->site->define(['LARDER_DISABLED' => true]);
        self::assertSame([false, 'old', 'old'], $site->web($get));
        $site->web('update_option("larder_test_a", "new", true); update_option("larder_test_b", "new", false);');
        $site->site->define([]);
        self::assertSame([true, 'new', 'new'], $site->web($get));

        // By a command alone, while the web goes on with it.
        $site->site->cli('update_option("larder_test_a", "newer", true); update_option("larder_test_b", "newer", false);', before: 'putenv("LARDER_DISABLED=1");');
        self::assertSame([true, 'newer', 'newer'], $site->web($get));
        self::assertSame('', $site->site->errors());
    }
}
