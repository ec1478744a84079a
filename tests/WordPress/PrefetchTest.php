<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\Group;

/**
 * What a page asked for last time comes in one read, which is also how its view of the cache begins.
 *
 * @extends OwnSiteTestCase<PluginSite>
 */
#[Group('wordpress')]
final class PrefetchTest extends OwnSiteTestCase
{
    private const TRIPS = 'return $GLOBALS["wp_object_cache"]->report()["round_trips"];';

    public function testAPageIsOneRoundTrip(): void
    {
        RedisServer::demand();
        $redis = new RedisServer();
        $this->site = PluginSite::active(['LARDER_DSN' => "redis://127.0.0.1:$redis->port", 'LARDER_NEAR' => 'none']);
        self::assertGreaterThan(5, $this->site->web(self::TRIPS), 'nobody knew what it would ask for');
        // A few keys more are noted at one page in eight only.
        for ($pages = 0; $pages < 100 && $this->site->web(self::TRIPS) !== 1; $pages++);
        self::assertSame([1, 1], [$this->site->web(self::TRIPS), $this->site->web(self::TRIPS)], "after $pages pages");
        // As the server counts them; the end of the connection is one. Now and then a page also notes statistics.
        $reads = static fn(): int => \preg_match('/total_reads_processed:(\d+)/', (string) $redis->command('INFO', 'stats'), $found) === 1 ? (int) $found[1] : 0;
        $question = -$reads() + $reads();
        self::assertSame(2, \min(\array_map(function (int $i) use ($reads, $question): int {
            $before = $reads();
            $this->site->web(self::TRIPS);

            return $reads() - $before - $question;
        }, \range(1, 5))));
        self::assertGreaterThan(1, $this->site->web('update_option("blogname", "Other"); ' . self::TRIPS), 'a change is a trip of its own');
        self::assertSame('Other', $this->site->web('return get_option("blogname");'));

        $directory = $this->site->web('return $GLOBALS["wp_object_cache"]->larder()->internals()->local() . "-routes";');
        self::assertIsString($directory);
        self::assertSame('700', \decoct((int) \fileperms($directory) & 0o777));
        $lists = \array_diff(\scandir($directory) ?: [], ['.', '..']);
        self::assertNotSame([], $lists);
        foreach ($lists as $list) {
            self::assertMatchesRegularExpression('/^[0-9a-f]{32}$/', $list);
            self::assertSame('600', \decoct((int) \fileperms("$directory/$list") & 0o777));
        }
        // What somebody else may have put there is not read.
        for ($pages = 0; $pages < 100 && $this->site->web(self::TRIPS) !== 1; $pages++);
        foreach ($lists as $list) {
            \rename("$directory/$list", $this->site->site->content("list-$list"));
            \symlink($this->site->site->content("list-$list"), "$directory/$list");
        }
        self::assertGreaterThan(1, $this->site->web(self::TRIPS));
        $lists = \array_diff(\scandir($directory) ?: [], ['.', '..']);
        // Nothing depends on them.
        foreach (['', '{', '[1,{"options":7}]', '{"":{"options":["alloptions",{"a":1},"",7.5,null]},"x":3}', \str_repeat('["', 90_000)] as $broken) {
            foreach ($lists as $list) {
                \file_put_contents("$directory/$list", $broken);
            }
            self::assertSame('Other', $this->site->web('return get_option("blogname");'), $broken);
        }
        $this->site->deactivate();
        $this->site->delete();
        self::assertDirectoryDoesNotExist($directory);
    }
}
