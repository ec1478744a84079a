<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\Service\Account;
use Larder\Lab\WordPress\CommandLine;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Process\Process;

/** The cache belongs to the web server's user. Root works as that one; anybody else is told what to type. */
#[Group('wordpress')]
final class CliUserTest extends TestCase
{
    private const OTHER = ['setpriv', '--reuid', 'games', '--regid', 'games', '--clear-groups', '--pdeathsig', 'KILL', '--'];

    private static ?CliSite $site = null;

    public static function tearDownAfterClass(): void
    {
        self::$site?->site->stop();
        self::$site = null;
    }

    protected function setUp(): void
    {
        if (\posix_geteuid() !== 0) {
            self::markTestSkipped('Only root can be somebody else.');
        }
        self::$site ??= new CliSite();
        // As on servers where people have accounts of their own.
        \chmod(self::$site->site->root . '/wp-config.php', 0o644);
        self::$site->web('return update_option("larder_whose", "the web");');
    }

    public function testRootWorksAsTheOwnerAndLeavesNothingOfItsOwn(): void
    {
        $site = $this->site();
        $status = $this->document($site->wpAsRoot('larder', 'status', '--format=json')->json());
        self::assertTrue($status['works']);
        self::assertSame($site->site->account->name, $status['user']);

        $site->wpAsRoot('option', 'update', 'larder_whose', 'root')->printed();
        $site->wpAsRoot('larder', 'flush')->printed();
        $site->wpAsRoot('larder', 'bench', '--rounds=3', '--count=5')->printed();

        self::assertSame('root', $site->web('return get_option("larder_whose");'));
        $this->assertNothingIsRoots($this->directory());
    }

    public function testRootEnablesItForTheOwner(): void
    {
        $site = $this->site();
        $site->wpAsRoot('larder', 'disable')->printed();
        self::assertFileDoesNotExist($site->site->content('object-cache.php'));
        $findings = $this->document($site->wpAsRoot('larder', 'doctor', '--format=json')->json());
        self::assertSame($site->site->account->name . ', who owns the cache', $this->document($findings[0])['text']);
        $site->wpAsRoot('larder', 'enable')->printed();

        self::assertSame($site->site->account->user, \fileowner($site->site->content('object-cache.php')));
        self::assertTrue($site->web('return $GLOBALS["wp_object_cache"]->larder() !== null;'));
        $site->wp('larder', 'disable')->printed();
        self::assertFalse($site->web('return wp_using_ext_object_cache() === true;'));
        $site->wp('larder', 'enable')->printed();
    }

    /** As by `wp plugin activate`, which is not in the framework. */
    public function testRootActivatesThePluginForTheOwner(): void
    {
        $site = $this->site();
        $directory = $this->directory();
        $load = 'require_once ABSPATH . "wp-admin/includes/plugin.php";';
        $site->site->cli($load . 'deactivate_plugins("larder/larder.php");');
        self::assertFileDoesNotExist($site->site->content('object-cache.php'));
        (new Process(['rm', '-r', $directory]))->mustRun();

        (new CommandLine(Account::own(), $site->site->root))->run(
            $load . '$done = activate_plugin("larder/larder.php"); is_wp_error($done) && throw new RuntimeException($done->get_error_message());',
            (string) \parse_url($site->site->url(), \PHP_URL_HOST) . ':' . \parse_url($site->site->url(), \PHP_URL_PORT),
        );

        self::assertFileExists($site->site->content('object-cache.php'));
        self::assertTrue($site->web('return $GLOBALS["wp_object_cache"]->larder() !== null;'));
        self::assertSame($directory, $this->directory());
        $this->assertNothingIsRoots($directory);
    }

    /** As `wp plugin install` does where the web may not write. */
    public function testRootIsRootInAllElse(): void
    {
        $site = $this->site();
        $plugins = $site->site->content('roots');
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
        self::assertSame(['root, who has installed', false, 'of all', 1], $site->web('return [get_option("larder_whose"), wp_cache_get("k", "plugin"), wp_cache_get("last", "plugin"), wp_cache_get("filled", "posts")];'));
        $this->assertNothingIsRoots($this->directory());
    }

    /** Not even where all that the cache has is made by root. */
    public function testRootMakesNothingOfItsOwnWhereThereWasNothing(): void
    {
        $directory = $this->directory();
        (new Process(['rm', '-r', $directory]))->mustRun();
        $this->asRoot('update_option("larder_whose", "root alone"); wp_cache_set("k", 1, "plugin"); do_action("wp_site_health_scheduled_check"); wp_cache_flush(); wp_cache_add("k", 1, "posts");'
            . '$wpdb->suppress_errors(); $wpdb->query("UPDATE wp_own SET n = 1"); usleep(1_100_000); $wpdb->query("SELECT 1");');
        $this->assertNothingIsRoots($directory);
        self::assertSame($directory, $this->directory());
        self::assertSame('root alone', $this->site()->web('return get_option("larder_whose");'));
        $name = $this->site()->web('return Larder\WordPress\Presence::name();');
        self::assertIsString($name);
        foreach (\glob("/var/tmp/larder-$name-*") ?: [] as $file) {
            self::assertNotSame(0, \fileowner($file), $file);
        }
    }

    /** A request of root's without the cache leaves marks that the web can write too. */
    public function testRootsMarksAreNotRootsAlone(): void
    {
        $this->asRoot('echo 1;', 'putenv("LARDER_DISABLED=1");');
        $mark = $this->site()->site->content('.larder-away');
        self::assertSame($this->site()->site->account->user, \fileowner($mark));
    }

    /** @param list<string> $words */
    #[TestWith([['larder', 'flush']])]
    #[TestWith([['larder', 'status']])]
    #[TestWith([['larder', 'stats']])]
    #[TestWith([['larder', 'why', 'options', 'alloptions']])]
    #[TestWith([['option', 'update', 'larder_whose', 'somebody']])]
    public function testAnybodyElseIsToldWhatToType(array $words): void
    {
        $site = $this->site();
        $result = $site->wpAs(self::OTHER, ...$words);

        self::assertSame(1, $result->status, $result->output . $result->errors);
        self::assertStringContainsString('sudo -u ' . $site->site->account->name . ' ', $result->output . $result->errors);
        self::assertStringContainsString(' ' . \implode(' ', $words), $result->output . $result->errors);
        self::assertSame(
            ['the web', [['option_value' => 'the web']]],
            [$site->web('return get_option("larder_whose");'), $site->site->sql("SELECT option_value FROM wp_options WHERE option_name = 'larder_whose'")],
            'Nothing was changed behind the cache of the web.',
        );
    }

    private function asRoot(string $code, string $before = ''): void
    {
        $url = $this->site()->site->url();
        (new CommandLine(Account::own(), $this->site()->site->root))->run($code, (string) \parse_url($url, \PHP_URL_HOST) . ':' . \parse_url($url, \PHP_URL_PORT), before: $before);
    }

    /** @return array<array-key, mixed> */
    private function document(mixed $document): array
    {
        self::assertIsArray($document);

        return $document;
    }

    private function directory(): string
    {
        $directory = $this->document($this->site()->wp('larder', 'status', '--format=json')->json())['directory'];
        self::assertIsString($directory);

        return $directory;
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
            self::assertSame($this->site()->site->account->user, $file->getOwner(), (string) $path);
        }
    }

    private function site(): CliSite
    {
        return self::$site ?? throw new \LogicException('There is no site.');
    }
}
