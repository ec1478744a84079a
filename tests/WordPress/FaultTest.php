<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\Service\Account;
use Larder\Lab\WordPress\Request;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;

/**
 * What breaks below a site, caused for real: every page is answered in full, none has a value older than the database,
 * and the log says so in few lines.
 */
#[Group('wordpress')]
final class FaultTest extends SharedSiteTestCase
{
    protected const QUIET = false;

    /** Seconds after which a part that failed is tried again, and a bit. */
    private const REST = 2.2;

    /** The site's own for temporary files: what it cannot note beside its cache it notes there, whatever TMPDIR is here. */
    private static ?TemporaryDirectory $temporary = null;

    /** @var list<string> */
    private array $said = [];
    private int $lines = 0;
    private int $number = 0;

    public static function tearDownAfterClass(): void
    {
        parent::tearDownAfterClass();
        self::$temporary = null;
    }

    protected static function make(): InstalledSite
    {
        self::$temporary = new TemporaryDirectory();
        Account::ofServers()->receive(self::$temporary->path);

        return new InstalledSite(ini: ['sys_temp_dir' => self::$temporary->path]);
    }

    protected function setUp(): void
    {
        parent::setUp();
        $this->site->site->restart();
        $this->fresh();
        $this->said = $this->log();
    }

    #[Group('long')]
    public function testManyKilledWorkers(): void
    {
        $this->testKilledWorkers(60);
    }

    #[TestWith(['fatal', 'nothing_of_that_name();'])]
    #[TestWith(['memory', 'ini_set("memory_limit", (string) (memory_get_usage(true) + 8_000_000)); str_repeat("x", 100_000_000);'])]
    #[TestWith(['time', 'set_time_limit(1); for ($i = 0; ; $i++);'])]
    #[TestWith(['exit', 'exit;'])]
    public function testARequestThatEndsInItsMiddle(string $how, string $end): void
    {
        foreach (['pre_update_option_larder_o1' => 'before', 'update_option_larder_o1' => 'between', 'updated_option' => 'after'] as $hook => $when) {
            $value = "$how $when";
            $this->site->site->post('/', ['larder_test' => "add_filter('$hook', static function () { $end }); update_option('larder_o1', '$value'); update_option('larder_o2', '$value', false);"]);
            self::assertSame([], $this->site->web(PromiseTest::STALE . 'return $names;'), "$how, $when");
        }
        $this->fresh();
        self::assertSame([], \preg_grep('/[Ll]arder: /', $this->news()));
    }

    public function testReloadUnderLoad(): void
    {
        $this->underLoad($this->site->site->reload(...));
        $this->fresh();
        $this->assertQuiet(0);
    }

    #[Group('long')]
    #[TestWith(['emptied'])]
    #[TestWith(['deleted'])]
    #[TestWith(['header'])]
    public function testADatabaseOfTheCacheThatIsDamagedInOtherWays(string $how): void
    {
        $this->testADatabaseOfTheCacheThatIsOverwritten($how);
    }

    /** As a cleaner that its owner runs does: all files of the database at once, also what SQLite has mapped. */
    #[TestWith([': >'])]
    #[TestWith(['head -c 100000 /dev/urandom >'])]
    public function testADatabaseOfTheCacheThatItsOwnUserEmptiesOrGarbles(string $command): void
    {
        $site = $this->site->site;
        $clean = \implode(' ', $site->account->words()) . ' sh -c ' . \escapeshellarg("for file in {$this->directory()}/*/larder.db*; do $command \"\$file\"; done") . ' 2>&1';
        foreach ([1, 2] as $again) {
            // Whoever reads in that very moment from what SQLite has mapped is killed (docs/operator.md).
            $this->underLoad(static fn() => \exec($clean), false);
            $this->fresh();
        }
        self::rest();
        $this->fresh();
        $this->assertQuiet();
    }

    public function testADatabaseOfTheCacheThatIsOverwritten(string $how = 'garbage'): void
    {
        $file = (\glob($this->directory() . '/*/larder.db') ?: [])[0] ?? self::fail('There is no database.');
        $this->underLoad(function () use ($file, $how): void {
            match ($how) {
                'garbage' => \file_put_contents($file, \random_bytes(100_000)),
                'emptied' => \file_put_contents($file, ''),
                'deleted' => \array_map(\unlink(...), \glob("$file*") ?: []),
                'header' => \file_put_contents($file, \random_bytes(100) . \substr((string) \file_get_contents($file), 100)),
            };
        });
        $this->fresh();
        self::rest();
        $this->fresh();
        $this->assertQuiet();
    }

    #[Group('long')]
    public function testADirectoryThatCannotBeWritten(): void
    {
        $directory = $this->directory();
        try {
            $this->underLoad(static fn() => \chmod($directory, 0o500));
            $this->fresh();
            self::rest();
            $this->fresh();
        } finally {
            \chmod($directory, 0o700);
        }
        self::rest();
        $this->fresh();
        $this->assertQuiet();
    }

    public function testADirectoryAndFilesThatCannotBeWritten(): void
    {
        $directory = \escapeshellarg($this->directory());
        try {
            $this->underLoad(static fn() => \exec("chmod -R a-w $directory"));
            $this->fresh();
            self::rest();
            $this->fresh();
        } finally {
            \exec("chmod -R u+w $directory");
        }
        // Nothing could be kept there of what was changed meanwhile; that something was, elsewhere.
        self::rest();
        $this->fresh();
    }

    #[Group('long')]
    public function testADirectoryThatIsGone(): void
    {
        $directory = $this->directory();
        $this->underLoad(static fn() => \exec('rm -rf ' . \escapeshellarg($directory) . ' 2>&1'));
        $this->fresh();
        $this->assertQuiet();
    }

    #[Group('long')]
    public function testAFullDisk(): void
    {
        \posix_geteuid() === 0 || self::markTestSkipped('Only root can mount.');
        $place = new TemporaryDirectory();
        \chmod($place->path, 0o711);
        $disk = $place->file('disk');
        \mkdir($disk);
        $user = $this->site->site->account->user;
        \exec('mount -t tmpfs -o size=3m,mode=0700,uid=' . $user . ' larder ' . \escapeshellarg($disk), result_code: $code);
        self::assertSame(0, $code);
        try {
            $this->site->site->define(['LARDER_DIRECTORY' => "$disk/cache"]);
            $this->fresh();
            self::assertNotSame([], \glob("$disk/cache/*/larder.db"));
            $this->underLoad(static fn() => \exec('dd if=/dev/zero of=' . \escapeshellarg("$disk/ballast") . ' bs=4k 2>/dev/null'));
            $this->fresh();
            $this->site->web('for ($i = 0; $i < 50; $i++) { wp_cache_set("large$i", str_repeat("large ", 20_000), "plugin"); wp_cache_delete("k$i", "posts"); } return 1;');
            $this->fresh();
            self::rest();
            $this->fresh();
            \unlink("$disk/ballast");
            self::rest();
            $this->fresh();
            $this->assertQuiet();
        } finally {
            $this->back();
            \exec('umount -l ' . \escapeshellarg($disk));
        }
    }

    public function testAPluginThatIsGone(): void
    {
        $plugin = $this->site->site->content('plugins/larder');
        $away = $this->site->site->content('plugin-away');
        $this->underLoad(static fn() => \rename($plugin, $away), false);
        try {
            // Its option says that it is active; what WordPress says of that is in wp-admin alone.
            // Who was at work may have missed a class.
            $this->said = $this->log();
            self::assertSame('WP_Object_Cache', $this->site->web('return get_class($GLOBALS["wp_object_cache"]);'));
            self::assertFalse((bool) $this->site->web('return wp_using_ext_object_cache();'));
            $this->fresh();
        } finally {
            \rename($away, $plugin);
        }
        self::assertSame('Larder\WordPress\ObjectCache', $this->site->web('return get_class($GLOBALS["wp_object_cache"]);'));
        self::assertSame([], $this->site->web(PromiseTest::STALE . 'return $names;'), 'What was changed without it.');
        $this->fresh();
        // Requests that began without it are over; one was killed with its mark, perhaps.
        \array_map(\unlink(...), \glob($this->site->site->content('.larder-away*')) ?: []);
        $this->site->site->forget();
        $this->site->web('return wp_cache_set("k", 1, "plugin");');
        self::assertSame(1, $this->site->web('return wp_cache_get("k", "plugin");'));
        $this->assertQuiet(0);
    }

    #[Group('long')]
    public function testAPluginThatFlushesAtEveryRequest(): void
    {
        $file = $this->site->site->content('mu-plugins/flusher.php');
        \file_put_contents($file, '<?php add_action("init", static fn() => wp_cache_flush());');
        try {
            // A minute that begins amid them counts anew.
            Wait::until(static fn(): bool => (int) \date('s') <= 45, 'the next minute');
            for ($i = 0; $i < 20; $i++) {
                self::assertSame(200, $this->site->site->get('/')->status);
            }
            self::assertSame([], \preg_grep('~mu-plugins/flusher.php has flushed~', $this->news(), \PREG_GREP_INVERT));
            self::assertCount(1, $this->news());
            $this->site->web('wp_cache_set("k", 1, "posts"); wp_cache_set("k", 1, "plugin"); return 1;');
            self::assertSame([false, false], $this->site->web('return [wp_cache_get("k", "posts"), wp_cache_get("k", "plugin")];'));
            $this->fresh();
        } finally {
            \unlink($file);
        }
        self::assertSame(['mu-plugins/flusher.php'], $this->site->web('return array_keys((new Larder\WordPress\Flushes($GLOBALS["wp_object_cache"]->larder()->group("~larder", true)))->offenders());'));
    }

    public function testASegmentThatIsGone(): void
    {
        $segments = \array_filter(\glob('/dev/shm/larder*/*') ?: [], fn(string $file): bool => \fileowner($file) === $this->site->site->account->user
            && \str_starts_with($file, \dirname(\str_replace('%u', (string) $this->site->site->account->user, (string) \get_cfg_var('larder.segment')))));
        $segments !== [] || self::markTestSkipped('Without the extension there is none.');
        // A file that is cut short under a process that has it mapped is SIGBUS, which no library can help.
        foreach ([1, 2] as $again) {
            $this->underLoad(static fn() => \array_map(\unlink(...), \array_filter($segments, \is_file(...))));
            $this->fresh();
            $this->site->site->restart();
            $this->fresh();
        }
        $this->assertQuiet();
    }

    #[Group('long')]
    public function testRedisThatStopsAndComesBackWithItsData(): void
    {
        $this->testRedisThatStopsAndComesBackEmpty(true);
    }

    public function testRedisThatStopsAndComesBackEmpty(bool $keepsData = false): void
    {
        RedisServer::program() !== null || self::markTestSkipped('There is no Redis.');
        $redis = new RedisServer(save: $keepsData);
        try {
            $this->site->site->define(['LARDER_DSN' => "redis://127.0.0.1:$redis->port"]);
            $this->fresh();
            self::assertGreaterThan(10, $redis->command('DBSIZE'));
            $this->underLoad($redis->stop(...));
            $this->fresh();
            if (!$keepsData) {
                \array_map(\unlink(...), \glob("$redis->dir/dump.rdb") ?: []);
            }
            $this->underLoad($redis->start(...));
            self::rest();
            $this->fresh();
            // It answers nothing for a while, and has what it had then.
            $this->underLoad($redis->pause(...));
            $this->fresh();
            $redis->resume();
            $this->fresh();
            self::rest();
            $this->fresh();
            $this->assertQuiet();
        } finally {
            $this->back();
        }
    }

    public function testKilledWorkers(int $times = 4): void
    {
        $site = $this->site->site;
        $update = 'for ($i = 0; $i < 400; $i++) { update_option("larder_o" . $i %% 9, %s . $i, $i %% 2 === 0); wp_update_post(["ID" => 1, "post_title" => %1$s . $i]); update_post_meta(1, "larder_m", %1$s . $i); }';
        for ($i = 0; $i < $times; $i++) {
            $line = $site->start(\sprintf($update, "'line$i-'"));
            $ask = \curl_init($site->url() . '/');
            \curl_setopt_array($ask, [\CURLOPT_POSTFIELDS => ['larder_test' => \sprintf($update, "'web$i-'")], \CURLOPT_RETURNTRANSFER => true]);
            $many = \curl_multi_init();
            \curl_multi_add_handle($many, $ask);
            for ($end = \microtime(true) + \mt_rand(150, 700) / 1000; \microtime(true) < $end;) {
                \curl_multi_exec($many, $running);
                \curl_multi_select($many, 0.01);
            }
            $line->signal(\SIGKILL);
            $workers = $site->fpm->workers();
            foreach ($workers as $worker) {
                \posix_kill($worker, \SIGKILL);
            }
            $line->wait();
            \curl_multi_close($many);
            $site->fpm->awaitOthers($workers);
            $stale = PromiseTest::STALE . <<<'PHP'
                $row = $GLOBALS["wpdb"]->get_row("SELECT * FROM {$GLOBALS["wpdb"]->posts} WHERE ID = 1");
                get_post(1)->post_title === $row->post_title || $names[] = "post";
                $meta = $GLOBALS["wpdb"]->get_col("SELECT meta_value FROM {$GLOBALS["wpdb"]->postmeta} WHERE post_id = 1 AND meta_key = 'larder_m'");
                get_post_meta(1, "larder_m") === $meta || $names[] = "meta";
                PHP;
            self::assertSame([], $this->site->web($stale . 'return $names;'), "kill $i");
        }
        self::assertSame('[]', $site->cli($stale . 'echo json_encode($names);'));
        $this->fresh();
    }

    /** Pages are asked for, several at a time; in the midst of it something happens. */
    private function underLoad(\Closure $happens, bool $whole = true): void
    {
        $pages = [];
        foreach (['/', '/hello-world/', '/?p=1', '/sample-page/', '/feed/', '/?s=hello'] as $path) {
            $pages[] = new Request($path);
        }
        $parent = \getmypid();
        $child = \pcntl_fork();
        if ($child === 0) {
            // A child of its own does it while they are under way.
            \usleep(60_000);
            \posix_getppid() === $parent && $happens();
            \posix_kill((int) \getmypid(), \SIGKILL);
        }
        $times = 0;
        do {
            $over = \pcntl_waitpid($child, $status, \WNOHANG) !== 0;
            foreach ($this->site->site->browser()->together($pages) as $number => $response) {
                $path = $pages[$number]->path;
                if ($whole || $over) {
                    self::assertContains($response->status, [200, 301], "$path: $response->body");
                }
                if (($whole || $over) && $response->status === 200) {
                    self::assertMatchesRegularExpression('~</(html|rss)>\s*$~', $response->body, $path);
                    self::assertDoesNotMatchRegularExpression('~<b>(Warning|Notice|Deprecated|Fatal error)</b>|[Ll]arder: ~', $response->body, $path);
                }
            }
        } while (!$over || $times++ < 2);
    }

    /** What one side changes, the other sees, and what the cache has is what the database has. */
    private function fresh(): void
    {
        self::assertSame([], $this->site->web(PromiseTest::STALE . 'return $names;'), 'What was changed before.');
        $read = '[get_option("larder_o1"), get_option("larder_o2"), get_option("larder_o3")]';
        foreach (['web', 'line'] as $by) {
            $value = "$by " . ++$this->number;
            $update = "update_option('larder_o1', '$value'); update_option('larder_o2', '$value', false); delete_option('larder_o3'); get_option('larder_o3'); add_option('larder_o3', '$value');";
            $by === 'web' ? $this->site->web($update . 'return 1;') : $this->site->site->cli($update);
            $this->lines++;
            self::assertSame([$value, $value, $value], $this->site->web("return $read;"), "changed by $by, for the web");
            if ($by === 'web') {
                self::assertSame([$value, $value, $value], \json_decode($this->site->site->cli("echo json_encode($read);")), "changed by $by, for the command line");
            }
        }
        self::assertSame([], $this->site->web(PromiseTest::STALE . 'return $names;'));
    }

    /** To the cache that was left: what changed meanwhile it was not told, so whoever does that has to empty it. */
    private function back(): void
    {
        $this->site->site->define([]);
        $this->site->site->restart();
        $this->site->web('return $GLOBALS["wp_object_cache"]->flush_network();');
    }

    /** A clear line for each process and minute at most, and nothing else. */
    private function assertQuiet(?int $most = null): void
    {
        $news = $this->news();
        $most ??= 4 * 3 + $this->lines * 2;
        self::assertSame([], \preg_grep('/[Ll]arder: /', $news, \PREG_GREP_INVERT), 'Of nothing else is complained.');
        self::assertLessThanOrEqual($most, \count($news), \implode("\n", $news));
    }

    /** @return list<string> */
    private function news(): array
    {
        return \array_slice($this->log(), \count($this->said));
    }

    /** @return list<string> PHP's */
    private function log(): array
    {
        return \file(\dirname($this->site->site->root) . '/debug.log', \FILE_IGNORE_NEW_LINES) ?: [];
    }

    private function directory(): string
    {
        return (string) $this->site->web('return Larder\WordPress\Site::current()->directory();');
    }

    private static function rest(): void
    {
        \usleep((int) (self::REST * 1e6));
    }
}
