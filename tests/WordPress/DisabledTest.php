<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Attributes\Group;

/**
 * A site that goes without the cache for a while, by LARDER_DISABLED, finds nothing old in it afterwards.
 *
 * @extends OwnSiteTestCase<PluginSite>
 */
#[Group('wordpress')]
final class DisabledTest extends OwnSiteTestCase
{
    public function testWhatChangedMeanwhileIsSeen(): void
    {
        $this->site = PluginSite::active();
        $get = 'return [(bool) wp_using_ext_object_cache(), get_option("larder_test_a", "none"), get_option("larder_test_b", "none")];';
        $this->site->web('update_option("larder_test_a", "old", true); update_option("larder_test_b", "old", false);');
        self::assertSame([true, 'old', 'old'], $this->site->web($get));

        $this->site->site->define(['LARDER_DISABLED' => true]);
        self::assertSame([false, 'old', 'old'], $this->site->web($get));
        $this->site->web('update_option("larder_test_a", "new", true); update_option("larder_test_b", "new", false);');
        $this->site->site->define([]);
        self::assertSame([true, 'new', 'new'], $this->site->web($get));

        // By a command alone, while the web goes on with it.
        $this->site->site->cli('update_option("larder_test_a", "newer", true); update_option("larder_test_b", "newer", false);', before: 'putenv("LARDER_DISABLED=1");');
        self::assertSame([true, 'newer', 'newer'], $this->site->web($get));
    }
}
