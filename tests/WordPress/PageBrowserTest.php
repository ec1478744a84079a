<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Site;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** Two people on one site in a real browser, each with a profile of his own: nobody sees what is another's, all see what is new. */
#[CoversNothing]
#[Group('wordpress')]
final class PageBrowserTest extends TestCase
{
    private const BROWSER = __DIR__ . '/browser';

    private TemporaryDirectory $directory;
    private PageSite $site;
    private ?Process $browser = null;

    protected function setUp(): void
    {
        foreach (['node', \getenv('CHROMIUM') ?: 'chromium'] as $program) {
            if (\shell_exec('command -v ' . \escapeshellarg($program)) === null) {
                self::markTestSkipped("No $program: install Debian's packages chromium, nodejs and npm.");
            }
        }
        if (!\is_dir(self::BROWSER . '/node_modules')) {
            self::markTestSkipped('No playwright-core: make test-wordpress fetches it.');
        }
        $this->directory = new TemporaryDirectory();
        $this->site = new PageSite();
        $this->site->theme();
        $this->browser = new Process(['node', self::BROWSER . '/two-visitors.mjs', $this->site->site->url()], ['TMPDIR' => $this->directory->path]);
    }

    protected function tearDown(): void
    {
        $this->browser?->kill();
        $errors = isset($this->site) ? $this->site->site->errors() : '';
        unset($this->site, $this->directory);
        self::assertSame('', $errors);
    }

    public function testNobodySeesWhatIsAnothers(): void
    {
        $path = '/hello-world/';
        $this->step('visit', 'visitor', '/');
        $this->step('visit', 'visitor', $path);
        self::assertStringContainsString('hit', $this->step('visit', 'visitor', $path)['cache']);
        self::assertTrue($this->step('login', 'admin', Site::USER, Site::PASSWORD)['bar']);
        foreach (['/', $path, '/sample-page/'] as $each) {
            self::assertTrue($this->step('visit', 'admin', $each)['bar'], $each);
            self::assertFalse($this->step('visit', 'visitor', $each)['bar'], $each);
        }
        // What one of them changes the other sees with his next page.
        $this->step('rename', 'admin', 'Renamed');
        self::assertStringContainsString('Renamed', $this->step('visit', 'visitor', $path)['title']);

        // A comment waits for approval: its author sees it, nobody else does.
        $said = $this->step('comment', 'visitor', $path, 'A secret until it is approved.');
        self::assertStringContainsString('A secret', $said['text']);
        self::assertStringContainsString('A secret', $this->step('visit', 'visitor', $path)['text']);
        self::assertStringNotContainsString('A secret', $this->step('visit', 'stranger', $path)['text']);
        self::assertStringNotContainsString('A secret', $this->step('visit', 'stranger', $path)['text']);
        $this->site->web('wp_set_comment_status(get_comments(["search" => "A secret"])[0]->comment_ID, "approve"); return 1;');
        self::assertStringContainsString('A secret', $this->step('visit', 'stranger', $path)['text']);

        // The same profile with and without an account.
        self::assertTrue($this->step('login', 'stranger', Site::USER, Site::PASSWORD)['bar']);
        self::assertTrue($this->step('visit', 'stranger', $path)['bar']);
        $this->step('logout', 'stranger');
        self::assertFalse($this->step('visit', 'stranger', $path)['bar']);
        self::assertFalse($this->step('visit', 'stranger', '/')['bar']);
    }

    public function testAPageThatTheBrowserFetchesBeforehandIsStoredForAll(): void
    {
        // Whatever WordPress builds: its path, and what for.
        $this->site->plugin('add_action("template_redirect", static function (): void { file_put_contents(WP_CONTENT_DIR . "/built", $_SERVER["REQUEST_URI"] . " " . ($_SERVER["HTTP_SEC_PURPOSE"] ?? "") . "\n", FILE_APPEND); });');
        $this->step('visit', 'visitor', '/');
        $front = $this->step('visit', 'visitor', '/');
        self::assertTrue($front['speculates'], 'WordPress asks the browser to fetch beforehand.');
        self::assertSame('/hello-world/', $this->step('press', 'visitor', '/hello-world/')['path']);
        self::assertSame(['/hello-world/ prefetch'], \array_values(\preg_grep('~^/hello~', \explode("\n", (string) \file_get_contents($this->site->site->content('built')))) ?: []), 'Beforehand, and not again.');
        self::assertStringContainsString('hit', $this->step('visit', 'stranger', '/hello-world/')['cache']);
    }

    /** @return array{path: string, cache: string, bar: bool, title: string, text: string, speculates: bool} */
    private function step(string ...$words): array
    {
        $this->browser?->write(\json_encode($words, \JSON_THROW_ON_ERROR) . "\n");
        $line = $this->browser?->line(120.0);
        self::assertIsString($line, "$words[0]: " . $this->browser?->errors());

        return \json_decode($line, true, flags: \JSON_THROW_ON_ERROR);
    }
}
