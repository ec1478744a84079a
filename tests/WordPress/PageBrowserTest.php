<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Site;
use PHPUnit\Framework\Attributes\Group;

/**
 * Two people on one site in a real browser, each with a profile of his own: nobody sees what is another's, all see what is new.
 *
 * @extends BrowserTestCase<PageSite>
 */
#[Group('wordpress')]
final class PageBrowserTest extends BrowserTestCase
{
    protected function setUp(): void
    {
        parent::setUp();
        $this->site = new PageSite();
        $this->site->theme();
        $this->browse('two-visitors.mjs', $this->site->site->url());
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
}
