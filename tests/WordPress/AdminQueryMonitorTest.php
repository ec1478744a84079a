<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Attributes\Group;

/** The panel, in a stand-in for Query Monitor: wordpress/query-monitor.stub.php says what of it is there. */
#[Group('wordpress')]
final class AdminQueryMonitorTest extends SharedSiteTestCase
{
    public function testThePanelIsThereWhereQueryMonitorIs(): void
    {
        $site = $this->site->site;
        $cookies = $site->login();

        self::assertStringNotContainsString('qm-larder', $site->get('/', $cookies)->body);

        $this->site->write('mu-plugins/query-monitor.php', (string) \file_get_contents(__DIR__ . '/../../wordpress/query-monitor.stub.php'));
        $this->site->web('return wp_cache_set("a", 1, "<b>hostile</b>");');
        $page = $site->get('/', $cookies)->body;

        self::assertStringContainsString('<nav>{&quot;qm-larder&quot;:{&quot;title&quot;:&quot;Larder&quot;,&quot;href&quot;:&quot;#qm-larder&quot;}}</nav>', $page);
        $panel = \explode('<div class="qm qm-non-tabular" id="qm-larder">', $page)[1] ?? '';
        self::assertMatchesRegularExpression('~<th scope="row">Hits</th><td>[1-9][\d,]*</td>~', $panel);
        self::assertMatchesRegularExpression('~<th scope="row">Disk</th>(<td>[^<]*</td>){5}</tr>~', $panel);
        self::assertMatchesRegularExpression('~<th scope="row">options</th><td>–</td><td>[1-9]\d*</td>~', $panel);
        self::assertStringNotContainsString('qm-larder', $site->get('/')->body);
    }
}
