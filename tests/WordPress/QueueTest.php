<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Tests\Config\Child;
use Larder\Tests\Support\Process;
use Larder\WordPress\Background;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** Larder's background jobs in WordPress, and `wp larder queue`. */
#[CoversClass(Background::class)]
#[Group('wordpress')]
final class QueueTest extends TestCase
{
    private PageSite $site;

    protected function setUp(): void
    {
        $this->site = new PageSite();
        $config = $this->site->site->root . '/wp-config.php';
        \file_put_contents($config, \str_replace("<?php\n", "<?php\ndefine('LARDER_PAGES', ['ttl' => 1, 'stale' => 3600]);\n", (string) \file_get_contents($config)));
        $this->site->plugin('add_action("wp_footer", static function (): void { echo "made ", uniqid(), "."; });'
            . 'add_action("larder_message", static function ($body, $name): void { if ($body === "bad") { throw new LogicException("wrong"); } file_put_contents(WP_CONTENT_DIR . "/handled", "$name: $body"); }, 10, 2);');
        $this->site->get('/');
        $this->site->warm(['/']);
    }

    protected function tearDown(): void
    {
        $errors = $this->site->site->errors();
        unset($this->site);
        self::assertSame('', $errors);
    }

    public function testAStalePageIsRenewedByAWorkerOrAtTheRequestsEnd(): void
    {
        $this->renewed();
        self::assertSame(['queue' => 'larder', 'ready' => 0, 'delayed' => 0, 'claimed' => 0, 'dead' => 0], \array_slice($this->figures(), 0, 5));

        $work = new Process($this->command('queue', 'work'));
        $is = 'return \Larder\WordPress\ObjectCache::records(\Larder\Cache::open(\Larder\WordPress\Site::current()->source()))->get("worker");';
        for ($end = \hrtime(true) + 30_000_000_000; $this->site->web($is) !== true && \hrtime(true) < $end;) {
            \usleep(100_000);
        }
        $this->renewed();
        $job = \json_decode((string) $work->line(30.0), true);
        self::assertIsArray($job, $work->errors());
        self::assertSame(['done', 1], [$job['outcome'], $job['attempts']]);

        $work->signal(\SIGTERM);
        self::assertSame(0, $work->wait(), $work->errors());
        self::assertNull($this->site->web($is));
        $this->renewed();
        self::assertSame(0, $this->figures()['ready']);
    }

    public function testAPluginsQueue(): void
    {
        $this->site->web('$q = \Larder\WordPress\Background::queue("mail"); $q->push("good"); $q->push("bad"); return 1;');
        self::assertSame(2, $this->figures('mail')['ready']);
        $work = $this->wp('queue', 'work', '--name=mail', '--stop-when-empty');
        self::assertSame(0, $work->status, $work->errors);
        self::assertSame('mail: good', \file_get_contents($this->site->site->content('handled')));
        self::assertStringContainsString('"outcome":"released"', $work->output);
        self::assertStringContainsString('LogicException: wrong', $work->output);

        self::assertSame(1, $this->site->web('$q = \Larder\WordPress\Background::queue("mail"); $q->push("worse", priority: 9); $q->pop()->bury("why"); return $q->stats()["dead"];'));
        $dead = \json_decode($this->wp('queue', 'dead', '--name=mail', '--format=json')->output, true);
        self::assertIsArray($dead);
        self::assertSame([['why', 'worse']], \array_map(static fn(mixed $row): array => \is_array($row) ? [$row['error'], $row['body']] : [], $dead));
        self::assertSame("Success: 1 wait again.\n", $this->wp('queue', 'retry', '--name=mail')->output);
        self::assertSame("Success: 2 removed.\n", $this->wp('queue', 'purge', '--name=mail')->output);
    }

    /** The page grows stale, a visitor gets it so, and the next ones a new one. */
    private function renewed(): void
    {
        \usleep(2_100_000);
        $made = static fn(string $body): string => \preg_match('/made (\w+)\./', $body, $match) === 1 ? $match[1] : '';
        $stale = $made($this->site->get('/')->body);
        self::assertNotSame('', $stale);
        for ($end = \hrtime(true) + 20_000_000_000; $made($this->site->get('/')->body) === $stale;) {
            self::assertLessThan($end, \hrtime(true), 'It was not renewed.');
            \usleep(50_000);
        }
    }

    /** @return array<array-key, mixed> */
    private function figures(string $name = 'larder'): array
    {
        $child = $this->wp('queue', 'status', "--name=$name", '--format=json');
        $rows = \json_decode($child->output, true);

        return \is_array($rows) && \is_array($rows[0]) ? $rows[0] : throw new \RuntimeException($child->output . $child->errors);
    }

    private function wp(string ...$words): Child
    {
        return Child::run($this->command(...$words), ['HOME' => '/nonexistent', 'WP_CLI_PHP' => \PHP_BINARY]);
    }

    /** @return non-empty-list<string> */
    private function command(string ...$words): array
    {
        return [...$this->site->site->account->words(), \dirname(__DIR__, 2) . '/bin/wp', '--path=' . $this->site->site->root, '--url=' . $this->site->site->url(), '--no-color', 'larder', ...\array_values($words)];
    }
}
