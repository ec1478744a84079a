<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\Wait;
use Larder\WordPress\Quietly;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use Symfony\Component\Process\ExecutableFinder;

/** Whatever a site has been without the cache for: nothing that was changed meanwhile is old when it is back. */
#[Group('wordpress')]
final class PresenceTest extends SharedSiteTestCase
{
    protected const QUIET = false;
    private const SEEN = '[get_option("presence_a"), get_option("presence_b"), wp_cache_get("kept", "presence")]';

    private static int $number = 0;

    public function testNothingIsEmptiedThatWasThereAllTheTime(): void
    {
        $this->fill();
        foreach ([1, 2, 3] as $time) {
            self::assertSame($this->values('kept'), $this->site->web('return ' . self::SEEN . ';'));
            self::assertSame($this->values('kept'), \json_decode($this->site->site->cli('echo json_encode(' . self::SEEN . ');'), true));
            $this->site->site->restart();
        }
    }

    public function testTheDropInWasDeletedAndCopiedBack(): void
    {
        $this->without(function (\Closure $change): void {
            $dropIn = $this->site->site->content('object-cache.php');
            $code = (string) \file_get_contents($dropIn);
            // Of the same second, a file that gets the number again cannot be told from it.
            self::awaitSecond($dropIn);
            \unlink($dropIn);
            $change();
            \file_put_contents($dropIn, $code);
            $this->site->site->account->receive($dropIn);
        });
    }

    public function testTheDropInWasMovedAwayAndBack(): void
    {
        $this->without(function (\Closure $change): void {
            $dropIn = $this->site->site->content('object-cache.php');
            // The kernel's times of files lag some milliseconds behind. PHP tells when it was last moved in whole seconds, and the test before has just put it there.
            self::awaitSecond($dropIn);
            \rename($dropIn, "$dropIn.off");
            $change();
            \rename("$dropIn.off", $dropIn);
        });
    }

    public function testAnotherOnesDropInWasThere(): void
    {
        $this->without(function (\Closure $change): void {
            $dropIn = $this->site->site->content('object-cache.php');
            \rename($dropIn, "$dropIn.off");
            \file_put_contents($dropIn, '<?php // another');
            $this->site->web('update_option("presence_a", "of another"); return 1;');
            $change();
            \rename("$dropIn.off", $dropIn);
        });
    }

    /** Without a trace in the files of this release: each has a directory of its own. */
    public function testAReleaseWasRolledBack(): void
    {
        $root = $this->site->site->root;
        self::succeed('mv', $root, "$root-1");
        self::succeed('cp', '-a', "$root-1", "$root-2");
        $release = function (int $number) use ($root): void {
            \is_link($root) && \unlink($root);
            \symlink("$root-$number", $root);
            $this->site->site->restart();
        };
        try {
            $release(1);
            $this->without(function (\Closure $change) use ($release): void {
                $release(2);
                $this->site->web('update_option("presence_a", "of the second release"); return 1;');
                $change();
                $release(1);
            });
        } finally {
            \unlink($root);
            \rename("$root-1", $root);
            self::succeed('rm', '-r', "$root-2");
            $this->site->site->restart();
        }
    }

    public function testAnotherCacheWasInUse(): void
    {
        $this->without(function (\Closure $change): void {
            $this->site->site->define(['LARDER_DIRECTORY' => $this->site->site->content('another')]);
            $this->site->web('update_option("presence_a", "of another cache"); return 1;');
            $change();
            $this->site->site->define([]);
        });
    }

    #[TestWith([false])]
    #[TestWith([true])]
    public function testItWasSwitchedOff(bool $byCommand): void
    {
        $this->without(function (\Closure $change) use ($byCommand): void {
            $update = 'update_option("presence_a", "%s", true); update_option("presence_b", "%s", false);';
            if ($byCommand) {
                $this->site->site->cli(\sprintf($update, 'new', 'new'), before: 'putenv("LARDER_DISABLED=1");');
            } else {
                $this->site->site->define(['LARDER_DISABLED' => true]);
                $this->site->web(\sprintf($update, 'new', 'new') . 'return 1;');
                $this->site->site->define([]);
            }
        });
    }

    /** Where wp-content cannot be written there is the directory for temporary files. */
    #[TestWith([true])]
    #[TestWith([false])]
    public function testThePluginsFolderWasGone(bool $writable): void
    {
        $this->without(function (\Closure $change) use ($writable): void {
            $plugin = $this->site->site->content('plugins/larder');
            $content = $this->site->site->content();
            $mode = (int) \fileperms($content) & 0o7777;
            \rename($plugin, "$content/larder-off");
            $writable || \chmod($content, 0o555);
            $this->site->web('return update_option("presence_a", "new", true) && update_option("presence_b", "new", false);');
            \chmod($content, $mode);
            $writable || \array_map(\unlink(...), \glob("$content/.larder-away*") ?: []);
            \rename("$content/larder-off", $plugin);
        });
    }

    /** As the PHP of a command line that has not the extensions of the web. */
    public function testACommandLacksPdoSqlite(): void
    {
        $directory = (string) $this->site->web('return Larder\WordPress\Site::current()->directory();');
        if ((string) \file_get_contents("$directory/engine") !== 'sqlite') {
            self::markTestSkipped('The web has no pdo_sqlite either.');
        }
        // What the extension is called decides; a PHP without it is not to be had here.
        $file = $this->site->site->content('plugins/larder/src/Presence.php');
        $code = (string) \file_get_contents($file);
        $this->without(function (\Closure $change) use ($file, $code): void {
            \file_put_contents($file, \str_replace('\extension_loaded(\'pdo_sqlite\')', '(\PHP_SAPI !== \'cli\')', $code));
            $said = $this->site->site->start('update_option("presence_a", "new", true); update_option("presence_b", "new", false); echo get_class($GLOBALS["wp_object_cache"]), (int) wp_using_ext_object_cache();');
            $said->wait();
            self::assertStringEndsWith('0', $said->getOutput());
            self::assertStringContainsString('pdo_sqlite', $said->getErrorOutput() . $this->site->site->errors());
        });
        \file_put_contents($file, $code);
        // It is over, and has said so: not for a minute, but until the second has passed.
        Wait::until(function (): bool {
            $this->site->web('return wp_cache_set("kept", "again", "presence");');

            return $this->site->web('return ' . self::SEEN . ';') === $this->values('again');
        }, 'a cache that keeps something again');
    }

    public function testARequestWithoutItThatDiedMayGoOnForAMinute(): void
    {
        $this->fill();
        $content = $this->site->site->content();
        \touch("$content/.larder-away");
        \touch("$content/.larder-away-0123456789ab");
        $this->site->web('return wp_cache_set("kept", "now", "presence");');
        self::assertFalse($this->site->web('return wp_cache_get("kept", "presence");'));
        // A minute later.
        \touch("$content/.larder-away", \time() - 61);
        \touch("$content/.larder-away-0123456789ab", \time() - 61);
        $this->site->web('return wp_cache_set("kept", "later", "presence");');
        self::assertSame('later', $this->site->web('return wp_cache_get("kept", "presence");'));
    }

    /** A program that cleans the directories for temporary files, or a reboot. */
    public function testMarksThatWereCleanedAwayEmptyNothing(): void
    {
        $this->without(function (\Closure $change): void {
            $this->site->site->define(['LARDER_DISABLED' => true]);
            $this->site->web('return 1;');
            $change();
            $this->site->site->define([]);
        });
        $this->site->web('return wp_cache_set("kept", "kept", "presence");');
        $marks = \glob('{/var/tmp,' . \sys_get_temp_dir() . '}/larder-' . $this->site->name() . '-away', \GLOB_BRACE) ?: [];
        self::assertNotSame([], $marks);
        \array_map(\unlink(...), $marks);
        self::assertSame($this->values('kept'), $this->site->web('return ' . self::SEEN . ';'));
    }

    /** On a full disk, or by somebody who lets nobody read it. */
    public function testAMarkWithNothingInItCountsEachTime(): void
    {
        $this->fill();
        $mark = $this->site->site->content('.larder-away');
        foreach ([1, 2] as $time) {
            \touch($mark);
            self::assertFalse(((array) $this->site->web('return ' . self::SEEN . ';'))[2]);
            \touch($mark, \time() - 100);
            $this->site->web('return wp_cache_set("kept", "kept", "presence");');
            self::assertSame($this->values('kept'), $this->site->web('return ' . self::SEEN . ';'));
        }
    }

    public function testANoteThatIsUsedDoesNotGetOld(): void
    {
        $this->forgetNotes();
        $this->fill();
        $note = (\glob('/var/tmp/larder-' . $this->site->name() . '-[0-9a-f]*-*') ?: [self::fail('There is no note.')])[0];
        \touch($note, \time() - 20 * 86_400);
        self::assertSame($this->values('kept'), $this->site->web('return ' . self::SEEN . ';'));
        \clearstatcache();
        self::assertGreaterThan(\time() - 60, \filemtime($note));
    }

    /** Other tests' drop-ins have left some. */
    private function forgetNotes(): void
    {
        \array_map(\unlink(...), \glob('/var/tmp/larder-' . $this->site->name() . '-[0-9a-f]*-*') ?: []);
    }

    public function testWhatSomebodyElsePutsInThePlaceOfAMarkIsNeitherWaitedForNorWrittenTo(): void
    {
        $mark = '/var/tmp/larder-' . $this->site->name() . '-away';
        $victim = $this->site->site->content('victim.txt');
        Quietly::call(static fn(): bool => \unlink($mark));
        try {
            $this->fill();
            self::assertTrue(\posix_mkfifo($mark, 0o666));
            self::assertSame($this->values('kept'), $this->site->web('return ' . self::SEEN . ';'));
            \unlink($mark);

            \file_put_contents($victim, 'precious');
            $this->site->site->account->receive($victim);
            self::succeed(...$this->site->site->account->words(), ...['ln', '-s', $victim, $mark]);
            $this->without(function (\Closure $change): void {
                $this->site->site->define(['LARDER_DISABLED' => true]);
                $this->site->web('return 1;');
                $change();
                $this->site->site->define([]);
            });
            self::assertSame('precious', \file_get_contents($victim));
        } finally {
            $this->site->site->define([]);
            \unlink($mark);
            \unlink($victim);
        }
    }

    public function testANoteThatSomebodyElsePutThereSaysNothing(): void
    {
        $this->forgetNotes();
        $this->fill();
        $notes = \glob('/var/tmp/larder-' . $this->site->name() . '-[0-9a-f]*-*') ?: [];
        self::assertCount(1, $notes);
        \rename($notes[0], "$notes[0].moved");
        try {
            \symlink("$notes[0].moved", $notes[0]);
            self::assertFalse(((array) $this->site->web('return ' . self::SEEN . ';'))[2], 'The cache begins empty.');
        } finally {
            \unlink($notes[0]);
            Quietly::call(static fn(): bool => \unlink("$notes[0].moved"));
        }
    }

    #[TestWith(['rm -r DIR && mv BACKUP DIR'])]
    #[TestWith(['rm -r DIR && cp -a BACKUP DIR'])]
    #[TestWith(['cp -a BACKUP/. DIR'])]
    #[TestWith(['tar -C BACKUP -c . | tar -C DIR -x'])]
    #[TestWith(['rsync -a BACKUP/ DIR'])]
    #[TestWith(['rsync -a --delete BACKUP/ DIR'])]
    #[TestWith(['rm -r DIR && rsync -a BACKUP/ DIR'])]
    public function testTheCachesFolderWasRestoredFromABackup(string $how): void
    {
        if (\str_contains($how, 'rsync') && (new ExecutableFinder())->find('rsync') === null) {
            self::markTestSkipped('There is no rsync.');
        }
        $directory = (string) $this->site->web('return Larder\WordPress\Site::current()->directory();');
        $this->fill();
        // File systems are asked for seconds, and nobody restores a backup in the second in which it was made.
        $later = static function (): void {
            $now = \time();
            Wait::until(static fn(): bool => \time() > $now, 'the next second');
        };
        $later();
        self::succeed('cp', '-a', $directory, "$directory-backup");
        try {
            $this->site->web('return update_option("presence_a", "new", true) && update_option("presence_b", "new", false);');
            // A process that has the old files open would keep their numbers from being given again.
            $this->site->site->fpm->stop();
            $later();
            self::succeed('sh', '-c', \str_replace(['BACKUP', 'DIR'], ["$directory-backup", $directory], $how));
            $this->site->site->fpm->start();
            self::assertSame(['new', 'new'], $this->site->web('return [get_option("presence_a"), get_option("presence_b")];'));
        } finally {
            self::succeed('rm', '-rf', "$directory-backup");
        }
        $this->testNothingIsEmptiedThatWasThereAllTheTime();
    }

    public function testTheCachesFolderWasMovedAwayAndBack(): void
    {
        $directory = (string) $this->site->web('return Larder\WordPress\Site::current()->directory();');
        $this->without(function (\Closure $change) use ($directory): void {
            self::succeed('mv', $directory, "$directory-moved");
            $this->site->web('return 1;');
            $change();
            self::succeed('rm', '-r', $directory);
            self::succeed('mv', "$directory-moved", $directory);
        });
    }

    public function testOverRedisANewServerEmptiesNothingAndAnOldOneWhatItMust(): void
    {
        RedisServer::program() !== null || self::markTestSkipped('There is no Redis.');
        $redis = new RedisServer();
        $this->site->site->define(['LARDER_DSN' => "redis://127.0.0.1:$redis->port"]);
        // Of a site that another test works with at the same time: without its note, its cache would begin empty.
        $others = '/var/tmp/larder-' . \bin2hex(\random_bytes(16)) . '-note';
        \touch($others);
        try {
            $this->fill();
            // What a server has of its own is gone, as in a new container.
            $this->site->site->forget();
            self::assertSame($this->values('kept'), $this->site->web('return ' . self::SEEN . ';'));
            $this->without(function (\Closure $change): void {
                $dropIn = $this->site->site->content('object-cache.php');
                \rename($dropIn, "$dropIn.off");
                $change();
                \rename("$dropIn.off", $dropIn);
                $this->site->site->forget();
            });
            self::assertFileExists($others);
        } finally {
            $this->site->site->define([]);
            Quietly::call(static fn(): bool => \unlink($others));
        }
    }

    /** @param \Closure(\Closure(): mixed): void $absent takes the cache away, changes the database, brings it back */
    private function without(\Closure $absent): void
    {
        $this->fill();
        $absent(function (): void {
            foreach (['presence_a', 'presence_b'] as $name) {
                $this->site->site->sql("UPDATE wp_options SET option_value = 'new' WHERE option_name = '$name'");
            }
        });
        self::assertSame(['new', 'new'], \array_slice((array) $this->site->web('return ' . self::SEEN . ';'), 0, 2));
        self::assertSame(['new', 'new'], \array_slice((array) \json_decode($this->site->site->cli('echo json_encode(' . self::SEEN . ');'), true), 0, 2));
    }

    /** The cache has values, and nothing of what other tests have done counts any more. */
    private function fill(): void
    {
        \array_map(\unlink(...), \glob($this->site->site->content('.larder-away*')) ?: []);
        $old = 'old ' . ++self::$number;
        $isKept = fn(): bool => $this->site->web('return ' . self::SEEN . ';') === [$old, $old, 'kept'];
        Wait::until(function () use ($old, $isKept): bool {
            $this->site->web("update_option('presence_a', '$old', true); update_option('presence_b', '$old', false); return wp_cache_set('kept', 'kept', 'presence');");

            return $isKept() && $this->site->site->cli(self::SEEN . ';') === '' && $isKept();
        }, 'a cache that keeps something');
    }

    /** @return list<string> */
    private function values(string $kept): array
    {
        $values = \array_map(fn(array $row): string => (string) $row['option_value'], $this->site->site->sql("SELECT option_value FROM wp_options WHERE option_name IN ('presence_a', 'presence_b') ORDER BY option_name"));

        return [...$values, $kept];
    }

    /** Until a file is older than the second of its last change. */
    private static function awaitSecond(string $file): void
    {
        \clearstatcache();
        Wait::until(static fn(): bool => \microtime(true) >= \filectime($file) + 1.05, 'the next second');
    }

    private static function succeed(string ...$words): void
    {
        (new \Symfony\Component\Process\Process($words))->mustRun();
    }
}
