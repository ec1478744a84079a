<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\Service\Account;
use Larder\Lab\WordPress\CommandLine;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use Symfony\Component\Process\Process;

/** The cache belongs to the web server's user. Root works as that one; anybody else is told what to type. */
#[Group('wordpress')]
final class CliUserTest extends SharedSiteTestCase
{
    protected const QUIET = false;
    private const OTHER = ['setpriv', '--reuid', 'games', '--regid', 'games', '--clear-groups', '--pdeathsig', 'KILL', '--'];

    protected function setUp(): void
    {
        parent::setUp();
        if (\posix_geteuid() !== 0) {
            self::markTestSkipped('Only root can be somebody else.');
        }
        // As on servers where people have accounts of their own.
        \chmod($this->site->site->root . '/wp-config.php', 0o644);
        $this->site->web('return update_option("larder_whose", "the web");');
    }

    public function testRootWorksAsTheOwnerAndLeavesNothingOfItsOwn(): void
    {
        $status = $this->site->wpAsRoot('larder', 'status', '--format=json')->json();
        self::assertTrue($status['works']);
        self::assertSame($this->site->site->account->name, $status['user']);

        $this->site->wpAsRoot('option', 'update', 'larder_whose', 'root')->printed();
        $this->site->wpAsRoot('larder', 'flush')->printed();
        $this->site->wpAsRoot('larder', 'bench', '--rounds=3', '--count=5')->printed();

        self::assertSame('root', $this->site->web('return get_option("larder_whose");'));
        $this->assertNothingIsRoots($this->directory());
    }

    public function testRootEnablesItForTheOwner(): void
    {
        $this->site->wpAsRoot('larder', 'disable')->printed();
        self::assertFileDoesNotExist($this->site->site->content('object-cache.php'));
        $findings = $this->site->wpAsRoot('larder', 'doctor', '--format=json')->json();
        self::assertSame($this->site->site->account->name . ', who owns the cache', $findings[0]['text']);
        $this->site->wpAsRoot('larder', 'enable')->printed();

        self::assertSame($this->site->site->account->user, \fileowner($this->site->site->content('object-cache.php')));
        self::assertTrue($this->site->web('return $GLOBALS["wp_object_cache"]->larder() !== null;'));
        $this->site->wp('larder', 'disable')->printed();
        self::assertFalse($this->site->web('return wp_using_ext_object_cache() === true;'));
        $this->site->wp('larder', 'enable')->printed();
    }

    /** As by `wp plugin activate`, which is not in the framework. */
    public function testRootActivatesThePluginForTheOwner(): void
    {
        $directory = $this->directory();
        $load = 'require_once ABSPATH . "wp-admin/includes/plugin.php";';
        $this->site->site->cli($load . 'deactivate_plugins("larder/larder.php");');
        self::assertFileDoesNotExist($this->site->site->content('object-cache.php'));
        (new Process(['rm', '-r', $directory]))->mustRun();

        $this->asRoot($load . '$done = activate_plugin("larder/larder.php"); is_wp_error($done) && throw new RuntimeException($done->get_error_message());');

        self::assertFileExists($this->site->site->content('object-cache.php'));
        self::assertTrue($this->site->web('return $GLOBALS["wp_object_cache"]->larder() !== null;'));
        self::assertSame($directory, $this->directory());
        $this->assertNothingIsRoots($directory);
    }

    /** As `wp plugin install` does where the web may not write. */
    public function testRootIsRootInAllElse(): void
    {
        $plugins = $this->site->site->content('roots');
        \mkdir($plugins, 0o755);
        $this->asRoot(<<<'PHP'
            $write = static fn(string $name): bool => mkdir(WP_CONTENT_DIR . "/roots/$name", 0700) && file_put_contents(WP_CONTENT_DIR . "/roots/$name/file", $name) > 0;
            $write('first') || exit(1);
            get_option('larder_whose');
            update_option('larder_whose', 'root, who installs');
            wp_cache_set('k', ['of' => 'root'], 'plugin');
            wp_cache_get_multiple(['k', 'l'], 'plugin');
            wp_cache_incr('n', 1, 'plugin');
            $wpdb->query('BEGIN');
            update_option('larder_whose', 'root, who has installed');
            $wpdb->query('COMMIT');
            $write('second') || exit(1);
            [posix_geteuid(), posix_getegid()] === [0, 0] || exit(1);
            // What plugins write when all is done.
            add_action('shutdown', static fn() => $write('third') || exit(1));
            register_shutdown_function(static function () use ($write): void {
                wp_cache_set('last', 'of all', 'plugin');
                $write('fourth') || exit(1);
            });
            $wpdb->query('SELECT 1');
            wp_cache_add('filled', 1, 'posts');
            // A transaction that is left open is ended behind all that.
            register_shutdown_function(static function () use ($wpdb): void {
                $wpdb->query('BEGIN');
                wp_cache_set('k', 'never', 'plugin');
            });
            PHP);
        foreach (['first', 'second', 'third', 'fourth'] as $name) {
            self::assertSame(0, \fileowner("$plugins/$name/file"), $name);
        }
        self::assertSame(['root, who has installed', false, 'of all', 1], $this->site->web('return [get_option("larder_whose"), wp_cache_get("k", "plugin"), wp_cache_get("last", "plugin"), wp_cache_get("filled", "posts")];'));
        $this->assertNothingIsRoots($this->directory());
    }

    /** Not even where all that the cache has is made by root. */
    public function testRootMakesNothingOfItsOwnWhereThereWasNothing(): void
    {
        $directory = $this->directory();
        (new Process(['rm', '-r', $directory]))->mustRun();
        $this->asRoot('update_option("larder_whose", "root alone"); wp_cache_set("k", 1, "plugin"); do_action("wp_site_health_scheduled_check"); wp_cache_flush(); wp_cache_add("k", 1, "posts");'
            . '$wpdb->suppress_errors(); $wpdb->query("UPDATE wp_own SET n = 1"); (new ReflectionProperty(Larder\WordPress\ObjectCache::class, "due"))->setValue($GLOBALS["wp_object_cache"], 0); $wpdb->query("SELECT 1");');
        $this->assertNothingIsRoots($directory);
        self::assertSame($directory, $this->directory());
        self::assertSame('root alone', $this->site->web('return get_option("larder_whose");'));
        foreach (\glob("/var/tmp/larder-{$this->site->name()}-*") ?: [] as $file) {
            self::assertNotSame(0, \fileowner($file), $file);
        }
    }

    /** A request of root's without the cache leaves marks that the web can write too. */
    public function testRootsMarksAreNotRootsAlone(): void
    {
        $this->asRoot('echo 1;', 'putenv("LARDER_DISABLED=1");');
        $mark = $this->site->site->content('.larder-away');
        self::assertSame($this->site->site->account->user, \fileowner($mark));
    }

    /** @param list<string> $words */
    #[TestWith([['larder', 'flush']])]
    #[TestWith([['larder', 'status']])]
    #[TestWith([['larder', 'stats']])]
    #[TestWith([['larder', 'why', 'options', 'alloptions']])]
    #[TestWith([['option', 'update', 'larder_whose', 'somebody']])]
    public function testAnybodyElseIsToldWhatToType(array $words): void
    {
        $result = $this->site->wpAs(self::OTHER, ...$words);

        self::assertSame(1, $result->status, $result->output . $result->errors);
        self::assertStringContainsString('sudo -u ' . $this->site->site->account->name . ' ', $result->output . $result->errors);
        self::assertStringContainsString(' ' . \implode(' ', $words), $result->output . $result->errors);
        self::assertSame(
            ['the web', [['option_value' => 'the web']]],
            [$this->site->web('return get_option("larder_whose");'), $this->site->site->sql("SELECT option_value FROM wp_options WHERE option_name = 'larder_whose'")],
            'Nothing was changed behind the cache of the web.',
        );
    }

    private function asRoot(string $code, string $before = ''): void
    {
        $url = $this->site->site->url();
        (new CommandLine(Account::own(), $this->site->site->root))->run($code, (string) \parse_url($url, \PHP_URL_HOST) . ':' . \parse_url($url, \PHP_URL_PORT), before: $before);
    }

    private function directory(): string
    {
        return $this->site->wp('larder', 'status', '--format=json')->json()['directory'];
    }

    private function assertNothingIsRoots(string $directory): void
    {
        $files = \iterator_to_array(new \RecursiveIteratorIterator(
            new \RecursiveDirectoryIterator($directory, \FilesystemIterator::SKIP_DOTS),
            \RecursiveIteratorIterator::SELF_FIRST,
        ));
        self::assertNotSame([], $files);
        foreach ([$directory => new \SplFileInfo($directory)] + $files as $path => $file) {
            self::assertInstanceOf(\SplFileInfo::class, $file);
            self::assertSame($this->site->site->account->user, $file->getOwner(), (string) $path);
        }
    }
}
