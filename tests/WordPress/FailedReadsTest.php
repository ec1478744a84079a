<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\WordPress\FailedReads;
use Larder\WordPress\ObjectCache;
use Larder\WordPress\Page\Life;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** A statement fails while a request goes on: what it computes without the rows is kept for nobody else. */
#[CoversClass(FailedReads::class)]
#[CoversClass(Life::class)]
#[CoversClass(ObjectCache::class)]
#[Group('wordpress')]
final class FailedReadsTest extends TestCase
{
    private const FAIL = '$wpdb = $GLOBALS["wpdb"]; $wpdb->suppress_errors(); $wpdb->get_col("SELECT x FROM nowhere"); ';

    private static ?PageSite $site = null;

    public static function setUpBeforeClass(): void
    {
        self::$site = new PageSite();
        // Breaks the front page's query of posts, as a damaged table does.
        self::$site->plugin(<<<'PHP'
            add_filter('query', static function ($query) {
                if (is_file(WP_CONTENT_DIR . '/broken') && str_contains($query, 'SQL_CALC_FOUND_ROWS') && str_contains($query, 'wp_posts.ID')) {
                    $GLOBALS['wpdb']->suppress_errors();
                    $query = str_replace('wp_posts.ID', 'wp_posts.no_such_column', $query);
                }

                return $query;
            });
            PHP);
    }

    public static function tearDownAfterClass(): void
    {
        self::$site = null;
    }

    protected function tearDown(): void
    {
        self::assertSame('', self::site()->site->errors());
    }

    public function testAPageThatLacksSomethingIsNotKept(): void
    {
        $site = self::site();
        self::assertSame('good', $this->health()['status']);
        $flag = $site->site->content('broken');
        \touch($flag);
        $broken = $site->get('/');
        self::assertSame(200, $broken->status);
        self::assertStringNotContainsString('Hello world!', $broken->body);
        self::assertNotContains(PageSite::did($broken), ['stored', 'hit']);
        $health = $this->health();
        self::assertSame('recommended', $health['status']);
        self::assertStringContainsString('no_such_column', $health['description']);
        \unlink($flag);
        // Neither is the empty list that the page was made of.
        self::assertStringContainsString('Hello world!', $site->get('/')->body);
        self::assertSame('hit', PageSite::did($site->get('/')));
    }

    public function testNothingThatIsComputedAfterItIsStored(): void
    {
        $site = self::site();
        $keys = ['own' => ['posts', 'set'], 'multiple' => ['posts', 'multiple'], 'fill' => ['posts', 'fill'], 'plugin' => ['plugin', 'set'], 'replaced' => ['plugin', 'replaced'], 'list' => ['plugin', 'list'], 'lock' => ['plugin', 'lock']];
        $read = 'return [' . \implode(', ', \array_map(static fn(array $key): string => "wp_cache_get('$key[1]', '$key[0]')", $keys)) . ', get_transient("t"), wp_cache_get("s", "wc_session_id")];';
        $site->web('wp_cache_set("set", "old", "posts"); wp_cache_set("set", "old", "plugin"); wp_cache_set("replaced", "old", "plugin"); set_transient("t", "old"); return 1;');
        $write = <<<'PHP'
            wp_cache_set('set', [], 'posts');
            wp_cache_set_multiple(['multiple' => [], 'other' => []], 'posts');
            wp_cache_add('fill', [], 'posts');
            wp_cache_set('set', [], 'plugin');
            wp_cache_replace('replaced', [], 'plugin');
            $added = [wp_cache_add('list', [], 'plugin'), wp_cache_add('list', [], 'plugin'), wp_cache_add('lock', 1, 'plugin'), wp_cache_add('lock', 1, 'plugin')];
            set_transient('t', []);
            wp_cache_set('s', 'kept', 'wc_session_id');
            PHP;
        self::assertSame([true, false, true, false], $site->web(self::FAIL . $write . 'return $added;'));
        self::assertSame([...\array_fill(0, 8, false), 'kept'], $site->web($read), 'For the next request.');
        self::assertSame([[], [], [], [], false, [], 1, [], 'kept'], $site->web(self::FAIL . $write . $read), 'For the same one.');
        self::assertSame([...\array_fill(0, 8, false), 'kept'], $site->web($read));
        // A write that fails, and a question for columns, take nothing from what was read.
        $site->web('$wpdb = $GLOBALS["wpdb"]; $wpdb->suppress_errors(); $wpdb->query("INSERT INTO nowhere VALUES (1)"); $wpdb->query("DESCRIBE nowhere"); wp_cache_set("set", "new", "plugin"); return 1;');
        self::assertSame('new', $site->web('return wp_cache_get("set", "plugin");'));
    }

    public function testWhatWasComputedBeforeItIs(): void
    {
        $site = self::site();
        $site->web('wp_cache_set("before", 1, "plugin"); wp_cache_add("filled", 1, "posts");' . self::FAIL . 'return 1;');
        self::assertSame([1, 1], $site->web('return [wp_cache_get("before", "plugin"), wp_cache_get("filled", "posts")];'));
    }

    /** wpdb says nothing of it when the page has begun. */
    public function testAConnectionThatIsLostForGood(): void
    {
        $lose = <<<'PHP'
            $wpdb = $GLOBALS['wpdb'];
            error_reporting(0);
            $GLOBALS['wp_actions']['template_redirect'] = 1;
            foreach (['reconnect_retries' => 1, 'dbhost' => '/nowhere'] as $name => $value) {
                (new ReflectionProperty('wpdb', $name))->setValue($wpdb, $value);
            }
            $id = $wpdb->get_var('SELECT CONNECTION_ID()');
            (new wpdb(DB_USER, DB_PASSWORD, DB_NAME, DB_HOST))->query("KILL $id");
            $found = $wpdb->get_col("SELECT ID FROM $wpdb->posts");
            PHP;
        self::assertSame([], self::site()->web($lose . 'wp_cache_set("lost", $found, "plugin"); return $found;'));
        self::assertFalse(self::site()->web('return wp_cache_get("lost", "plugin");'));
    }

    /** @return array{status: string, description: string} */
    private function health(): array
    {
        $result = self::site()->web('return Larder\WordPress\Health::pages();');
        self::assertIsArray($result);

        /** @var array{status: string, description: string} $result */
        return $result;
    }

    private static function site(): PageSite
    {
        return self::$site ?? throw new \LogicException('There is no site.');
    }
}
