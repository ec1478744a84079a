<?php

declare(strict_types=1);

namespace Larder\Tests\System;

use Larder\System\Failure;
use Larder\System\Ownership;
use Larder\System\PrivateDirectory;
use Larder\System\UnsafeDirectory;
use Larder\System\WrongUser;
use Larder\Tests\Config\Child;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

#[CoversClass(PrivateDirectory::class)]
#[CoversClass(WrongUser::class)]
final class PrivateDirectoryTest extends TestCase
{
    /** A user who is not root: www-data on Debian. */
    private const OTHER = 33;

    private string $root;

    protected function setUp(): void
    {
        $this->root = \sys_get_temp_dir() . '/larder-directory-' . \bin2hex(\random_bytes(6));
        \mkdir($this->root, 0o755);
        \chmod($this->root, 0o755);
        // Whoever is told of a warning, also a suppressed one, must hear none.
        \set_error_handler(static function (int $level, string $message): never {
            throw new \ErrorException($message, 0, $level);
        });
    }

    protected function tearDown(): void
    {
        \restore_error_handler();
        Child::run(['rm', '-rf', $this->root]);
    }

    private function needRoot(): void
    {
        if (\posix_geteuid() !== 0) {
            self::markTestSkipped('only root can be two users');
        }
    }

    private static function mode(string $path): string
    {
        \clearstatcache();

        return \sprintf('%04o', (int) \fileperms($path) & 0o7777);
    }

    public function testMakesAPrivateDirectoryWithWhatIsAbove(): void
    {
        $path = $this->root . '/a/b';
        $umask = \umask(0);
        PrivateDirectory::prepare($path);
        \umask($umask);

        self::assertSame('0700', self::mode($path));
        self::assertSame('0700', self::mode(\dirname($path)));
        self::assertSame('0600', self::mode($path . '/larder-directory.txt'));
        self::assertStringContainsString('Do not empty it', (string) \file_get_contents($path . '/larder-directory.txt'));
        // By which programs that make room would know it as a cache.
        self::assertFileDoesNotExist($path . '/CACHEDIR.TAG');
        PrivateDirectory::prepare($path);
    }

    /** Seen to fail: it was made with mode 0600, and the cache stayed off for good. */
    #[TestWith([0o177])]
    #[TestWith([0o277])]
    #[TestWith([0o777])]
    public function testAUmaskThatTakesTheOwnersRightsAwayTakesNone(int $mask): void
    {
        $before = \umask($mask);
        try {
            PrivateDirectory::prepare($this->root . '/a/b');
        } finally {
            \umask($before);
        }
        self::assertSame(['0700', '0700', '0600'], [self::mode($this->root . '/a'), self::mode($this->root . '/a/b'), self::mode($this->root . '/a/b/' . PrivateDirectory::MARK)]);
    }

    public function testMendsAnEmptyOneAndItsOwn(): void
    {
        $path = $this->root . '/empty';
        \mkdir($path, 0o755);
        \chmod($path, 0o777);
        PrivateDirectory::prepare($path);
        self::assertSame('0700', self::mode($path));

        \file_put_contents($path . '/something', '');
        \chmod($path, 0o750);
        PrivateDirectory::prepare($path);
        self::assertSame('0700', self::mode($path), 'marked, so it is its own');
    }

    /** Both walk the same list, so one of them comes upon what the other makes at that moment. */
    public function testTwoProcessesMayMakeItAtTheSameMoment(): void
    {
        $code = 'echo "ready\n"; fgets(STDIN);'
            . 'for ($i = 0; $i < 3000; $i++) { ' . PrivateDirectory::class . '::prepare("$argv[1]/$i"); }'
            . 'echo "made\n";';
        $one = Process::snippet($code, [$this->root]);
        $two = Process::snippet($code, [$this->root]);
        foreach ([$one, $two] as $process) {
            $process->expect('ready', 30);
        }
        foreach ([$one, $two] as $process) {
            $process->write("go\n");
        }
        foreach ([$one, $two] as $process) {
            self::assertSame('made', $process->line(30.0), $process->errors());
        }
    }

    public function testLeavesOtherPeoplesFilesAlone(): void
    {
        $path = $this->root . '/site';
        \mkdir($path, 0o755);
        \file_put_contents($path . '/index.html', '');
        try {
            PrivateDirectory::prepare($path);
            self::fail('accepted');
        } catch (UnsafeDirectory $e) {
            self::assertStringContainsString($path . '/larder', $e->getMessage());
            self::assertStringContainsString('chmod 700', $e->getMessage());
        }
        self::assertSame('0755', self::mode($path));

        \file_put_contents($path . '/larder-directory.txt', 'of another program');
        $this->expectException(UnsafeDirectory::class);
        PrivateDirectory::prepare($path);
    }

    /** A mark is believed that nobody else can have put there. */
    #[TestWith(['foreign'])]
    #[TestWith(['link'])]
    #[TestWith(['second name'])]
    #[TestWith(['writable'])]
    public function testAMarkThatSomebodyElseMayHaveMadeIsNone(string $kind): void
    {
        $kind === 'foreign' && $this->needRoot();
        $path = $this->root . '/planted';
        PrivateDirectory::prepare($this->root . '/model');
        $mark = $this->root . '/model/larder-directory.txt';
        \mkdir($path, 0o700);
        \chmod($path, 0o777);
        \file_put_contents($path . '/larder.db', 'planted');
        match ($kind) {
            'foreign' => \copy($mark, $path . '/larder-directory.txt') && \chown($path . '/larder-directory.txt', self::OTHER),
            'link' => \symlink($mark, $path . '/larder-directory.txt'),
            'second name' => \link($mark, $path . '/larder-directory.txt'),
            default => \copy($mark, $path . '/larder-directory.txt') && \chmod($path . '/larder-directory.txt', 0o666),
        };
        try {
            PrivateDirectory::prepare($path);
            self::fail('believed');
        } catch (UnsafeDirectory $e) {
            self::assertStringContainsString('can be entered by others', $e->getMessage());
        }
        self::assertSame('planted', \file_get_contents($path . '/larder.db'));
    }

    public function testWhereOthersCouldWriteTheCacheStartsCold(): void
    {
        $path = $this->root . '/open';
        PrivateDirectory::prepare($path);
        \file_put_contents($this->root . '/precious', 'precious');
        foreach (['larder.db', 'larder.db-wal', 'larder.lock', 'bell.abc', 'lock', 'log.0123456789abcdef.0', 'near-12345678.lock'] as $name) {
            \file_put_contents("$path/$name", 'x');
        }
        \symlink($this->root . '/precious', $path . '/said');
        \file_put_contents($path . '/kept-12345678', 'x');
        \file_put_contents($path . '/.htaccess', 'x');
        \chmod($path, 0o777);
        PrivateDirectory::prepare($path);
        self::assertSame('0700', self::mode($path));
        self::assertSame(['.htaccess', 'kept-12345678', 'larder-directory.txt'], \array_values(\array_diff(\scandir($path) ?: [], ['.', '..'])));
        self::assertSame('precious', \file_get_contents($this->root . '/precious'));
    }

    /** @return iterable<string, array{int, bool, bool}> mode and owner of what is above; whether it will do */
    public static function parents(): iterable
    {
        yield 'closed' => [0o755, false, true];
        yield 'of a group' => [0o775, false, true];
        yield 'of everybody' => [0o777, false, false];
        yield 'of everybody, sticky' => [0o1777, false, true];
        yield 'of everybody, sticky, of somebody else' => [0o1777, true, false];
    }

    #[DataProvider('parents')]
    public function testOneThatOthersCanExchangeIsNotPrivate(int $mode, bool $foreign, bool $isFine): void
    {
        $foreign && $this->needRoot();
        $above = $this->root . '/above';
        \mkdir($above . '/there', 0o700, true);
        \chmod($above, $mode);
        $foreign && \chown($above, self::OTHER);
        foreach (['there', 'new', 'further/down'] as $name) {
            try {
                PrivateDirectory::prepare("$above/$name");
                self::assertTrue($isFine, $name);
            } catch (UnsafeDirectory $e) {
                self::assertFalse($isFine, $name . ': ' . $e->getMessage());
                self::assertStringContainsString('chmod o-w ', $e->getMessage());
            }
        }
    }

    /** Seen to fail: the first call refused it, and left behind what all later ones accepted. */
    public function testARefusedOneLeavesNothingBehindAndIsRefusedAgain(): void
    {
        $open = $this->root . '/open';
        \mkdir($open . '/sub', 0o755, true);
        \chmod($open, 0o777);
        \symlink($open . '/sub', $this->root . '/link');
        foreach ([$open . '/sub/new', $this->root . '/link/new', $open . '/new', $open . '/sub/a/b/c'] as $path) {
            for ($time = 1; $time <= 2; $time++) {
                self::assertSame("lies below $open", $this->refusal($path), "$path, time $time");
                self::assertSame(['.', '..'], \scandir($open . '/sub'));
            }
        }
        self::assertSame(['.', '..', 'sub'], \scandir($open));
    }

    /** Seen to fail: only the directory just above it was looked at. */
    public function testOneThatIsThereAlreadyIsRefusedToo(): void
    {
        $open = $this->root . '/open';
        \mkdir($open . '/sub/there/deep', 0o700, true);
        \chmod($open . '/sub', 0o755);
        \symlink($open . '/sub', $this->root . '/link');
        PrivateDirectory::prepare($open . '/sub/there/deep');
        \chmod($open, 0o777);
        foreach ([$open . '/sub/there', $open . '/sub/there/deep', $this->root . '/link/there'] as $path) {
            self::assertSame("lies below $open", $this->refusal($path), $path);
        }
    }

    private function refusal(string $path): string
    {
        try {
            PrivateDirectory::prepare($path);
        } catch (UnsafeDirectory $e) {
            return \preg_match('~lies below [^,]+~', $e->getMessage(), $found) === 1 ? $found[0] : $e->getMessage();
        }

        return 'accepted';
    }

    public function testRefusesASymbolicLinkAndAFile(): void
    {
        \mkdir($this->root . '/real', 0o700);
        \symlink($this->root . '/real', $this->root . '/link');
        \symlink($this->root . '/gone', $this->root . '/dangling');
        \file_put_contents($this->root . '/file', '');

        foreach (['link' => 'leads to: ' . $this->root . '/real', 'dangling' => 'remove the link', 'file' => 'is a file'] as $name => $says) {
            try {
                PrivateDirectory::prepare($this->root . '/' . $name);
                self::fail('accepted: ' . $name);
            } catch (UnsafeDirectory $e) {
                self::assertStringContainsString($says, $e->getMessage());
            }
        }
        self::assertFileDoesNotExist($this->root . '/gone');
    }

    public function testOneThatCannotBeMadeIsAFailedPart(): void
    {
        $this->expectException(Failure::class);
        $this->expectExceptionMessage('cannot be created');

        PrivateDirectory::prepare('/proc/larder/cache');
    }

    public function testAnotherUserIsRefusedWithTheCommandToType(): void
    {
        $this->needRoot();
        $path = $this->root . '/roots';
        PrivateDirectory::prepare($path);
        $refusal = 'catch (Larder\System\WrongUser $e) { echo get_class($e), "|", $e->owner, "|", $e->command; }';

        $child = Child::php('try { Larder\System\PrivateDirectory::prepare("' . $path . '"); echo "accepted"; } ' . $refusal, self::OTHER);
        self::assertStringStartsWith(WrongUser::class . '|root|sudo -u root', $child->output . $child->errors);

        // What lies inside cannot even be looked at: that is the same refusal, and not a directory that cannot be made.
        $child = Child::php('try { Larder\System\PrivateDirectory::prepare("' . $path . '/prefix-shop"); echo "accepted"; } ' . $refusal, self::OTHER);
        self::assertStringStartsWith(WrongUser::class . '|root|sudo -u root', $child->output . $child->errors);
        self::assertSame('', $child->errors);
    }

    public function testTheCommandToTypeHasNoPassword(): void
    {
        $this->needRoot();
        $path = $this->root . '/roots';
        PrivateDirectory::prepare($path);
        $code = 'foreach (["--dsn=sqlite://' . $path . '?far=redis://user:hunter2@h", "-dredis%3A%2F%2F%3Ahunter2%40h"] as $word) {'
            . '$_SERVER["argv"] = ["larder", "get", $word]; try { Larder\System\PrivateDirectory::prepare("' . $path . '"); }'
            . 'catch (Larder\System\WrongUser $e) { echo $e->getMessage(), $e->command; } }';
        $child = Child::php($code, self::OTHER);
        self::assertStringContainsString('sudo -u root', $child->output . $child->errors);
        self::assertStringNotContainsString('hunter2', $child->output . $child->errors);
    }

    public function testRootIsRefusedInAnothersDirectoryUntilItBecomesThatUser(): void
    {
        $this->needRoot();
        $path = $this->root . '/others';
        \mkdir($path, 0o700);
        \chown($path, self::OTHER);
        \chgrp($path, self::OTHER);
        self::assertSame(self::OTHER, PrivateDirectory::owner($path));
        self::assertSame(self::OTHER, PrivateDirectory::owner($path . '/not/yet'));

        $code = 'class_exists(Larder\System\Failure::class); class_exists(Larder\System\WrongUser::class);'
            . 'try { Larder\System\PrivateDirectory::prepare("' . $path . '"); echo "accepted"; } catch (Larder\System\WrongUser $e) { echo "refused|"; }'
            . 'var_dump(Larder\System\PrivateDirectory::become("' . $path . '/not/yet"));'
            . 'Larder\System\PrivateDirectory::prepare("' . $path . '/not/yet");'
            . 'echo posix_geteuid(), "|", posix_getegid(), "|", implode(",", posix_getgroups()), "|", fileowner("' . $path . '/not/yet");'
            . 'echo @posix_setuid(0) ? "|came back" : "|for good";';
        $child = Child::php($code, becomes: true);
        self::assertSame("refused|bool(true)\n33|33|33|33|for good", $child->output . $child->errors);
    }

    public function testRootBecomesAlsoAUserWhomTheSystemDoesNotKnow(): void
    {
        $this->needRoot();
        $path = $this->root . '/unknown';
        \mkdir($path, 0o700);
        \chown($path, 54321);
        \chgrp($path, 54322);
        $child = Child::php('Larder\System\PrivateDirectory::become("' . $path . '"); Larder\System\PrivateDirectory::prepare("' . $path . '");'
            . 'echo posix_geteuid(), "|", posix_getegid();', becomes: true);

        self::assertSame('54321|54322', $child->output . $child->errors);
    }

    /** PHP loads classes late, and would find none after the change. */
    public function testRootStaysRootWhereTheOwnerCannotReadTheLibrary(): void
    {
        $this->needRoot();
        $path = $this->root . '/others';
        \mkdir($path, 0o700);
        \chown($path, self::OTHER);
        $closed = new TemporaryDirectory();
        self::assertSame(0, Child::run(['cp', '-r', \dirname(__DIR__, 2) . '/src', $closed->path])->status);
        $child = Child::php('spl_autoload_register(static fn(string $class) => require strtr($class, ["Larder" => "' . $closed->path . '/src", "\\\\" => "/"]) . ".php", prepend: true);'
            . 'try { Larder\System\PrivateDirectory::become("' . $path . '"); } catch (Larder\System\WrongUser $e) { echo posix_geteuid(), " ", $e->getMessage(); }');
        self::assertStringStartsWith('0 The cache directory "' . $path . '" belongs to www-data, who cannot read Larder\'s own files', $child->output . $child->errors);
        self::assertStringEndsWith('type: chmod a+x ' . $closed->path, $child->output);
    }

    public function testRootStaysRootInItsOwnDirectory(): void
    {
        $this->needRoot();

        self::assertFalse(PrivateDirectory::become($this->root));
        self::assertSame(0, \posix_geteuid());
    }

    public function testTheDefaultIsTheUsersAndDoesNotAskTheEnvironment(): void
    {
        $code = 'echo Larder\Config\Directory::default();';
        $here = Child::php($code, null, ['-d', 'larder.state='])->output;
        $elsewhere = Child::run(
            [\PHP_BINARY, '-d', 'larder.state=', '-r', 'require "' . \dirname(__DIR__, 2) . '/vendor/autoload.php"; ' . $code],
            ['HOME' => '/nonexistent', 'XDG_CACHE_HOME' => '/tmp/x', 'TMPDIR' => $this->root],
        )->output;

        self::assertSame($here, $elsewhere);
        self::assertStringStartsWith('/', $here);
    }

    public function testAUserWithoutAHomeHasADirectoryByNumber(): void
    {
        $this->needRoot();
        $child = Child::php('echo Larder\Config\Directory::default();', 65534, ['-d', 'larder.state=']);

        self::assertSame('/var/tmp/larder-65534', $child->output . $child->errors);
    }

    public function testUnderOpenBasedirNothingWarns(): void
    {
        $base = \dirname(__DIR__, 2) . ':' . $this->root;
        $code = 'set_error_handler(static function (int $l, string $m): never { fwrite(STDERR, "WARNED: " . $m); exit(9); });'
            . 'Larder\Config\Directory::default(); Larder\System\PrivateDirectory::prepare("' . $this->root . '/in");'
            . 'try { Larder\System\PrivateDirectory::prepare("/var/larder-out"); echo "accepted"; }'
            . 'catch (Larder\System\Failure $e) { echo $e->getMessage(); }';
        $child = Child::php($code, options: ['-d', 'open_basedir=' . $base]);

        self::assertSame(0, $child->status, $child->errors);
        self::assertStringContainsString('open_basedir is', $child->output);
        self::assertDirectoryExists($this->root . '/in');
    }

    public function testNamesUsers(): void
    {
        self::assertSame('root', Ownership::name(0));
        self::assertSame('#999999', Ownership::name(999999));
    }
}
