<?php

declare(strict_types=1);

namespace Larder\Tests\Console\Fleet;

use Larder\Console\Fleet\Accounts;
use Larder\Console\Fleet\ActingUser;
use Larder\Console\Fleet\FileNames;
use Larder\Console\Fleet\Found;
use Larder\Console\Fleet\Origin;
use Larder\Console\Fleet\Orphans;
use Larder\Console\Fleet\Way;
use Larder\Console\FleetCommand;
use Larder\System\ServerPolicy;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\TestWith;
use Symfony\Component\Console\Application;
use Symfony\Component\Console\Tester\CommandTester;

/** What users have left who are gone: all of it goes that Larder has made, and nothing else. */
#[CoversClass(Orphans::class)]
#[CoversClass(Origin::class)]
#[CoversClass(Way::class)]
final class OrphansTest extends FleetCase
{
    protected function setUp(): void
    {
        parent::setUp();
        $this->alone();
    }

    /** Seen to fail: without a kind in FileNames; without the directories that are Larder's as a whole; a list that goes first. */
    public function testAllGoesThatLarderItselfHasMade(): void
    {
        $home = $this->server->user(self::ANNA, 'anna');
        $this->server->as(self::ANNA, <<<PHP
            foreach (['sqlite://$home/a', 'sqlite://$home/a?prefix=shop', 'file://$home/b', 'redis://127.0.0.1:1'] as \$dsn) {
                \$cache = Larder\\Cache::open(['dsn' => \$dsn, 'near' => 'none']);
                for (\$i = 0; \$i < 20; \$i++) {
                    \$cache->set("k\$i", 'v');
                }
                \$cache->delete('k1');
                unset(\$cache);
            }
            \$queue = Larder\\Queue\\Queue::open('sqlite://$home/c', 'mail');
            \$queue->push('m');
            \$queue->push('m', key: 'k');
            Larder\\Counter::open('sqlite://$home/c')->add();
            (new Larder\\Queue\\Waiters('$home/c/queue-mail.waiters'))->register();
            Larder\\Lock\\Locks::open('sqlite://$home/c')->acquire('l', 0.5);
            Larder\\RateLimiter::open('sqlite://$home/c')->fixedWindow('k', 1, 1.0);
            \$sessions = Larder\\Session\\SessionHandler::over('sqlite://$home/d');
            \$sessions->open('', 's');
            \$sessions->write(\$sessions->create_sid(), 'data');
            \$sessions->close();
            Larder\\Queue\\Queue::open('sqlite://$home/e', 'pushed')->push('m');
            PHP);
        $bert = $this->server->site(self::BERT, 'bert');
        self::assertCount(13, $this->server->caches());
        $this->server->deleteUsers();
        \file_put_contents("{$this->server->root}/passwd", "bert:x:200002:1::{$this->server->root}/home/bert:/bin/sh\n", \FILE_APPEND);
        $child = $this->server->fleet('--remove-orphans --yes');

        self::assertSame(0, $child->status, $child->output . $child->errors);
        self::assertStringContainsString('11 that belonged to users who do not exist: ', $child->output);
        self::assertSame([], \array_diff(\scandir($home) ?: [], ['.', '..']));
        self::assertFileDoesNotExist("{$this->server->root}/state/" . self::ANNA);
        self::assertFileExists("$bert/larder.db");
        self::assertFileExists("{$this->server->root}/shm/larder-" . self::BERT . '/memory-of-running-php');
    }

    /** Seen to fail: names that end in anything. A date has eight digits, too. */
    public function testFilesWithNamesLikeLardersStay(): void
    {
        $state = $this->server->site(self::ANNA, 'anna');
        $names = ['kept-20261128.zip', 'larder.db.customers.sql', 'local-20261128', 'local-20261128-backup', 'local-20261128.tar.gz', 'lost-20261128.txt', 'primary-20261128.sql', 'queue-mail.db.sql'];
        foreach ($names as $name) {
            $this->server->put(self::ANNA, "$state/$name", \str_ends_with($name, 'backup') ? null : 'mine', 0o700);
        }
        $this->server->put(self::ANNA, "$state/local-20261128-backup/thesis.txt", 'mine');
        \file_put_contents("{$this->server->root}/passwd", "root:x:0:0:::\n");
        $child = $this->server->fleet("--remove-orphans --yes --in={$this->server->root}/home");

        self::assertSame($names, \array_values(\array_diff(\scandir($state) ?: [], ['.', '..'])), $child->output);
        self::assertFileExists("$state/local-20261128-backup/thesis.txt");
    }

    /** Seen to fail: unlink() without a look at the name, the owner or the type; opendir() through a link. */
    public function testNothingElseGoes(): void
    {
        $state = $this->server->site(self::ANNA, 'anna');
        $bert = $this->server->site(self::BERT, 'bert');
        $this->server->put(self::ANNA, "$state/thesis.txt", 'mine');
        \symlink("$bert/larder.db", "$state/larder.db-wal");
        \lchown("$state/larder.db-wal", self::ANNA);
        $this->server->put(self::BERT, "$state/larder.db-shm", 'another\'s');
        $this->server->put(self::ANNA, "$state/v.0123456789abcdef", null, 0o700);
        $this->server->put(self::ANNA, "$state/v.0123456789abcdef/00", null, 0o700);
        $this->server->put(self::ANNA, "$state/v.0123456789abcdef/00/f", 'a record');
        \symlink($bert, "$state/v.0123456789abcdef/01");
        \lchown("$state/v.0123456789abcdef/01", self::ANNA);
        \symlink($bert, "$state/prefix-shop");
        \lchown("$state/prefix-shop", self::ANNA);
        $this->server->put(self::ANNA, "$state/v.0123456789abcdee", null, 0o700);
        \rmdir("$state/v.0123456789abcdee");
        \symlink($bert, "$state/v.0123456789abcdee");
        \lchown("$state/v.0123456789abcdee", self::ANNA);
        $this->server->put(self::ANNA, "$state/caches.txt", "$bert\n/etc\n");
        $before = $this->content($bert);
        $etc = \scandir('/etc');
        \file_put_contents("{$this->server->root}/passwd", "root:x:0:0:::\nbert:x:200002:1::{$this->server->root}/home/bert:/bin/sh\n");
        // Nobody's home is known any more, so the search finds it.
        $child = $this->server->fleet("--remove-orphans --yes --in={$this->server->root}/home");

        self::assertSame(1, $child->status, $child->output);
        self::assertSame(['larder.db-shm', 'larder.db-wal', 'prefix-shop', 'thesis.txt', 'v.0123456789abcdee', 'v.0123456789abcdef'], \array_values(\array_diff(\scandir($state) ?: [], ['.', '..'])));
        self::assertSame(['01'], \array_values(\array_diff(\scandir("$state/v.0123456789abcdef") ?: [], ['.', '..'])));
        self::assertSame($before, $this->content($bert));
        self::assertSame($etc, \scandir('/etc'));
        self::assertStringContainsString("! $state: the directory stays", $child->output);
        self::assertFileDoesNotExist("{$this->server->root}/shm/larder-" . self::ANNA);
    }

    /**
     * A living user leads the path to a directory of root's while root reads the question: rmdir() as root, through his link.
     */
    // Seen to fail: a look at the directory above alone; rmdir() as root.
    public function testALinkThatIsPutThereLaterLeadsNowhere(): void
    {
        $root = $this->server->root;
        $home = $this->server->user(self::BERT, 'bert');
        foreach (["$root/sys", "$root/sys/run", "$root/sys/run/sshd"] as $path) {
            $this->server->put(0, $path, null, 0o755);
        }
        \chmod($home, 0o711);
        foreach (["$home/real", "$home/real/run"] as $path) {
            $this->server->put(self::BERT, $path, null, 0o777);
        }
        $this->server->put(self::ANNA, "$home/real/run/sshd", null, 0o700);
        $this->server->put(self::ANNA, "$home/real/run/sshd/larder.db", $this->server->database(0x4C617264));
        \symlink('real', "$home/x");
        $path = "$home/x/run/sshd";
        $found = new Found(self::ANNA, null, $path, $path, FileNames::SQLITE);
        $orphans = new Orphans(new ActingUser(), new Accounts("$root/passwd"));
        \unlink("$home/x");
        \symlink("$root/sys", "$home/x");
        self::assertSame(0, $orphans->remove([$found]));
        self::assertSame([$path => 'its path belongs to others too'], $orphans->left);
        self::assertDirectoryExists("$root/sys/run/sshd");
        self::assertFileExists("$home/real/run/sshd/larder.db");
    }

    /** @return iterable<string, array{\Closure(string): mixed, bool}> what is done to the directory's path, and whether all goes */
    public static function ways(): iterable
    {
        yield 'a path of root\'s and of his' => [static fn(): bool => true, true];
        yield 'a sticky directory on the way' => [static fn(string $home): bool => \chown($home, 0) && \chmod($home, 0o1777), true];
        yield 'another user\'s directory on the way' => [static fn(string $home): bool => \chown($home, self::BERT) && \chmod($home, 0o711), false];
        yield 'one that his group writes' => [static fn(string $home): bool => \chmod($home, 0o770), false];
        yield 'one that all write' => [static fn(string $home): bool => \chmod($home, 0o707), false];
        yield 'another user\'s sticky one' => [static fn(string $home): bool => \chown($home, self::BERT) && \chmod($home, 0o1777), false];
        yield 'a directory that all write' => [static fn(string $home): bool => \chmod("$home/cache", 0o777), false];
        yield 'a sticky directory that all write' => [static fn(string $home): bool => \chmod("$home/cache", 0o1777), false];
        yield 'a link of his on the way' => [static fn(string $home): bool => \rename($home, "$home-kept") && \symlink("$home-kept", $home) && \lchown($home, self::ANNA), false];
        yield 'another user\'s directory' => [static fn(string $home): bool => \chown("$home/cache", self::BERT) && \chmod("$home/cache", 0o755), false];
    }

    /** @param \Closure(string): mixed $change */
    #[DataProvider('ways')]
    // Seen to fail: each without its condition in Way.
    public function testRemovesOnlyWhereNobodyElseCanLeadIt(\Closure $change, bool $goes): void
    {
        $home = $this->server->user(self::ANNA, 'anna');
        $this->server->deleteUsers();
        $this->server->put(self::ANNA, "$home/cache", null, 0o700);
        $this->server->put(self::ANNA, "$home/cache/larder.db", $this->server->database(0x4C617264));
        $change($home);
        $orphans = new Orphans(new ActingUser(), new Accounts("{$this->server->root}/passwd"));
        $orphans->remove([new Found(self::ANNA, null, "$home/cache", "$home/cache", FileNames::SQLITE)]);
        \clearstatcache();

        self::assertSame([$goes, $goes], [!\file_exists("$home/cache"), $orphans->left === []]);
        self::assertSame(!$goes, \file_exists("$home/cache/larder.db"));
    }

    /** Root removes nothing with his own rights: a directory stays that only he may remove. */
    // Seen to fail: rmdir() as root.
    public function testWhatItsUserCouldNotRemoveStays(): void
    {
        $path = "{$this->server->root}/cache";
        $this->server->put(self::ANNA, $path, null, 0o700);
        $this->server->put(self::ANNA, "$path/larder.db", $this->server->database(0x4C617264));
        $orphans = new Orphans(new ActingUser(), new Accounts("{$this->server->root}/passwd"));
        self::assertSame(8_192, $orphans->remove([new Found(self::ANNA, null, $path, $path, FileNames::SQLITE)]));
        self::assertSame([$path => 'something else is in it, or it lies where its user could not remove it'], $orphans->left);
        self::assertSame([], \array_diff(\scandir($path) ?: [], ['.', '..']));
    }

    /** Names that any program may choose say nothing: nor does a directory whose user has noted it. */
    // Seen to fail: a look at names alone.
    public function testADirectoryThatNothingShowsToBeLardersStays(): void
    {
        $home = $this->server->user(self::ANNA, 'anna');
        $this->server->put(self::ANNA, "$home/old", null, 0o700);
        foreach (['sessions.db', 'lock', 'segment', 'locks.db', 'queue-mail.db', 'queue-mail.log', 'said', 'larder.lock', 'notes.txt', 'caches.txt', 'larder-directory.txt'] as $name) {
            $this->server->put(self::ANNA, "$home/old/$name", "another program\n", $name === 'segment' ? 0o400 : 0o600);
        }
        $this->server->put(self::ANNA, "$home/old/counters.db", $this->server->database(7));
        $this->server->put(self::BERT, "$home/old/limits.db", $this->server->database(0x4C72644D));
        $this->server->put(self::ANNA, "$home/old/v.0123456789abcdef", null, 0o700);
        $this->server->put(self::ANNA, "$home/old/v.0123456789abcdef/f", 'f');
        $this->server->put(self::ANNA, "{$this->server->root}/tmp/larder-" . self::ANNA, null, 0o700);
        $this->server->put(self::ANNA, "{$this->server->root}/tmp/larder-" . self::ANNA . '/caches.txt', "$home/old\n");
        $this->server->deleteUsers();
        $before = \scandir("$home/old");
        $child = $this->server->fleet('--remove-orphans --yes');

        self::assertSame(1, $child->status, $child->output . $child->errors);
        self::assertStringContainsString("! $home/old: the directory stays", $child->output);
        self::assertSame($before, \scandir("$home/old"));
        self::assertFileExists("$home/old/v.0123456789abcdef/f");
    }

    /** Seen to fail: each without its line in Origin. */
    public function testWhatMayBeAnotherProgramsStaysInADirectoryOfLarders(): void
    {
        $state = $this->server->site(self::ANNA, 'anna');
        $foreign = [
            'sessions.db' => $this->server->database(7), 'sessions.db-wal' => 'w', 'sessions.db.bak' => $this->server->database(7), 'locks.db' => 'text',
            'counters.db' => $this->server->database(0x4C617264), 'lock' => 'pid 7', 'segment' => 'dxf', 'segment.lock' => 'x', 'queue-mail.log' => 'Nov 1',
            'limits.db-journal' => 'j', 'key' => 'mode 0400', 'queue-a.waiters' => null, 'v.0123456789abcdef' => null,
        ];
        $own = [
            'queue-b.db' => $this->server->database(0x4C726451), 'queue-b.db-wal' => 'w', 'queue-b.log' => 'l', 'queue-b.waiters' => null, 'segment-0123abcd' => Server::segment(1, 1),
            'segment-0123abcd.lock' => 'made here', 'said' => 'x', 'limits.db' => '', 'larder.db.damaged' => 'x', 'v.0123456789abcdee' => null, 'any' => Server::segment(1, 1),
        ];
        foreach ($foreign + $own as $name => $content) {
            $this->server->put(self::ANNA, "$state/$name", $content, match (true) {
                $name === 'v.0123456789abcdef' => 0o777,
                $content === null => 0o700,
                \in_array($name, ['key', 'any', 'segment', 'segment-0123abcd'], true) => 0o400,
                default => 0o600,
            });
        }
        $this->server->deleteUsers();
        $child = $this->server->fleet("--remove-orphans --yes --in={$this->server->root}/home");
        $left = \array_values(\array_diff(\scandir($state) ?: [], ['.', '..']));
        $names = \array_keys($foreign);
        \sort($names);

        self::assertSame([1, $names], [$child->status, $left], $child->output . $child->errors);
    }

    /** Seen to fail: a picture in a directory of values went. */
    public function testOnlyNamesAsLarderGivesThemGoFromItsDirectories(): void
    {
        $state = $this->server->site(self::ANNA, 'anna');
        foreach (['v.0123456789abcdef', 'v.0123456789abcdef/0a'] as $directory) {
            $this->server->put(self::ANNA, "$state/$directory", null, 0o700);
        }
        foreach (['0a/' . \str_repeat('b', 30) => 'value', 'holiday.jpg' => 'picture', '0a/holiday.jpg' => 'picture'] as $name => $content) {
            $this->server->put(self::ANNA, "$state/v.0123456789abcdef/$name", $content);
        }
        $this->server->deleteUsers();
        $orphans = new Orphans(new ActingUser(), new Accounts("{$this->server->root}/passwd"));
        $orphans->remove([new Found(self::ANNA, null, $state, $state, FileNames::SQLITE)]);

        self::assertSame([$state => 'something else is in it, or it lies where its user could not remove it'], $orphans->left);
        self::assertSame([true, true, false], [\file_exists("$state/v.0123456789abcdef/holiday.jpg"), \file_exists("$state/v.0123456789abcdef/0a/holiday.jpg"), \file_exists("$state/v.0123456789abcdef/0a/" . \str_repeat('b', 30))]);
    }

    /** Containers have accounts of their own. Seen to fail: the queue of a running process was removed. */
    public function testWhatAProcessMayStillUseStays(): void
    {
        $state = $this->server->site(self::ANNA, 'anna');
        $this->server->deleteUsers();
        $found = new Found(self::ANNA, null, $state, $state, FileNames::SQLITE);
        $remove = static function (Orphans $orphans) use ($found): array {
            $orphans->remove([$found]);

            return [\array_values($orphans->left), $orphans->removed];
        };
        $accounts = fn(string $ranges = '/nowhere'): Accounts => new Accounts("{$this->server->root}/passwd", $ranges);
        $process = new Process(['setpriv', '--reuid=' . self::ANNA, '--clear-groups', 'sleep', '60']);
        Wait::until(static fn(): bool => \str_contains((string) \file_get_contents("/proc/{$process->pid}/status"), "Uid:\t" . self::ANNA), 'another user');
        self::assertSame([['a process runs as this user, perhaps in a container'], 0], $remove(new Orphans(new ActingUser(), $accounts())));
        $process->kill();
        $process->wait();
        $ranges = "{$this->server->root}/subuid";
        \file_put_contents($ranges, 'bert:' . (self::ANNA - 5) . ":6\n");
        self::assertSame([["$ranges gives this id to containers"], 0], $remove(new Orphans(new ActingUser(), $accounts($ranges))));
        \file_put_contents($ranges, 'bert:' . (self::ANNA - 5) . ":5\n");
        self::assertSame([[], 1], $remove(new Orphans(new ActingUser(), $accounts($ranges))));
        self::assertDirectoryDoesNotExist($state);
    }

    /** Seen to fail: an answer from before the question. */
    public function testAUserWhoHasComeMeanwhileKeepsAll(): void
    {
        $state = $this->server->site(self::ANNA, 'anna');
        $passwd = (string) \file_get_contents("{$this->server->root}/passwd");
        $this->server->deleteUsers();
        $accounts = new Accounts("{$this->server->root}/passwd");
        $orphans = new Orphans(new ActingUser(), $accounts);
        $gone = $orphans->among([new Found(self::ANNA, $accounts->name(self::ANNA), $state, $state, FileNames::SQLITE)]);
        self::assertCount(1, $gone);
        \file_put_contents("{$this->server->root}/passwd", $passwd);

        self::assertSame([0, [$state => 'there is a user of this id now'], 0], [$orphans->remove($gone), $orphans->left, $orphans->removed]);
        self::assertFileExists("$state/larder.db");
    }

    /** Seen to fail: without a look at isInteractive(). */
    public function testWithoutATerminalItHasToBeSaid(): void
    {
        $state = $this->server->site(self::ANNA, 'anna');
        $this->server->deleteUsers();
        $child = $this->server->fleet("--remove-orphans --in={$this->server->root}/home");

        self::assertSame(2, $child->status);
        self::assertStringContainsString('add --yes', $child->errors);
        self::assertFileExists("$state/larder.db");
    }

    #[TestWith(['no', false])]
    #[TestWith(['', false])]
    #[TestWith(['yes', true])]
    // Seen to fail: a default of yes.
    public function testAtATerminalItAsks(string $answer, bool $isRemoved): void
    {
        $state = $this->server->site(self::ANNA, 'anna');
        $this->server->deleteUsers();
        $root = $this->server->root;
        $command = new FleetCommand(new ServerPolicy("$root/policy.ini"), "$root/passwd", "$root/shm", ["$root/tmp"]);
        (new Application())->add($command);
        $tester = new CommandTester($command);
        $tester->setInputs([$answer]);
        $status = $tester->execute(['--remove-orphans' => true, '--in' => "$root/home"], ['interactive' => true]);

        self::assertStringContainsString("#200001  sqlite  ", $tester->getDisplay());
        self::assertSame([$isRemoved ? 0 : 1, !$isRemoved], [$status, \file_exists("$state/larder.db")], $tester->getDisplay());
    }

    public function testAUserRemovesNothing(): void
    {
        $this->server->site(self::ANNA, 'anna');
        $this->server->deleteUsers();
        $child = $this->server->fleet('--remove-orphans --yes', self::ANNA);

        self::assertStringContainsString('0 that belonged to users who do not exist', $child->output);
        self::assertFileExists("{$this->server->root}/shm/larder-" . self::ANNA . '/memory-of-running-php');
    }

    /** Whatever was removed until a kill -9, the next run finds the rest. */
    // Seen to fail: the list removed first; a directory with nothing left but its mark.
    public function testADeathInTheMiddleLeavesWhatTheNextRunFinds(): void
    {
        $home = $this->server->user(self::ANNA, 'anna');
        $this->server->as(self::ANNA, "Larder\\Cache::open(['dsn' => 'file://$home/b', 'near' => 'none'])->set('k', 'v'); Larder\\Cache::open(['dsn' => 'sqlite://$home/a', 'near' => 'none'])->set('k', 'v');");
        $values = (\glob("$home/b/v.*") ?: [''])[0];
        for ($i = 0; $i < 256; $i++) {
            \is_dir($shard = $values . \sprintf('/%02x', $i)) || $this->server->put(self::ANNA, $shard, null, 0o700);
            for ($j = 0; $j < 40; $j++) {
                $this->server->put(self::ANNA, "$shard/$j", '');
            }
        }
        $this->server->deleteUsers();
        $deaths = $runs = 0;
        while ($runs++ < 50 && \is_dir("{$this->server->root}/state/" . self::ANNA)) {
            $before = $this->records($home);
            $process = new Process($this->server->command('--remove-orphans --yes'));
            // Where there is little left, the process ends by itself.
            while ($process->isRunning() && ($before === 0 || $this->records($home) > \max(0, $before - 1_500))) {
            }
            if ($process->isRunning()) {
                $process->kill();
                $deaths++;
            }
            $process->wait();
        }

        self::assertGreaterThan(1, $deaths);
        self::assertLessThan(50, $runs);
        self::assertSame([], \array_diff(\scandir($home) ?: [], ['.', '..']));
    }

    /** A run may end between the last file of a directory, its mark, and the directory. */
    public function testAnEmptyDirectoryOfTheListGoesToo(): void
    {
        $home = $this->server->user(self::ANNA, 'anna');
        $this->server->as(self::ANNA, "Larder\\Cache::open(['dsn' => 'sqlite://$home/a', 'near' => 'none'])->set('k', 'v'); Larder\\Cache::open(['dsn' => 'sqlite://$home/b', 'near' => 'none'])->set('k', 'v');");
        $this->server->deleteUsers();
        \array_map(\unlink(...), \glob("$home/b/{*,.[!.]*}", \GLOB_BRACE) ?: []);
        self::assertSame(['.', '..'], \scandir("$home/b"));
        $child = $this->server->fleet('--remove-orphans --yes');

        self::assertSame(0, $child->status, $child->output . $child->errors);
        self::assertSame([], \array_diff(\scandir($home) ?: [], ['.', '..']));
        self::assertFileDoesNotExist("{$this->server->root}/state/" . self::ANNA);
    }

    private function records(string $home): int
    {
        return \count(\glob("$home/b/v.*/*/*") ?: []);
    }

    /** @return array<string, string> */
    private function content(string $directory): array
    {
        $content = [];
        foreach (\glob("$directory/*") ?: [] as $file) {
            $content[$file] = \is_file($file) ? (string) \file_get_contents($file) : '';
        }

        return $content;
    }
}
