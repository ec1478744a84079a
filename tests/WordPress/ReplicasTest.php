<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\Group;

/**
 * A site whose statements that read go to a copy of its database, which lags behind.
 *
 * @extends OwnSiteTestCase<PageSite>
 */
#[Group('wordpress')]
final class ReplicasTest extends OwnSiteTestCase
{
    /** Seconds that the copy may lag behind: as long as a test's requests may take before it has caught up. */
    private const LAG = 8;

    private const READ = '[get_post(1)->post_title, get_post_meta(1, "m", true), get_option("o"), get_option("p"), get_option("n"), get_posts(["meta_key" => "m", "meta_value" => "new"])[0]->ID ?? 0, get_term(1)->name, get_user_by("id", 1)->display_name, get_posts(["title" => "new"])[0]->ID ?? 0]';

    private const WRITE = 'wp_update_post(["ID" => 1, "post_title" => "%1$s"]); update_post_meta(1, "m", "%1$s"); update_option("o", "%1$s", true); update_option("p", "%1$s", false); wp_update_term(1, "category", ["name" => "%1$s"]); wp_update_user(["ID" => 1, "display_name" => "%1$s"]); ';

    public function testNothingIsKeptThatWasReadFromACopyThatLagsBehind(): void
    {
        $site = $this->site = new PageSite(['LARDER_REPLICA_LAG' => self::LAG]);
        $site->site->putDropIn(__DIR__ . '/Replica/db.php', 'db.php');
        foreach (['' => '', 'in a transaction' => '$GLOBALS["wpdb"]->query("START TRANSACTION"); '] as $how => $begin) {
            $site->web(\sprintf(self::WRITE, 'old') . 'delete_option("n"); return 1;');
            $this->copy();
            $site->site->cli('wp_cache_flush();');
            $old = ['old', 'old', 'old', 'old', false, 0, 'old', 'old', 0];
            self::assertSame($old, $site->web('return ' . self::READ . ';'), $how);

            // A row that the copy does not have.
            $site->site->sql("INSERT INTO wp_postmeta (meta_id, post_id, meta_key, meta_value) VALUES (10000, 2, 'late', 'old')");
            self::assertSame('old', $site->web('return get_post_meta(2, "late", true);'));
            \touch($site->site->content('lagging'));
            $site->web("\$GLOBALS['wpdb']->query('SELECT ID FROM wp_posts'); return \$GLOBALS['wpdb']->query('UPDATE wp_postmeta SET meta_value = \"new\" WHERE meta_id = 10000');");
            $site->web($begin . \sprintf(self::WRITE, 'new') . 'add_option("n", "new"); ' . ($begin === '' ? '' : '$GLOBALS["wpdb"]->query("COMMIT"); ') . 'return 1;');
            // Readers come while the copy has the old rows; some of them write something else.
            foreach ([1, 2] as $time) {
                $site->web('return ' . self::READ . ';');
                self::assertSame(200, $site->get('/hello-world/')->status);
                $site->web('get_option("o"); update_option("another", "' . \bin2hex(\random_bytes(4)) . '", true); return 1;');
            }
            $did = PageSite::did($site->get('/hello-world/'));
            $this->copy();
            \unlink($site->site->content('lagging'));
            $new = ['new', 'new', 'new', 'new', 'new', 1, 'new', 'new', 1];
            self::assertSame($new, $site->web('return ' . self::READ . ';'), $how);
            self::assertSame('new', $site->web('return get_post_meta(2, "late", true);'), $how);
            $site->web('return delete_post_meta(2, "late");');
            self::assertNotContains($did, ['hit', 'stored'], $how);
            self::assertStringContainsString('<title>new', $site->get('/hello-world/')->body, $how);
        }
        // When the copy has caught up for long enough, all is kept as elsewhere.
        $key = 'wp_cache_get("alloptions", "options", true) !== false && wp_cache_get(1, "posts", true) !== false && wp_cache_get("last_changed", "posts", true) !== false';
        Wait::until(static function () use ($site, $key): bool {
            $site->web('return ' . self::READ . ';');

            return PageSite::did($site->get('/hello-world/')) === 'hit' && $site->web("return $key;") === true;
        }, 'a cache that keeps all');
        self::assertSame('hit', PageSite::did($site->get('/hello-world/')));
        self::assertTrue($site->web("return $key;"));
        self::assertSame($new, $site->web('return ' . self::READ . ';'));
    }

    public function testADbPhpWithReplicasIsKnown(): void
    {
        $site = $this->site = new PageSite();
        self::assertSame(0, $site->web('return Larder\WordPress\Replicas::lag();'));
        $site->site->putDropIn(__DIR__ . '/Replica/db.php', 'db.php');
        self::assertSame(5, $site->web('return Larder\WordPress\Replicas::lag();'));
        $site->site->define(['LARDER_REPLICA_LAG' => 0]);
        self::assertSame(0, $site->web('return Larder\WordPress\Replicas::lag();'));
    }

    /** Lets the copy catch up. */
    private function copy(): void
    {
        $site = $this->site->site;
        $site->sql('CREATE DATABASE IF NOT EXISTS replica CHARACTER SET utf8mb4');
        foreach ($site->sql('SHOW TABLES') as $row) {
            $table = (string) \current($row);
            $site->sql("CREATE TABLE IF NOT EXISTS replica.$table LIKE $table");
            $site->sql("DELETE FROM replica.$table");
            $site->sql("INSERT INTO replica.$table SELECT * FROM $table");
        }
    }
}
