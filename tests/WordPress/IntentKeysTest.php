<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Process\Process;

/** Which intents a function puts, how they end when it changed nothing, and that a page that writes nothing pays nothing. */
#[CoversNothing]
#[Group('wordpress')]
final class IntentKeysTest extends TestCase
{
    private const SPY = <<<'PHP'
        $spy = new class extends Larder\WordPress\ObjectCache {
            public array $put = [];
            public function __construct() {}
            public function get($key, $group = 'default', $force = false, &$found = null) { return wp_cache_get($key, $group, $force, $found); }
            public function intend(string $group, string ...$keys): void { foreach ($keys as $key) { $this->put["$group $key"] = true; } }
            public function relent(string $group, string ...$keys): void { foreach ($keys as $key) { unset($this->put["$group $key"]); } }
        };
        remove_all_filters('query', PHP_INT_MAX);
        Larder\WordPress\Intents::watch($spy);
        PHP;

    private static ?IntentSite $site = null;

    public static function tearDownAfterClass(): void
    {
        self::$site?->site->stop();
        self::$site = null;
    }

    /** @param list<string> $keys */
    #[DataProvider('writes')]
    public function testPutsIntentsOnNoMoreThanItMust(string $before, string $write, array $keys): void
    {
        $said = self::site()->site->cli("$before\n" . self::SPY . "\n$write; \$wpdb->query('SELECT 1'); echo json_encode([array_keys(\$spy->put), \$id ?? 0]);");
        $said = \json_decode($said, true);
        self::assertIsArray($said);
        [$put, $id] = $said;
        self::assertIsArray($put);
        self::assertIsInt($id);
        \sort($put);
        $keys = \array_map(static fn(string $key): string => \str_replace('#', (string) $id, $key), $keys);
        \sort($keys);
        self::assertSame($keys, $put);
    }

    /** @return iterable<string, array{string, string, list<string>}> */
    public static function writes(): iterable
    {
        $post = '$id = wp_insert_post(["post_title" => "Title", "post_status" => "publish", "meta_input" => ["colour" => "red"]]);';
        $value = '"' . \bin2hex(\random_bytes(4)) . '"';
        yield 'an autoloaded option' => ['add_option("keys_a", "");', "update_option('keys_a', $value)", ['options alloptions']];
        yield 'another option' => ['add_option("keys_b", "", "", false);', "update_option('keys_b', $value)", ['options keys_b']];
        yield 'a change of autoload' => ['add_option("keys_c", "", "", false);', "update_option('keys_c', $value, true)", ['options alloptions', 'options keys_c']];
        yield 'a new option' => ['', "add_option('keys_' . $value, 1)", ['options alloptions', 'options notoptions']];
        yield 'an option that goes' => ['add_option("keys_d", "", "", false);', "delete_option('keys_d')", ['options keys_d']];
        yield 'nothing' => ['add_option("keys_e", "x");', 'update_option("keys_e", "x")', []];
        yield 'no row' => ['add_option("keys_f", "x");', '$wpdb->update($wpdb->options, ["option_value" => "x"], ["option_name" => "keys_f"])', []];
        yield 'metadata' => [$post, 'update_post_meta($id, "colour", "blue")', ['post_meta #', 'posts last_changed']];
        yield 'metadata that goes' => [$post, 'delete_post_meta($id, "colour")', ['post_meta #', 'posts last_changed']];
        yield 'a count of comments' => [$post, '$wpdb->update($wpdb->posts, ["comment_count" => 7], ["ID" => $id])', ['posts #', 'posts last_changed']];
        yield 'a draft' => ['$id = wp_insert_post(["post_title" => "Title"]);', '$wpdb->update($wpdb->posts, ["post_status" => "pending"], ["ID" => $id])', ['posts #', 'posts last_changed']];
        yield 'a table of somebody else' => ['', '$wpdb->query("UPDATE {$wpdb->prefix}none SET a = 1 WHERE ID = 1")', []];
    }

    public function testAPageThatWritesNothingLoadsNothing(): void
    {
        self::assertSame('[1,[false,false,false]]', self::site()->site->cli(<<<'PHP'
            get_posts(['numberposts' => 3]);
            echo json_encode([
                count($wp_filter['query']->callbacks[PHP_INT_MAX]),
                array_map(static fn(string $class): bool => class_exists("Larder\\WordPress\\Intent\\$class", false), ['Keys', 'Rows', 'Statement']),
            ]);
            PHP));
    }

    public function testAnIntentEndsWhenTheWriteHasChangedNoRow(): void
    {
        $site = self::site()->site;
        $name = 'row_' . \bin2hex(\random_bytes(4));
        $read = "\$before = \$wpdb->num_queries; echo get_option('$name'), ' ', \$wpdb->num_queries - \$before;";
        foreach (['$wpdb->query("SELECT 1");' => 'b 0', '' => 'b 1'] as $after => $second) {
            $site->cli("delete_option('$name'); add_option('$name', 'a', '', false); get_option('$name');");
            $site->sql("UPDATE wp_options SET option_value = 'b' WHERE option_name = '$name'");
            $writer = $site->start("echo json_encode(update_option('$name', 'b')); $after echo \"\\n\"; sleep(60);");
            self::awaitLine($writer);
            // It lives on; the first one after it stores what the second finds, unless an intent stands.
            self::assertStringStartsWith('b ', $site->cli($read));
            self::assertSame($second, $site->cli($read));
            $writer->stop(0, \SIGKILL);
            self::assertSame("false\n", $writer->getOutput(), $writer->getErrorOutput());
        }
    }

    private static function awaitLine(Process $process): void
    {
        $process->waitUntil(static fn(string $type, string $output): bool => \str_contains($output, "\n"));
    }

    private static function site(): IntentSite
    {
        return self::$site ??= new IntentSite();
    }
}
