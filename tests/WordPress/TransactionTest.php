<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;

/**
 * One request writes in a transaction of the database while others read: after its end, whatever that is, all of them
 * have what the database has.
 */
#[Group('wordpress')]
final class TransactionTest extends SharedSiteTestCase
{
    protected const QUIET = false;

    /** What is looked at; the ids are those that PREPARE has made. */
    private const READ = <<<'PHP'
        [$post, $term] = get_option('transaction_ids');
        $seen = ['post' => get_post($post)->post_title, 'post meta' => get_post_meta($post, 'colour', true), 'term' => get_term($term)->name, 'term meta' => get_term_meta($term, 'colour', true),
            'option' => get_option('transaction_a'), 'option, not autoloaded' => get_option('transaction_b')];
        PHP;

    private const PREPARE = <<<'PHP'
        $post = wp_insert_post(['post_title' => 'old', 'post_status' => 'publish', 'meta_input' => ['colour' => 'old']]);
        $term = wp_insert_term('old' . wp_generate_uuid4(), 'category')['term_id'];
        wp_update_term($term, 'category', ['name' => 'old']);
        update_term_meta($term, 'colour', 'old');
        update_option('transaction_ids', [$post, $term]);
        update_option('transaction_a', 'old', true);
        update_option('transaction_b', 'old', false);
        PHP;

    /** As WooCommerce's wc_transaction_query(), around what WordPress's functions write. */
    private const WRITE = <<<'PHP'
        [$post, $term] = get_option('transaction_ids');
        $write = static function (string $value) use ($post, $term): void {
            wp_update_post(['ID' => $post, 'post_title' => $value]);
            update_post_meta($post, 'colour', $value);
            wp_update_term($term, 'category', ['name' => $value]);
            update_term_meta($term, 'colour', $value);
            update_option('transaction_a', $value);
            update_option('transaction_b', $value);
        };
        // And a plugin that knows of no cache.
        $raw = static function (string $value) use ($wpdb, $post, $term): void {
            $wpdb->query("/* plugin's */ UPDATE $wpdb->posts SET post_title = '$value' WHERE ID = $post");
            $wpdb->query("UPDATE $wpdb->postmeta AS m SET m.meta_value = '$value' WHERE m.post_id = $post AND m.meta_key = 'colour'");
            $wpdb->query("UPDATE $wpdb->terms SET name = REPLACE(name, 'old', '$value') WHERE name = 'old'");
            $wpdb->query("UPDATE $wpdb->termmeta SET meta_value = '$value' WHERE meta_value = 'old'");
            $wpdb->query("UPDATE $wpdb->options SET option_value = REPLACE(option_value, 'old', '$value') WHERE option_name LIKE 'transaction_a%'");
            $wpdb->query("INSERT INTO $wpdb->options (option_name, option_value) VALUES ('transaction_b', 'x') ON DUPLICATE KEY UPDATE option_value = '$value'");
        };
        $number = 0;
        // Others read now.
        $pause = static function () use (&$number): void {
            echo ++$number . "\n";
            while (!file_exists(WP_CONTENT_DIR . "/go-$number")) {
                usleep(2_000);
                clearstatcache();
            }
        };
        $die = static fn() => posix_kill(posix_getpid(), SIGKILL);
        PHP;

    private static ?RedisServer $redis = null;

    public static function tearDownAfterClass(): void
    {
        parent::tearDownAfterClass();
        self::$redis = null;
    }

    #[DataProvider('transactions')]
    public function testNobodyIsLeftWithWhatIsOlderThanTheDatabase(bool $redis, string $writer, bool $committed): void
    {
        $this->begin($redis);
        self::assertSame([], $this->stale($writer, $committed));
    }

    /** @return iterable<string, array{bool, string, bool}> */
    public static function transactions(): iterable
    {
        foreach (['' => false, ', over Redis' => true] as $over => $redis) {
            foreach (['WordPress' => '$write', 'a plugin' => '$raw'] as $by => $write) {
                foreach ([
                    'COMMIT' => ["$write('new'); \$pause(); \$wpdb->query('COMMIT');", true],
                    'COMMIT, and reading inside' => ["\$pause(); $write('new'); \$pause(); " . self::READ . '$pause(); $wpdb->query("COMMIT"); $pause();', true],
                    'ROLLBACK' => ["$write('new'); \$pause(); " . self::READ . '$wpdb->query("ROLLBACK"); ' . self::READ . 'echo $seen === array_fill_keys(array_keys($seen), "old") ? "" : "It has what it rolled back.";', false],
                    'a kill before COMMIT' => ["$write('new'); \$pause(); " . self::READ . '$die();', false],
                    'a kill after COMMIT' => ["$write('new'); \$pause(); \$wpdb->query('COMMIT'); \$die();", true],
                    'the end of the request' => ["$write('new'); \$pause(); " . self::READ, false],
                ] as $end => [$code, $committed]) {
                    yield "$by, $end$over" => [$redis, '$wpdb->query("START TRANSACTION");' . $code, $committed];
                }
            }
        }
        foreach ([
            'a savepoint' => ['$wpdb->query("BEGIN"); $wpdb->query("SAVEPOINT x"); $write("new"); $pause(); ' . self::READ . '$wpdb->query("ROLLBACK TO x"); ' . self::READ
                . 'echo $seen === array_fill_keys(array_keys($seen), "old") ? "" : "It has what it rolled back."; $wpdb->query("COMMIT");', false],
            'what came before a savepoint' => ['$wpdb->query("BEGIN"); $write("new"); $wpdb->query("SAVEPOINT x"); $write("newer"); $wpdb->query("ROLLBACK TO x"); $pause(); ' . self::READ . '$pause(); $wpdb->query("COMMIT");', true],
            'autocommit' => ['$wpdb->query("SET autocommit = 0"); $write("newer"); $wpdb->query("COMMIT"); $write("new"); $pause(); $wpdb->query("SET autocommit = 1"); $pause();', true],
            'a chain' => ['$wpdb->query("BEGIN"); $write("newer"); $wpdb->query("COMMIT AND CHAIN"); $write("new"); $pause(); $wpdb->query("COMMIT");', true],
            'BEGIN again' => ['$wpdb->query("BEGIN"); $write("new"); $pause(); $wpdb->query("BEGIN"); $pause(); $wpdb->query("ROLLBACK");', true],
            'a new table' => ['$wpdb->query("BEGIN"); $write("new"); $pause(); $wpdb->query("CREATE TABLE x$wpdb->prefix" . getmypid() . " (a INT)"); $pause(); $wpdb->query("ROLLBACK");', true],
            'a temporary table' => ['$wpdb->query("BEGIN"); $write("new"); $wpdb->query("CREATE TEMPORARY TABLE x (a INT)"); $pause(); $wpdb->query("COMMIT");', true],
            'a lost connection' => ['$wpdb->query("BEGIN"); $write("new"); $pause(); ' . self::READ . '$wpdb->query("KILL " . mysqli_thread_id($wpdb->dbh)); $wpdb->suppress_errors(); $wpdb->query("SELECT 1"); $wpdb->query("SELECT 1"); '
                . self::READ . 'echo $seen === array_fill_keys(array_keys($seen), "old") ? "" : "It has what it rolled back.";', false],
            'a COMMIT of the last moment' => ['register_shutdown_function(static function () use ($wpdb, $pause): void { $pause(); $wpdb->query("COMMIT"); }); $wpdb->query("BEGIN"); $write("new");', true],
            'six seconds' => ['$wpdb->query("BEGIN"); $write("new"); sleep(6); $pause(); $wpdb->query("COMMIT");', true],
        ] as $name => [$code, $committed]) {
            yield $name => [false, $code, $committed];
        }
    }

    /** Else the other tests could not fail. */
    public function testWithoutThatTheyAre(): void
    {
        // On a site of its own: the intents of those that were killed before may keep readers away for a minute.
        self::tearDownAfterClass();
        $this->setUp();
        $this->begin(false);
        $without = 'remove_all_filters("query", PHP_INT_MAX);';
        self::assertNotSame([], $this->stale($without . '$wpdb->query("BEGIN"); $write("new"); $pause(); $wpdb->query("COMMIT");', true));
        self::assertNotSame([], $this->stale($without . '$wpdb->query("BEGIN"); $raw("new"); $pause(); $wpdb->query("COMMIT");', true));
    }

    public function testAStatementThatNamesNoRowsLeavesNothingOld(): void
    {
        $this->begin(false);
        foreach (['$raw("new");', '$raw("new"); $pause();', '$raw("new"); $die();'] as $code) {
            self::assertSame([], $this->stale($code, true), $code);
        }
    }

    public function testADeadlockRollsBack(): void
    {
        $this->begin(false);
        $site = $this->site->site;
        $site->cli(self::PREPARE);
        $code = self::WRITE . <<<'PHP'
            $lock = static fn(int $id) => $wpdb->query("SELECT ID FROM $wpdb->posts WHERE ID = $id FOR UPDATE");
            $wpdb->suppress_errors();
            $wpdb->query('BEGIN');
            FIRST;
            $pause();
            SECOND;
            $error = mysqli_errno($wpdb->dbh);
            PHP . self::READ . 'echo json_encode([$error, $seen["option"]]);';
        // The one that has written less is the one that is rolled back.
        $victim = $site->start(\strtr($code, ['FIRST;' => 'update_option("transaction_a", "new"); $lock($post);', 'SECOND;' => '$lock(1);']));
        $victim->waitUntil(static fn(string $type, string $text): bool => \str_contains($text, "1\n"));
        $other = $site->start(\strtr($code, [
            'go-' => 'run-',
            'FIRST;' => '$wpdb->query("UPDATE $wpdb->posts SET menu_order = 7 WHERE ID = 1"); for ($i = 0; $i < 50; $i++) { $wpdb->query("INSERT INTO $wpdb->postmeta (post_id, meta_key) VALUES (1, $i)"); }',
            'SECOND;' => '$lock($post); $wpdb->query("ROLLBACK");',
        ]));
        $other->waitUntil(static fn(string $type, string $text): bool => \str_contains($text, "1\n"));
        \touch($site->content('go-1'));
        // It waits for the other one's row. The table is a copy that MariaDB renews only if nobody has read it for 0.1 s
        // (storage/innobase/trx/trx0i_s.cc, CACHE_MIN_IDLE_TIME_NS): whoever asks more often never sees a change.
        while ($site->sql('SELECT 1 FROM information_schema.innodb_lock_waits') === []) {
            self::assertTrue($victim->isRunning(), 'It waits: ' . $victim->getErrorOutput());
            \usleep(150_000);
        }
        \touch($site->content('run-1'));
        self::assertSame(0, $victim->wait(), $victim->getErrorOutput());
        self::assertSame(0, $other->wait(), $other->getErrorOutput());
        self::assertStringEndsWith('[1213,"old"]', $victim->getOutput());
        self::assertSame('old', $site->cli('echo get_option("transaction_a");'));
    }

    /**
     * Runs a writer, and at each of its pauses and after its end somebody who reads everything.
     *
     * @return list<string> what is other than in the database afterwards
     */
    private function stale(string $writer, bool $committed): array
    {
        $site = $this->site->site;
        foreach (\glob($site->content('go-*')) ?: [] as $file) {
            \unlink($file);
        }
        $site->cli(self::PREPARE);
        $old = \json_decode($site->cli(self::READ . 'echo json_encode($seen);'), true);
        self::assertSame(['old'], \array_values(\array_unique((array) $old)));
        $process = $site->start(self::WRITE . $writer);
        $said = '';
        for ($number = 1; $process->isRunning(); \usleep(2_000)) {
            $said .= $process->getIncrementalOutput();
            if (\str_contains($said, "$number\n")) {
                $site->cli(self::READ);
                \touch($site->content("go-$number"));
                $number++;
            }
        }
        $said .= $process->getIncrementalOutput();
        self::assertMatchesRegularExpression('/^(\d+\n)*$/', $said, $process->getErrorOutput());
        self::assertContains($process->getExitCode(), [0, 128 + \SIGKILL], $process->getErrorOutput());
        $stale = [];
        // Twice: the second one has what the first has stored.
        foreach (['first', 'second'] as $reader) {
            foreach ((array) \json_decode($site->cli(self::READ . 'echo json_encode($seen);'), true) as $name => $value) {
                if ($value !== ($committed ? 'new' : 'old')) {
                    $stale[] = "$name is " . \json_encode($value) . " for the $reader one";
                }
            }
        }

        return $stale;
    }

    private function begin(bool $redis): void
    {
        if ($redis) {
            RedisServer::program() !== null || self::markTestSkipped('There is no Redis.');
            self::$redis ??= new RedisServer();
        }
        $this->site->site->define($redis ? ['LARDER_DSN' => 'redis://127.0.0.1:' . self::$redis?->port] : []);
        // It was left for another one in between.
        $this->site->site->cli('$GLOBALS["wp_object_cache"]->flush_network();');
        foreach (\glob($this->site->site->content('{go,run}-*'), \GLOB_BRACE) ?: [] as $file) {
            \unlink($file);
        }
    }

    protected static function make(): InstalledSite
    {
        return new IntentSite();
    }
}
