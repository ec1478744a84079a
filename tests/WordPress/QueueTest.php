<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Response;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\Wait;
use Larder\WordPress\Background;
use PHPUnit\Framework\Attributes\Group;

/**
 * Larder's background jobs in WordPress, and `wp larder queue`.
 *
 * @extends OwnSiteTestCase<PageSite>
 */
#[Group('wordpress')]
final class QueueTest extends OwnSiteTestCase
{
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

    public function testAStalePageIsRenewedByAWorkerOrAtTheRequestsEnd(): void
    {
        $this->renewed();
        self::assertSame(['queue' => 'larder', 'ready' => 0, 'delayed' => 0, 'claimed' => 0, 'dead' => 0], \array_slice($this->figures(), 0, 5));

        $work = new Process([...$this->site->site->account->words(), ...$this->site->command('larder', 'queue', 'work')]);
        $is = 'return \Larder\WordPress\ObjectCache::records(\Larder\Cache::open(\Larder\WordPress\Site::current()->source()))->get("worker");';
        Wait::until(fn(): bool => $this->site->web($is) === true, 'the worker');
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
        $work = $this->site->wp('larder', 'queue', 'work', '--name=mail', '--stop-when-empty');
        self::assertSame(0, $work->status, $work->errors);
        self::assertSame('mail: good', \file_get_contents($this->site->site->content('handled')));
        self::assertStringContainsString('"outcome":"released"', $work->output);
        self::assertStringContainsString('LogicException: wrong', $work->output);

        self::assertSame(1, $this->site->web('$q = \Larder\WordPress\Background::queue("mail"); $q->push("worse", priority: 9); $q->pop()->bury("why"); return $q->stats()["dead"];'));
        $dead = $this->site->wp('larder', 'queue', 'dead', '--name=mail', '--format=json')->json();
        self::assertSame([['why', 'worse']], \array_map(static fn(array $row): array => [$row['error'], $row['body']], $dead));
        self::assertSame("Success: 1 wait again.", $this->site->wp('larder', 'queue', 'retry', '--name=mail')->printed());
        self::assertSame("Success: 2 removed.", $this->site->wp('larder', 'queue', 'purge', '--name=mail')->printed());
    }

    /** The page grows stale, a visitor gets it so, and the next ones a new one. */
    private function renewed(): void
    {
        $made = static fn(Response $page): string => \preg_match('/made (\w+)\./', $page->body, $match) === 1 ? $match[1] : '';
        $stale = '';
        Wait::until(function () use (&$stale, $made): bool {
            $page = $this->site->get('/');
            $stale = $made($page);

            return \preg_match('/hit; ttl=(0|-)/', $page->header('cache-status')) === 1;
        }, 'a stale page');
        self::assertNotSame('', $stale);
        Wait::until(fn(): bool => $made($this->site->get('/')) !== $stale, 'a new page');
    }

    /** @return array<array-key, mixed> */
    private function figures(string $name = 'larder'): array
    {
        return $this->site->wp('larder', 'queue', 'status', "--name=$name", '--format=json')->json()[0];
    }
}
