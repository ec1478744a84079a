<?php

declare(strict_types=1);

namespace Larder\Tests\Console;

use Larder\Cache;
use Larder\Tests\Config\Child;
use Larder\Tests\Support\Checkout;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/** The real bin/larder, as a process of its own. */
#[CoversNothing]
final class BinaryTest extends TestCase
{
    /** A user who is not root: www-data on Debian. */
    private const OTHER = 33;

    private TemporaryDirectory $root;
    private string $dsn;

    protected function setUp(): void
    {
        $this->root = new TemporaryDirectory();
        $this->dsn = 'sqlite://' . $this->root->path . '/cache';
    }

    private static function binary(): string
    {
        return \dirname(__DIR__, 2) . '/bin/larder';
    }

    /** @param list<string> $arguments */
    private function larder(array $arguments, string $input = '', ?string $dsn = null): Child
    {
        return Child::run([self::binary(), ...$arguments], ['LARDER_DSN' => $dsn ?? $this->dsn], $input);
    }

    /**
     * A copy of what bin/larder stands on that every user can read, as an installation is and a checkout need not be.
     *
     * @return string its bin/larder
     */
    private function installed(): string
    {
        if (\posix_geteuid() !== 0) {
            self::markTestSkipped('only root can be two users');
        }
        \chmod($this->root->path, 0o755);

        return Checkout::copy() . '/bin/larder';
    }

    public function testValuesGoToOutputAndTheRestToErrors(): void
    {
        $set = $this->larder(['set', 'picture'], "\x89PNG\n\0");
        self::assertSame([0, "stored\n"], [$set->status, $set->output], $set->errors);

        $get = $this->larder(['get', 'picture']);
        self::assertSame([0, "\x89PNG\n\0"], [$get->status, $get->output]);
        self::assertStringStartsWith('larder: ', $get->errors);
        self::assertStringContainsString('sqlite in ' . $this->root->path . '/cache, as ', $get->errors);
        self::assertSame("\x89PNG\n\0", Cache::open($this->dsn)->get('picture'));

        $quiet = $this->larder(['get', 'picture', '--quiet']);
        self::assertSame([0, '', ''], [$quiet->status, $quiet->output, $quiet->errors]);

        $json = $this->larder(['get', 'nothing', '--json']);
        self::assertSame(1, $json->status);
        self::assertSame(['key' => 'nothing', 'found' => false], \json_decode($json->output, true));
    }

    public function testADeleteIsSeenByALivingProcessAfterItsRefresh(): void
    {
        $cache = Cache::open($this->dsn);
        $cache->set('k', 'v');
        self::assertSame('v', $cache->get('k'));
        self::assertSame(0, $this->larder(['delete', 'k'])->status);

        $cache->refresh();
        self::assertNull($cache->get('k'));
    }

    public function testExitStatuses(): void
    {
        self::assertSame(0, $this->larder(['list'])->status);
        self::assertSame(1, $this->larder(['get', 'nothing'])->status);
        self::assertSame(2, $this->larder(['get'])->status);
        self::assertSame(2, $this->larder(['get', 'k', '--dsn=rediz://h'])->status);
        self::assertSame(2, $this->larder(['nonsense'])->status);
        // Seen to fail: without a terminal it asked a question, whose answer it took for a no.
        $misspelt = $this->larder(['gett', 'x']);
        self::assertSame([2, ''], [$misspelt->status, $misspelt->output]);
        self::assertStringNotContainsString('[no]', $misspelt->errors);
        self::assertStringContainsString('Did you mean', $misspelt->errors);
        self::assertSame(4, $this->larder(['get', 'k', '--dsn=memcached://' . $this->root->path . '/nobody.sock'])->status);
        self::assertSame(2, $this->larder(['get', 'k'], dsn: 'nonsense')->status, 'LARDER_DSN is read');
    }

    /** @return iterable<string, array{list<string>}> */
    public static function printing(): iterable
    {
        yield 'get' => [['get', 'k']];
        yield 'get, JSON' => [['get', 'k', '--json']];
        yield 'metrics' => [['metrics']];
        yield 'stats' => [['stats']];
        yield 'doctor' => [['doctor']];
        yield 'top' => [['top']];
        yield 'top, JSON' => [['top', '--json', '--interval=0.1']];
        yield 'why' => [['why', 'k']];
        yield 'why --flush' => [['why', '--flush']];
        yield 'fleet' => [['fleet']];
        yield 'list' => [['list']];
        yield 'help' => [['help', 'get']];
        yield 'page:config' => [['page:config', 'varnish']];
    }

    // Seen to fail: doctor, why and fleet called a function of mbstring.
    public function testABarePhpIsEnough(): void
    {
        $dsn = '--dsn=file://' . $this->root->path . '/bare';
        $key = \str_repeat('größe', 60);
        $run = static fn(string ...$arguments): Child => Child::run([\PHP_BINARY, '-n', \dirname(__DIR__, 2) . '/bin/larder', ...$arguments, $dsn], ['PHP_INI_SCAN_DIR' => '/nonexistent']);
        self::assertSame(0, $run('set', $key, \str_repeat('x', 200))->status);
        foreach ([['get', $key], ['why', $key], ['stats'], ['doctor'], ['doctor', '--json'], ['tags', 'a'], ['delete', $key], ['flush']] as $arguments) {
            $child = $run(...$arguments);
            self::assertContains($child->status, [0, 1], \implode(' ', $arguments) . $child->errors . $child->output);
            self::assertStringNotContainsString('undefined function', $child->errors . $child->output);
        }
    }

    /**
     * Seen to fail: it said that all was done.
     *
     * @param list<string> $arguments
     */
    #[DataProvider('printing')]
    public function testWhatCannotBeWrittenIsNotDone(array $arguments): void
    {
        self::assertSame(0, $this->larder(['set', 'k', 'v'])->status);
        // php-zmq opens a descriptor of its own in the place of a closed one.
        $closed = \extension_loaded('zmq') ? '22 Invalid argument' : '9 Bad file descriptor';
        foreach (['>/dev/full' => '28 No space left on device', '>&-' => $closed] as $to => $reason) {
            $shell = $this->shell($arguments, $to);
            self::assertSame(1, $shell->wait(60.0), $shell->errors());
            self::assertStringEndsWith(" failed with errno=$reason\n", $shell->errors());
            self::assertSame(1, \substr_count($shell->errors(), 'standard output cannot be written'));
        }
    }

    public function testAReaderThatHasGoneEndsItQuietly(): void
    {
        $shell = $this->shell(['top', '--json', '--interval=0.1'], '; echo "status $?" >&2; } | head -n 1', '{ ');
        self::assertSame(0, $shell->wait(60.0));
        self::assertStringEndsWith("\nstatus 1\n", $shell->errors());
        self::assertStringNotContainsString('cannot be written', $shell->errors());
    }

    /** @param list<string> $arguments */
    private function shell(array $arguments, string $to, string $from = ''): Process
    {
        return new Process(['sh', '-c', $from . \implode(' ', \array_map(\escapeshellarg(...), ['timeout', '60', \PHP_BINARY, self::binary(), ...$arguments])) . " $to"], ['LARDER_DSN' => $this->dsn]);
    }

    public function testAnotherUserGetsStatusThreeAndTheCommandToType(): void
    {
        $larder = $this->installed();
        self::assertSame(0, $this->larder(['set', 'k', 'v'])->status);
        $as = ['setpriv', '--reuid', (string) self::OTHER, '--regid', (string) self::OTHER, '--clear-groups', '--', $larder];

        foreach ([['get', 'k'], ['delete', 'k'], ['stats'], ['doctor']] as $arguments) {
            $child = Child::run([...$as, ...$arguments], ['LARDER_DSN' => $this->dsn]);
            self::assertSame(3, $child->status, $child->output . $child->errors);
            self::assertStringContainsString('sudo -u root ' . $larder . ' ' . \implode(' ', $arguments), $child->output . $child->errors);
        }
        self::assertSame('v', Cache::open($this->dsn)->get('k'), 'nothing was done');
    }

    public function testRootWorksAsTheDirectorysOwner(): void
    {
        $larder = $this->installed();
        $environment = ['LARDER_DSN' => $this->dsn];
        $directory = $this->root->path . '/cache';
        \mkdir($directory, 0o700);
        \chown($directory, self::OTHER);
        \chgrp($directory, self::OTHER);

        $set = Child::run([$larder, 'set', 'k', 'v'], $environment);
        self::assertSame(0, $set->status, $set->errors);
        self::assertStringContainsString('as www-data', $set->errors);
        foreach (\array_diff(\scandir($directory) ?: [], ['.', '..']) as $name) {
            self::assertSame(self::OTHER, \fileowner($directory . '/' . $name), $name);
        }
        self::assertSame('v', Child::run([$larder, 'get', 'k'], $environment)->output);

        $doctor = Child::run([$larder, 'doctor', '--json'], $environment);
        self::assertSame(0, $doctor->status, $doctor->output . $doctor->errors);
        self::assertStringContainsString('(was root)', $doctor->output);
    }

    #[RequiresPhpExtension('redis')]
    public function testADeleteWhileTheServerHangsIsSaidToBeNotDoneAndAppliedLater(): void
    {
        $server = new RedisServer();
        $this->dsn = 'redis://' . $server->socket . '?near=sqlite://' . $this->root->path . '/cache';
        self::assertSame(0, $this->larder(['set', 'k', 'v'])->status);

        $server->pause();
        $delete = $this->larder(['delete', 'k']);
        self::assertSame([4, "not deleted\n"], [$delete->status, $delete->output]);
        self::assertStringContainsString($server->socket, $delete->errors);

        $server->resume();
        self::assertSame(1, $this->larder(['get', 'k'])->status);
    }

    #[RequiresPhpExtension('pcntl')]
    public function testTopShowsWhatChangesUntilItIsStopped(): void
    {
        $cache = Cache::open($this->dsn);
        $cache->set('first', 1);
        $top = new Process([self::binary(), 'top', '--json', '--interval=0.1'], ['LARDER_DSN' => $this->dsn]);
        $line = $top->line();
        self::assertNotNull($line, $top->errors());
        self::assertSame(1, ((array) \json_decode($line, true))['entries']);

        $cache->set('second', 2);
        $entries = 0;
        for ($i = 0; $i < 50 && $entries !== 2; $i++) {
            $entries = ((array) \json_decode((string) $top->line(), true))['entries'] ?? 0;
        }
        self::assertSame(2, $entries);

        $top->signal(\SIGINT);
        self::assertSame(0, $top->wait());
    }

    public function testWithoutSymfonyConsoleItSaysWhatToType(): void
    {
        \mkdir($this->root->path . '/bin');
        \mkdir($this->root->path . '/vendor');
        \copy(self::binary(), $this->root->path . '/bin/larder');
        $source = \dirname(__DIR__, 2) . '/src/Config/Options.php';
        $this->root->write('vendor/autoload.php', '<?php spl_autoload_register(static function (string $class): void {'
            . 'if ($class === "Larder\\\\Config\\\\Options") { require ' . \var_export($source, true) . '; } });');
        $child = Child::run([\PHP_BINARY, $this->root->path . '/bin/larder', 'doctor']);

        self::assertSame(1, $child->status);
        self::assertStringContainsString('composer require symfony/console', $child->errors);
        self::assertSame('', $child->output);

        \unlink($this->root->path . '/vendor/autoload.php');
        $child = Child::run([\PHP_BINARY, $this->root->path . '/bin/larder', 'doctor']);
        self::assertSame(1, $child->status);
        self::assertStringContainsString('composer install', $child->errors);
    }

    /** Seen to fail: the kernel ended the doctor, too, and it had said nothing. */
    public function testTheDoctorOutlivesALimitOfFilesThatTheCacheHasReached(): void
    {
        $cache = Cache::open($this->dsn);
        for ($i = 0; $i < 40; $i++) {
            $cache->set("k$i", \random_bytes(100_000));
        }
        $child = Child::run(['bash', '-c', 'ulimit -f 2000; "$@"; echo "status $?"', '-', \PHP_BINARY, self::binary(), 'doctor', '--dsn', $this->dsn]);

        self::assertStringContainsString('fail file size', $child->output, $child->errors);
        self::assertStringContainsString('?budget=', $child->output);
        self::assertStringEndsWith("status 1\n", $child->output);
    }

    public function testItIsFoundInsideAnotherProjectsVendorDirectory(): void
    {
        $package = $this->root->path . '/vendor/larder/larder/bin';
        \mkdir($package, 0o755, true);
        \copy(self::binary(), $package . '/larder');
        $this->root->write('vendor/autoload.php', '<?php require ' . \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true) . ';');
        Cache::open($this->dsn)->set('k', 'v');
        $child = Child::run([\PHP_BINARY, $package . '/larder', 'stats', '--json'], ['LARDER_DSN' => $this->dsn]);

        self::assertSame(0, $child->status, $child->errors);
        self::assertJson($child->output);
    }

    /** Else a purge that purges nothing looks like one that has worked. */
    public function testAPageCommandDoesNotQuietlyUseACacheThatHasNoPages(): void
    {
        $home = ['HOME' => $this->root->path, 'XDG_CACHE_HOME' => $this->root->path . '/xdg', 'LARDER_DSN' => '', 'TMPDIR' => $this->root->path];
        foreach ([['page:purge', '/a'], ['page:purge', '--all'], ['page:list'], ['page:why', 'http://a.example/'], ['page:follow']] as $words) {
            $child = Child::run([self::binary(), ...$words], $home);
            self::assertSame([2, ''], [$child->status, $child->output], \implode(' ', $words));
            self::assertStringContainsString('--dsn', $child->errors);
            if ($words[0] !== 'page:follow') {
                self::assertLessThan(2, Child::run([self::binary(), ...$words, '--dsn=' . $this->dsn], $home)->status, 'who names a cache is believed');
            }
        }
        $page = "require '" . \dirname(__DIR__, 2) . "/vendor/autoload.php'; (new Larder\\Page\\Pages(Larder\\Cache::open()))->notes()->noteOptions('http://a.example', [], []);";
        Child::run([\PHP_BINARY, '-r', $page], $home);
        self::assertSame([0, "purged\n"], [($child = Child::run([self::binary(), 'page:purge', '/a'], $home))->status, $child->output], $child->errors);
    }

    /** With ">" the shell would have emptied the file before. */
    public function testAConfigurationThatFailsLeavesTheFileAsItIs(): void
    {
        $file = $this->root->path . '/pages.conf';
        self::assertSame(0, $this->larder(['page:config', 'nginx', '--root=/srv/www', "--output=$file"])->status);
        $written = (string) \file_get_contents($file);
        self::assertStringContainsString('root /srv/www;', $written);
        self::assertSame(0o644, \fileperms($file) & 0o777);
        self::assertSame(2, $this->larder(['page:config', 'nginx', '--root=no path', "--output=$file"])->status);
        self::assertSame($written, \file_get_contents($file));
        $nowhere = $this->larder(['page:config', 'nginx', '--root=/srv/www', "--output=$file/none"]);
        self::assertSame(2, $nowhere->status);
        self::assertStringContainsString("$file/none", $nowhere->errors);
        self::assertSame([$file], \glob($this->root->path . '/pages*'));
    }
}
