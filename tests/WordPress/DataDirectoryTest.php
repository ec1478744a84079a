<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\TemporaryDirectory;
use Larder\WordPress\DataDirectory;
use PHPUnit\Framework\TestCase;

/** As WordPress lies on servers: DIR/site/ is ABSPATH, DIR/site/wp-content its content; what is beside it is in DIR. */
final class DataDirectoryTest extends TestCase
{
    private const SECRET = 'salts of the site';

    /** By another process: ABSPATH, content, document root. */
    private const FIND = <<<'PHP'
        set_error_handler(function (int $level, string $message) { echo "error handler: $message\n"; });
        echo Larder\WordPress\DataDirectory::find($argv[1], $argv[2], $argv[3] ?: null, 'salts of the site'), "\n";
        PHP;

    private TemporaryDirectory $directory;
    private string $site;
    private string $content;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
        $this->site = $this->directory->file('site/');
        $this->content = $this->site . 'wp-content';
        \mkdir($this->content, 0o755, true);
    }

    public function testBesideWordPressWhereNothingIsServed(): void
    {
        $found = $this->find($this->site);
        self::assertSame($this->directory->path, \dirname($found));
        self::assertMatchesRegularExpression(DataDirectory::NAME, $found);
        $this->assertIsGuarded($found);
        self::assertSame($found, $this->find($this->site), 'The same the next time,');
        self::assertSame($found, $this->find(null), 'and by a command, which knows of no document root.');
        self::assertSame([], \array_diff(\scandir($this->content) ?: [], ['.', '..']));
    }

    public function testInWpContentWhereNothingIsKnownOfTheWebServer(): void
    {
        foreach ([null, ''] as $root) {
            $found = $this->find($root);
            self::assertSame($this->content, \dirname($found));
            $this->assertIsGuarded($found);
        }
        self::assertSame($found, $this->find($this->site), 'Web and command line agree.');
    }

    public function testInWpContentWhereWordPressLiesInASubdirectoryOfTheDocumentRoot(): void
    {
        self::assertSame($this->content, \dirname($this->find($this->directory->path)));
    }

    public function testInWpContentWhereWhatIsBesideLooksServed(): void
    {
        // As for an additional domain, whose directory lies in the main one's.
        $this->directory->write('index.php', '');
        self::assertSame($this->content, \dirname($this->find($this->site)));
    }

    public function testTheDocumentRootMayBeALink(): void
    {
        \symlink($this->directory->path, $this->directory->path . '-link');
        try {
            self::assertSame($this->content, \dirname($this->find($this->directory->path . '-link/')));
        } finally {
            \unlink($this->directory->path . '-link');
        }
    }

    public function testAllLinksThatLeadToWordPressLeadToOneDirectory(): void
    {
        \symlink($this->directory->file('site'), $this->directory->file('link'));
        $found = $this->find($this->site);
        self::assertSame($found, DataDirectory::find($this->directory->file('link/'), $this->directory->file('link/wp-content'), null, self::SECRET));
    }

    public function testWpContentMayBeALink(): void
    {
        \mkdir($this->directory->file('shared'));
        \rmdir($this->content);
        \symlink($this->directory->file('shared'), $this->content);
        $found = $this->find(null);
        self::assertSame($this->content, \dirname($found));
        $this->assertIsGuarded($found);
        self::assertDirectoryExists($this->directory->file('shared/' . \basename($found)));
        // Another site with the same wp-content.
        \mkdir($this->directory->file('other'));
        \symlink($this->directory->file('shared'), $this->directory->file('other/wp-content'));
        $other = DataDirectory::find($this->directory->file('other/'), $this->directory->file('other/wp-content'), null, self::SECRET);
        self::assertNotSame(\basename($found), \basename($other));
    }

    public function testTheNameIsTheSecrets(): void
    {
        self::assertNotSame($this->find(null), DataDirectory::find($this->site, $this->content, null, 'another'));
    }

    public function testWhereBothAreThereTheOneInWpContentIsTheOne(): void
    {
        $beside = $this->find($this->site);
        [$inside, $places] = DataDirectory::places($this->site, $this->content, self::SECRET);
        self::assertSame($beside, $places);
        \mkdir($inside, 0o700);
        self::assertSame($inside, $this->find($this->site));
        self::assertSame($inside, $this->find(null));
    }

    public function testWhereOnlyWordPressMayBeLookedAtItLiesThere(): void
    {
        $open = ['open_basedir' => $this->site . ':' . BuiltPlugin::path()];
        $found = BuiltPlugin::run(self::FIND, [$this->site, $this->content, $this->site], $open);
        self::assertSame([$this->content], [\dirname($found[0])], \implode("\n", $found));
        self::assertCount(1, $found, 'Nothing is said.');
        $this->assertIsGuarded($found[0]);
        self::assertSame($found[0], $this->find($this->site), 'Who may look further takes the same.');
    }

    public function testWhereBothAreForbiddenThereIsNone(): void
    {
        $found = BuiltPlugin::run(self::FIND, [$this->site, $this->content, $this->site], ['open_basedir' => BuiltPlugin::path()]);
        self::assertSame([''], $found);
    }

    public function testAReadOnlyParent(): void
    {
        $nobody = self::nobody();
        \chmod($this->directory->path, 0o755);
        \chown($this->content, $nobody);
        $find = fn(): array => BuiltPlugin::run(self::FIND, [$this->site, $this->content, $this->site], user: $nobody);
        $found = $find();
        self::assertSame($this->content, \dirname($found[0]));
        self::assertSame($found, $find());
        $this->assertIsGuarded($found[0], $nobody);

        DataDirectory::remove($found[0]);
        \chmod($this->content, 0o555);
        self::assertSame([''], $find(), 'Where neither can be written there is none, and nothing is said.');
        self::assertSame(['.', '..'], \scandir($this->content));
    }

    public function testACommandOfAnotherUserTakesNothingFromTheWeb(): void
    {
        $nobody = self::nobody();
        \chmod($this->directory->path, 0o1777);
        \chmod($this->content, 0o1777);
        // The web's user has uploaded something.
        \mkdir($this->content . '/uploads');
        \chown($this->content . '/uploads', 33);
        $find = fn(int $user): array => BuiltPlugin::run(self::FIND, [$this->site, $this->content, ''], user: $user);
        self::assertSame([''], $find($nobody), 'It makes none,');
        $found = $find(33);
        $this->assertIsGuarded($found[0], 33);
        self::assertSame($found, $find($nobody), 'and finds the web\'s, which will tell it whose it is.');
    }

    public function testRootMakesItForTheWebsUser(): void
    {
        self::nobody();
        \mkdir($this->content . '/uploads');
        \chown($this->content . '/uploads', 33);
        $this->assertIsGuarded($this->find(null), 33);
    }

    public function testTheWebTakesWhatTheCommandLineMade(): void
    {
        if (!FpmServer::isAvailable()) {
            self::markTestSkipped('No php-fpm of this PHP version: bin/setup installs it.');
        }
        $fpm = new FpmServer(1);
        $script = $fpm->script('find.php', \sprintf(
            'echo Larder\WordPress\DataDirectory::find(%s, %s, $_SERVER["DOCUMENT_ROOT"], %s);',
            \var_export($this->site, true),
            \var_export($this->content, true),
            \var_export(self::SECRET, true),
        ));
        $web = fn(): string => $fpm->connect()->request($script, parameters: ['DOCUMENT_ROOT' => $this->site])->body;
        $found = $web();
        self::assertSame($this->directory->path, \dirname($found));
        self::assertSame($found, $this->find(null));
        DataDirectory::remove($found);
        $found = $this->find(null);
        self::assertSame($this->content, \dirname($found));
        self::assertSame($found, $web());
    }

    public function testMadeByManyAtOnceItIsOne(): void
    {
        $children = [];
        for ($i = 0; $i < 8; $i++) {
            $pid = \pcntl_fork();
            if ($pid === 0) {
                // Half of them know of the document root, as web and command line.
                \file_put_contents($this->directory->file('found-' . $i), $this->find($i % 2 === 0 ? $this->site : null));
                \posix_kill(\posix_getpid(), \SIGKILL);
            }
            $children[] = $pid;
        }
        foreach ($children as $pid) {
            \pcntl_waitpid($pid, $status);
        }
        $now = $this->find(null);
        self::assertSame($now, $this->find($this->site));
        $this->assertIsGuarded($now);
        for ($i = 0; $i < 8; $i++) {
            $found = (string) \file_get_contents($this->directory->file('found-' . $i));
            self::assertSame(\basename($now), \basename($found));
        }
    }

    public function testWhatIsLeftHalfMadeIsNotKept(): void
    {
        // No room for the rules by which web servers refuse it.
        $code = 'posix_setrlimit(POSIX_RLIMIT_FSIZE, 1, 1); pcntl_signal(SIGXFSZ, SIG_IGN);' . self::FIND;
        self::assertSame([''], BuiltPlugin::run($code, [$this->site, $this->content, '']));
        self::assertSame(['.', '..'], \scandir($this->content));
    }

    public function testAFileInItsPlaceIsNoDirectory(): void
    {
        [$inside] = DataDirectory::places($this->site, $this->content, self::SECRET);
        \file_put_contents($inside, '');
        self::assertSame('', $this->find(null));
    }

    public function testNothingBehindALinkIsRemoved(): void
    {
        $found = $this->find(null);
        \mkdir($this->directory->file('elsewhere'));
        $file = $this->directory->write('elsewhere/file', 'x');
        \symlink($this->directory->file('elsewhere'), $found . '/link');
        \mkdir($found . '/prefix-a', 0o700);
        \file_put_contents($found . '/prefix-a/larder.db', 'x');
        self::assertTrue(DataDirectory::remove($found));
        self::assertDirectoryDoesNotExist($found);
        self::assertFileExists($file);
        self::assertTrue(DataDirectory::remove($found), 'It is not there.');
        \symlink($this->directory->file('elsewhere'), $found);
        self::assertFalse(DataDirectory::remove($found));
        self::assertFileExists($file);
    }

    private function find(?string $root): string
    {
        return DataDirectory::find($this->site, $this->content, $root, self::SECRET);
    }

    private function assertIsGuarded(string $directory, ?int $owner = null): void
    {
        \clearstatcache();
        self::assertDirectoryExists($directory);
        self::assertSame(0o700, \fileperms($directory) & 0o777);
        self::assertStringContainsString('Require all denied', (string) \file_get_contents($directory . '/.htaccess'));
        self::assertStringContainsString('Deny from all', (string) \file_get_contents($directory . '/.htaccess'));
        self::assertTrue((new \DOMDocument())->load($directory . '/web.config'));
        self::assertSame('', BuiltPlugin::run('require $argv[1];', [$directory . '/index.php'])[0]);
        foreach (\array_diff(\scandir($directory) ?: [], ['..']) as $name) {
            self::assertSame($owner ?? \posix_geteuid(), \fileowner($directory . '/' . $name), $name);
        }
    }

    /** Somebody else; only root can become that. */
    private static function nobody(): int
    {
        if (\posix_geteuid() !== 0) {
            self::markTestSkipped('Only root can work as another user.');
        }

        return 65534;
    }
}
