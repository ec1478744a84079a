<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\Group;

/**
 * The lines that docs/choose.md has for WordPress, one after the other. How the zip is uploaded: NewUserTest.
 *
 * @extends OwnSiteTestCase<InstalledSite>
 */
#[Group('wordpress')]
final class ChooseTest extends OwnSiteTestCase
{
    public function testTheLinesWork(): void
    {
        RedisServer::demand();
        $redis = new RedisServer();
        self::assertSame(1, \preg_match("/^## WordPress\n\n```\nmake plugin\n(.*?)^```$.*?`define\\('(LARDER_DSN)', '(redis:.*?)'\\);`/ms", (string) \file_get_contents(__DIR__ . '/../../docs/choose.md'), $page));
        [, $lines, $name, $dsn] = $page;
        $this->site = new InstalledSite([$name => \str_replace('10.0.0.5:6379', "127.0.0.1:$redis->port", $dsn)]);
        $lines = \explode("\n", \trim($lines));
        self::assertCount(4, $lines);
        $said = [];
        foreach ($lines as $line) {
            $words = \explode(' ', $line);
            self::assertSame('wp', \array_shift($words));
            $said[] = $this->site->wp(...$words)->printed();
        }
        self::assertMatchesRegularExpression('/^works\tyes$/m', $said[0]);
        self::assertStringContainsString((string) $redis->port, $said[1]);
        self::assertTrue($this->site->web('return wp_cache_set("k", "v", "choose");'));
        self::assertSame('v', $this->site->web('return wp_cache_get("k", "choose");'));
        self::assertGreaterThan(0, $redis->command('DBSIZE'));
    }
}
