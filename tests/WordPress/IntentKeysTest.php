<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use Symfony\Component\Process\Process;

/**
 * Which intents a function puts, how they end when it changed nothing, and that a page that writes nothing pays nothing.
 *
 * @extends SharedSiteTestCase<IntentSite>
 */
#[Group('wordpress')]
final class IntentKeysTest extends SharedSiteTestCase
{
    protected const QUIET = false;
    private const SPY = <<<'PHP'
        $spy = new class extends Larder\WordPress\ObjectCache {
            public array $put = [];
            public function __construct() {}
            public function get($key, $group = 'default', $force = false, &$found = null) { return wp_cache_get($key, $group, $force, $found); }
            public function intend(string $group, string ...$keys): void { foreach ($keys as $key) { $this->put["$group $key"] = true; } }
            public function outdate(string $group, int $blog = 0): void { $this->put["$group *"] = true; }
            public function beginTransaction(): void {}
            public function commitTransaction(): void {}
            public function relent(string $group, string ...$keys): void { foreach ($keys as $key) { unset($this->put["$group $key"]); } }
        };
        remove_all_filters('query', PHP_INT_MAX);
        Larder\WordPress\Intents::watch($spy);
        PHP;

    /** @param list<string> $keys */
    #[DataProvider('writes')]
    public function testPutsIntentsOnNoMoreThanItMust(string $before, string $write, array $keys): void
    {
        $said = $this->site->site->cli("$before\n" . self::SPY . "\n$write; \$wpdb->query('SELECT 1'); echo json_encode([array_keys(\$spy->put), \$id ?? 0]);");
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

    public function testSeesEachWayToWrite(): void
    {
        $site = $this->site->site;
        $ways = [
            'ANALYZE UPDATE wp_options SET option_value = "new" WHERE option_name = "way_0"',
            'ANALYZE FORMAT=JSON UPDATE wp_options SET option_value = "new" WHERE option_name = "way_1"',
            'IF 1 THEN UPDATE wp_options SET option_value = "new" WHERE option_name = "way_2"; END IF',
            'FOR i IN 1 .. 2 DO UPDATE wp_options SET option_value = "new" WHERE option_name = "way_3"; END FOR',
            'REPEAT UPDATE wp_options SET option_value = "new" WHERE option_name = "way_4"; UNTIL 1 END REPEAT',
            'BEGIN NOT ATOMIC UPDATE wp_options SET option_value = "new" WHERE option_name = "way_5"; END',
            'CASE 1 WHEN 1 THEN UPDATE wp_options SET option_value = "new" WHERE option_name = "way_6"; END CASE',
            'EXECUTE IMMEDIATE "UPDATE wp_options SET option_value = \'new\' WHERE option_name = \'way_7\'"',
            'SET STATEMENT max_statement_time = 9 FOR UPDATE wp_options SET option_value = "new" WHERE option_name = "way_8"',
            'UPDATE "wp_options" SET "option_value" = \'new\' WHERE "option_name" = \'way_9\'',
            'REPLACE INTO "wp_options" ("option_name", "option_value", "autoload") VALUES (\'way_10\', \'new\', \'off\')',
        ];
        $all = \sprintf('$all = array_map(static fn(int $i): mixed => get_option("way_$i"), range(0, %d));', \count($ways) - 1);
        foreach ($ways as $i => $sql) {
            $site->cli("update_option('way_$i', 'old', false);");
        }
        $site->cli($all);
        $site->cli(\sprintf(
            '$queries = %s; foreach ($queries as $i => $sql) { $i === %d && $wpdb->query("SET sql_mode = \'ANSI_QUOTES\'"); $wpdb->query(str_replace("wp_", $wpdb->prefix, $sql)) === false && throw new Exception($sql); }',
            \var_export($ways, true),
            9,
        ));
        self::assertSame(\array_fill(0, \count($ways), 'new'), \json_decode($site->cli("$all echo json_encode(\$all);"), true));
    }

    /** @return iterable<string, array{string, string, list<string>}> */
    public static function writes(): iterable
    {
        $post = '$id = wp_insert_post(["post_title" => "Title", "post_status" => "publish", "meta_input" => ["colour" => "red"]]);';
        // A statement that changes no row withdraws its intents, so each writes a value that no other test has written.
        $value = '"' . \bin2hex(\random_bytes(4)) . '"';
        yield 'an autoloaded option' => ['add_option("keys_a", "");', "update_option('keys_a', $value)", ['options alloptions']];
        yield 'another option' => ['add_option("keys_b", "", "", false);', "update_option('keys_b', $value)", ['options keys_b']];
        yield 'a change of autoload' => ['add_option("keys_c", "", "", false);', "update_option('keys_c', $value, true)", ['options alloptions', 'options keys_c']];
        yield 'a new option' => ['', "add_option('keys_' . $value, 1)", ['options alloptions', 'options notoptions']];
        yield 'an option that goes' => ['add_option("keys_d", "", "", false);', "delete_option('keys_d')", ['options keys_d']];
        yield 'an option that may be there with another autoload' => ['', '$wpdb->query("INSERT INTO $wpdb->options (option_name, option_value, autoload) VALUES (\'keys_g\', ' . \random_int(3, 1 << 30) . ', \'off\') ON DUPLICATE KEY UPDATE option_value = VALUES(option_value)")', ['options alloptions', 'options keys_g', 'options notoptions']];
        yield 'the same, set' => ['', '$wpdb->query("INSERT INTO $wpdb->options SET option_name = \'keys_g\', option_value = 1, autoload = \'on\' ON DUPLICATE KEY UPDATE option_value = 2, autoload = \'on\'")', ['options alloptions', 'options keys_g', 'options notoptions']];
        yield 'an option that is replaced' => ['', '$wpdb->replace($wpdb->options, ["option_name" => "keys_g", "option_value" => 1, "autoload" => "on"])', ['options alloptions', 'options keys_g', 'options notoptions']];
        yield 'an option that is renamed' => ['add_option("keys_h", "", "", false);', '$id = hrtime(true); $wpdb->update($wpdb->options, ["option_name" => "keys_$id"], ["option_name" => "keys_h"])', ['options alloptions', 'options keys_#', 'options keys_h', 'options notoptions']];
        yield 'options by a number' => ['', '$wpdb->query("UPDATE $wpdb->options SET option_value = 1 WHERE option_name = 7")', ['blog-details *', 'calendar *', 'options *', 'site-details *']];
        yield 'a row that is replaced by its number' => ['', '$wpdb->replace($wpdb->usermeta, ["umeta_id" => 999, "user_id" => 1, "meta_key" => "a", "meta_value" => 1])', ['user_meta *', 'users *']];
        yield 'nothing' => ['add_option("keys_e", "x");', 'update_option("keys_e", "x")', []];
        yield 'no row' => ['add_option("keys_f", "x");', '$wpdb->update($wpdb->options, ["option_value" => "x"], ["option_name" => "keys_f"])', []];
        yield 'metadata' => [$post, 'update_post_meta($id, "colour", "blue")', ['post_meta #', 'posts last_changed']];
        yield 'metadata that goes' => [$post, 'delete_post_meta($id, "colour")', ['post_meta #', 'posts last_changed']];
        yield 'a count of comments' => [$post, '$wpdb->update($wpdb->posts, ["comment_count" => 7], ["ID" => $id])', ['posts #', 'posts last_changed']];
        yield 'a draft' => ['$id = wp_insert_post(["post_title" => "Title"]);', '$wpdb->update($wpdb->posts, ["post_status" => "pending"], ["ID" => $id])', ['posts #', 'posts last_changed']];
        yield 'several rows of metadata' => [$post, '$wpdb->query("INSERT INTO $wpdb->postmeta (post_id, meta_key, meta_value) VALUES ($id, \'a\', 1), ($id, \'b\', 2)")', ['post_meta #', 'posts last_changed']];
        yield 'metadata of another post' => [$post, '$wpdb->query("UPDATE $wpdb->postmeta SET post_id = 1 WHERE post_id = $id")', ['post_meta #', 'post_meta 1', 'posts last_changed']];
        yield 'a row by another table' => [$post, '$wpdb->query("INSERT INTO {$wpdb->prefix}none SELECT * FROM $wpdb->posts")', []];
        $posts = ['calendar *', 'posts *', 'timeinfo *'];
        foreach ([
            'UPDATE $wpdb->posts SET post_title = REPLACE(post_title, \'a\', \'b\')', 'UPDATE $wpdb->posts SET post_title = 1 LIMIT 1', 'UPDATE $wpdb->posts SET post_title = 1 WHERE menu_order > 700',
            'UPDATE $wpdb->posts SET post_title = 1 WHERE ID = $id OR ID = 7', 'UPDATE $wpdb->posts p SET p.post_title = 1 WHERE p.ID = $id', 'DELETE p FROM $wpdb->posts p WHERE p.ID = 0',
            'INSERT INTO $wpdb->posts SELECT * FROM $wpdb->posts WHERE ID = 0', '/* a */ WITH x AS (SELECT 0 AS ID) UPDATE $wpdb->posts SET post_title = 1', 'ALTER TABLE $wpdb->posts COMMENT = \'x\'',
        ] as $sql) {
            yield $sql => [$post, "\$wpdb->query(\"$sql\")", $posts];
        }
        yield 'two tables' => [$post, '$wpdb->query("UPDATE $wpdb->posts JOIN $wpdb->postmeta ON ID = post_id SET post_title = 1, meta_value = 1")', [...$posts, 'post_meta *']];
        yield 'many options' => ['', '$wpdb->query("DELETE FROM $wpdb->options WHERE option_name LIKE \'nothing%\'")', ['blog-details *', 'calendar *', 'options *', 'site-details *']];
        yield 'all terms' => ['', '$wpdb->query("UPDATE $wpdb->term_taxonomy SET description = UPPER(description)")', ['terms *']];
        yield 'in a transaction, a row that is named' => [$post, '$wpdb->query("BEGIN"); update_post_meta($id, "colour", "blue")', ['post_meta #', 'posts last_changed']];
        yield 'in a transaction, rows that are not named' => [$post, '$wpdb->query("BEGIN"); $wpdb->query("UPDATE $wpdb->posts SET post_title = 1 WHERE post_parent = 7")', $posts];
        yield 'a table of somebody else' => ['', '$wpdb->query("UPDATE {$wpdb->prefix}none SET a = 1 WHERE ID = 1")', []];
    }

    public function testAPageThatWritesNothingLoadsNothing(): void
    {
        self::assertSame('[1,[false,false,false]]', $this->site->site->cli(<<<'PHP'
            get_posts(['numberposts' => 3]);
            echo json_encode([
                count($wp_filter['query']->callbacks[PHP_INT_MAX]),
                array_map(static fn(string $class): bool => class_exists("Larder\\WordPress\\Intent\\$class", false), ['Keys', 'Rows', 'Statement']),
            ]);
            PHP));
    }

    public function testAnIntentEndsWhenTheWriteHasChangedNoRow(): void
    {
        $site = $this->site->site;
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

    protected static function make(): InstalledSite
    {
        return new IntentSite();
    }
}
