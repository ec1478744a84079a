<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Attributes\Group;

/**
 * A statement fails while a request goes on: what it computes without the rows is kept for nobody else.
 *
 * @extends SharedSiteTestCase<PageSite>
 */
#[Group('wordpress')]
final class FailedReadsTest extends SharedSiteTestCase
{
    private const FAIL = '$wpdb = $GLOBALS["wpdb"]; $wpdb->suppress_errors(); $wpdb->get_col("SELECT x FROM nowhere"); ';

    protected static function make(): InstalledSite
    {
        $site = new PageSite();
        // Breaks the front page's query of posts, as a damaged table does.
        $site->plugin(<<<'PHP'
            add_filter('query', static function ($query) {
                if (is_file(WP_CONTENT_DIR . '/broken') && str_contains($query, 'SQL_CALC_FOUND_ROWS') && str_contains($query, 'wp_posts.ID')) {
                    $GLOBALS['wpdb']->suppress_errors();
                    $query = str_replace('wp_posts.ID', 'wp_posts.no_such_column', $query);
                }

                return $query;
            });
            PHP);

        return $site;
    }

    public function testAPageThatLacksSomethingIsNotKept(): void
    {
        self::assertSame('good', $this->health()['status']);
        $flag = $this->site->site->content('broken');
        \touch($flag);
        $broken = $this->site->get('/');
        self::assertSame(200, $broken->status);
        self::assertStringNotContainsString('Hello world!', $broken->body);
        self::assertNotContains(PageSite::did($broken), ['stored', 'hit']);
        $health = $this->health();
        self::assertSame('recommended', $health['status']);
        self::assertStringContainsString('no_such_column', $health['description']);
        \unlink($flag);
        // Neither is the empty list that the page was made of.
        self::assertStringContainsString('Hello world!', $this->site->get('/')->body);
        self::assertSame('hit', PageSite::did($this->site->get('/')));
    }

    public function testNothingThatIsComputedAfterItIsStored(): void
    {
        $keys = ['own' => ['posts', 'set'], 'multiple' => ['posts', 'multiple'], 'fill' => ['posts', 'fill'], 'plugin' => ['plugin', 'set'], 'replaced' => ['plugin', 'replaced'], 'list' => ['plugin', 'list'], 'lock' => ['plugin', 'lock']];
        $read = 'return [' . \implode(', ', \array_map(static fn(array $key): string => "wp_cache_get('$key[1]', '$key[0]')", $keys)) . ', get_transient("t"), wp_cache_get("s", "wc_session_id")];';
        $this->site->web('wp_cache_set("set", "old", "posts"); wp_cache_set("set", "old", "plugin"); wp_cache_set("replaced", "old", "plugin"); set_transient("t", "old"); return 1;');
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
        self::assertSame([true, false, true, false], $this->site->web(self::FAIL . $write . 'return $added;'));
        self::assertSame([...\array_fill(0, 8, false), 'kept'], $this->site->web($read), 'For the next request.');
        self::assertSame([[], [], [], [], false, [], 1, [], 'kept'], $this->site->web(self::FAIL . $write . $read), 'For the same one.');
        self::assertSame([...\array_fill(0, 8, false), 'kept'], $this->site->web($read));
        // A write that fails, and a question for columns, take nothing from what was read.
        $this->site->web('$wpdb = $GLOBALS["wpdb"]; $wpdb->suppress_errors(); $wpdb->query("INSERT INTO nowhere VALUES (1)"); $wpdb->query("DESCRIBE nowhere"); wp_cache_set("set", "new", "plugin"); return 1;');
        self::assertSame('new', $this->site->web('return wp_cache_get("set", "plugin");'));
    }

    public function testWhatWasComputedBeforeItIs(): void
    {
        $this->site->web('wp_cache_set("before", 1, "plugin"); wp_cache_add("filled", 1, "posts");' . self::FAIL . 'return 1;');
        self::assertSame([1, 1], $this->site->web('return [wp_cache_get("before", "plugin"), wp_cache_get("filled", "posts")];'));
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
        self::assertSame([], $this->site->web($lose . 'wp_cache_set("lost", $found, "plugin"); return $found;'));
        self::assertFalse($this->site->web('return wp_cache_get("lost", "plugin");'));
    }

    /** @return array{status: string, description: string} */
    private function health(): array
    {
        $result = $this->site->web('return Larder\WordPress\Health::pages();');
        self::assertIsArray($result);

        /** @var array{status: string, description: string} $result */
        return $result;
    }
}
