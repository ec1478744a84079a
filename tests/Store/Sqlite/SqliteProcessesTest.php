<?php

declare(strict_types=1);

namespace Larder\Tests\Store\Sqlite;

use Larder\Store\Change;
use Larder\Store\Sqlite\SqliteStore;
use Larder\Tests\Contract\Forks;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** Many processes at once, killed at any instant, forked at any instant. */
final class SqliteProcessesTest extends TestCase
{
    use Directory;
    use Forks;
    use Strict;

    protected const FORKS = true;

    /** @var list<string> */
    private array $answers = [];

    protected function tearDown(): void
    {
        $this->endChildren();
        \array_map(static fn(string $file): bool => !\is_file($file) || \unlink($file), $this->answers);
    }

    #[TestWith([1.5])]
    public function testAFollowerMissesNoChangeOfWritersThatAreKilled(float $seconds): void
    {
        $this->follow($seconds);
    }

    #[TestWith([1.5])]
    public function testAFollowerMissesNothingThatIsAppendedByWritersThatAreKilled(float $seconds): void
    {
        $this->follow($seconds, true);
    }

    #[Group('long')]
    #[TestWith([false])]
    #[TestWith([true])]
    public function testAFollowerMissesNoChangeOfWritersThatAreKilledForLonger(bool $appending): void
    {
        $this->follow(60, $appending);
    }

    /**
     * Three writers are killed again and again. Each numbers its writes, and notes a number in a file as soon as
     * its write has returned. A follower that has only since() and what it read keeps a copy, and after every
     * look the copy has to be what the database has, and no older than what was noted before the look.
     */
    private function follow(float $seconds, bool $appending = false): void
    {
        $writer = function (int $i) use ($appending): void {
            $notes = \fopen($this->directory . "/note$i", 'c+');
            self::assertIsResource($notes);
            $store = $this->store();
            $store->beginView();
            for ($n = (int) (self::get($store, "k$i") ?? 0) + 1; ; $n++) {
                $changes = [new Change("k$i", (string) $n, "writer-00{$i}__", kind: 's')];
                // First: who is killed between two appends has not written its number, and the next one begins with it.
                $n % 3 === 0 && \array_unshift($changes, new Change("twin$i", (string) $n, "writer-00{$i}__"));
                if ($appending && $n % 7 !== 0) {
                    foreach ($changes as $change) {
                        $change->asks = false;
                        $store->write([$change]);
                    }
                    $n % 11 === 0 && $store->beginView();
                } else {
                    $store->write($changes);
                }
                \rewind($notes);
                \fwrite($notes, \sprintf('%010d', $n));
                $n % 50 === 0 && $store->tidy();
            }
        };
        $store = $this->store();
        $seen = $store->since('', 0, '');
        $copy = [];
        $kills = $cheap = $looks = 0;
        $children = [];
        $keys = ['k0', 'k1', 'k2', 'twin0', 'twin1', 'twin2'];
        for ($end = \microtime(true) + $seconds; \microtime(true) < $end || $kills < 6;) {
            for ($i = 0; $i < 3; $i++) {
                $children[$i] ??= $this->begin(static fn() => $writer($i));
            }
            for ($look = 0; $look < 10; $look++) {
                \usleep(\mt_rand(0, 300));
                $noted = [];
                for ($i = 0; $i < 3; $i++) {
                    $noted[$i] = \is_file("$this->directory/note$i") ? (int) \file_get_contents("$this->directory/note$i") : 0;
                }
                $changes = $store->since($seen->epoch, $seen->end, $seen->token);
                self::assertTrue($changes->complete);
                self::assertSame($seen->epoch, $changes->epoch);
                $cheap += $changes->token === $seen->token ? 1 : 0;
                $looks++;
                foreach ($changes->list as [$key]) {
                    unset($copy[$key]);
                }
                $seen = $changes;
                foreach ($keys as $key) {
                    if (!isset($copy[$key])) {
                        $view = $store->read([$key]);
                        // As a near tier does: what changed after the position it follows will be named next time.
                        $copy[$key] = ($view->records[$key] ?? null)?->body ?? '0';
                    }
                }
                foreach ($noted as $i => $number) {
                    self::assertGreaterThanOrEqual($number, (int) $copy["k$i"], "The change that returned is missing (look $looks, after $kills kills).");
                    self::assertGreaterThanOrEqual($number - $number % 3, (int) $copy["twin$i"]);
                }
            }
            $victim = \mt_rand(0, 2);
            \posix_kill($children[$victim], \SIGKILL);
            \pcntl_waitpid($children[$victim], $status);
            unset($children[$victim], $this->children[$children[$victim] ?? 0]);
            $kills++;
        }
        foreach ($children as $pid) {
            \posix_kill($pid, \SIGKILL);
            \pcntl_waitpid($pid, $status);
        }
        $this->children = [];
        $changes = $store->since($seen->epoch, $seen->end, $seen->token);
        foreach ($changes->list as [$key]) {
            unset($copy[$key]);
        }
        $quiet = $store->since($changes->epoch, $changes->end, $changes->token);
        self::assertSame($changes->token, $quiet->token, 'With nobody writing, the bell is even.');
        foreach ($keys as $key) {
            self::assertSame(self::get($this->store(), $key) ?? '0', $copy[$key] ?? self::get($store, $key) ?? '0', $key);
        }
        self::assertGreaterThan(5, $kills);
        self::assertSame('ok', (new \PDO("sqlite:$this->directory/larder.db"))->query('PRAGMA integrity_check')?->fetchColumn());
    }

    public function testTenWritersAtOnceLoseNothing(): void
    {
        $each = 100;
        $this->inProcesses(10, function (int $i) use ($each): int {
            $store = $this->store();
            for ($n = 0; $n < $each; $n++) {
                self::put($store, "own$i:$n", "$i $n");
                do {
                    $view = $store->read(['sum']);
                    $sum = (int) (($view->records['sum'] ?? null)?->body ?? 0);
                    $done = $store->write([new Change('sum', (string) ($sum + 1), "writer-00{$i}__", $view->at, strict: true)])[0]->done;
                } while (!$done);
            }

            return 1;
        });
        $store = $this->store();
        self::assertSame((string) (10 * $each), self::get($store, 'sum'));
        for ($i = 0; $i < 10; $i++) {
            self::assertCount($each, $store->read(\array_map(static fn(int $n) => "own$i:$n", \range(0, $each - 1)))->records);
        }
    }

    /**
     * A signal handler that throws, at any instant, leaves neither a lock nor half of a write.
     *
     * Long: not by its second, but because PHP 8.2 and 8.4 themselves lose their heap in one of ten runs of it ("heap
     * corrupted", with no extension of ours loaded), which would end all tests with it.
     */
    #[Group('long')]
    public function testAWriteThatIsInterruptedByAnExceptionLeavesNothingBehind(): void
    {
        $store = $this->store();
        $other = new SqliteStore($this->directory, 8 << 20, 0.2);
        $interrupted = 0;
        \pcntl_async_signals(true);
        // Only inside the try, and once: on a busy machine the next signal is there before the exception is caught.
        $armed = false;
        \pcntl_signal(\SIGALRM, static function () use (&$armed): void {
            if ($armed) {
                $armed = false;
                throw new \DomainException('Time is up.');
            }
        });
        $parent = \posix_getpid();
        $pid = $this->begin(static function () use ($parent): void {
            while (\posix_getppid() === $parent) {
                \usleep(\mt_rand(500, 1500));
                \posix_kill($parent, \SIGALRM);
            }
        });
        try {
            $n = 0;
            while ($interrupted < 200) {
                try {
                    $armed = true;
                    for ($i = 0; $i < 20; $i++) {
                        $n++;
                        $store->write([new Change('a', (string) $n, 'aaaaaaaaaaaa'), new Change('b', (string) $n, 'aaaaaaaaaaaa')]);
                    }
                    // Signals are seen where a loop begins anew, and the outer one does so outside of the try.
                    $armed = false;
                } catch (\DomainException) {
                    $interrupted++;
                }
            }
        } finally {
            $armed = false;
            \posix_kill($pid, \SIGKILL);
            \pcntl_waitpid($pid, $status);
            unset($this->children[$pid]);
            \pcntl_signal(\SIGALRM, \SIG_DFL);
        }
        self::assertSame(self::get($other, 'a'), self::get($other, 'b'), 'Both or none.');
        self::put($other, 'a', 'other');
        self::put($store, 'a', 'own');
        self::assertSame('own', self::get($other, 'a'));
    }

    /** A daemon: what was opened before the fork is closed by the parent while the child goes on. */
    public function testAChildIsNotCutOffByItsParentsEnd(): void
    {
        $parent = $this->store();
        self::put($parent, 'k', 'v');
        $pid = $this->begin(function () use ($parent): string {
            self::put($parent, 'child', 'first');
            \file_put_contents($this->directory . '/ready', '');
            self::until(fn(): bool => \is_file($this->directory . '/closed'));
            self::put($parent, 'child', 'second');
            \file_put_contents($this->directory . '/done', (string) self::get($parent, 'child'));

            return '';
        });
        self::until(fn(): bool => \is_file($this->directory . '/ready'));
        unset($parent);
        $log = \is_file($this->directory . '/larder.db-wal');
        \file_put_contents($this->directory . '/closed', '');
        self::until(fn(): bool => \is_file($this->directory . '/done'));
        \pcntl_waitpid($pid, $status);
        self::assertTrue($log, 'The log of a database that is open elsewhere stays.');
        self::assertSame('second', self::get($this->store(), 'child'));
        self::assertSame('v', self::get($this->store(), 'k'));
    }

    public function testADaemonThatOpensBeforeItForksStaysWarm(): void
    {
        $parent = $this->store();
        self::put($parent, 'k', 'v');
        [$pid, $answer] = $this->fork(function () use ($parent): string {
            self::until(fn(): bool => \is_file($this->directory . '/closed'));

            return self::get($parent, 'k') . self::put($parent, 'child', 'first');
        });
        unset($parent);
        self::assertFileDoesNotExist($this->directory . '/larder.db-wal');
        \file_put_contents($this->directory . '/closed', '');
        \pcntl_waitpid($pid, $status);
        $result = \unserialize((string) \file_get_contents($answer));
        \unlink($answer);
        self::assertIsArray($result);
        self::assertNull($result[0]);
        self::assertStringStartsWith('v', (string) $result[1]);
        self::assertSame('first', self::get($this->store(), 'child'));
    }

    /** A child that ends without having used the store closes what it was given, and must not destroy anything. */
    public function testAChildThatEndsByItselfLeavesTheOthersAlone(): void
    {
        $parent = $this->store();
        self::put($parent, 'k', 'v');
        $pid = \pcntl_fork();
        if ($pid === 0) {
            try {
                self::until(fn(): bool => \is_file($this->directory . '/others'));
                unset($parent);
                \file_put_contents($this->directory . '/done', '');
            } finally {
                \posix_kill((int) \getmypid(), \SIGKILL);
            }
        }
        $this->children[$pid] = true;
        unset($parent);
        // The parent has closed, as the last one, and so deleted the log; another process makes a new one and dies.
        $other = $this->begin(function (): void {
            $store = $this->store();
            self::put($store, 'k', 'newer');
            \posix_kill((int) \getmypid(), \SIGKILL);
        });
        \pcntl_waitpid($other, $status);
        \file_put_contents($this->directory . '/others', '');
        self::until(fn(): bool => \is_file($this->directory . '/done'));
        \pcntl_waitpid($pid, $status);
        // Rather nothing than the older value.
        self::assertContains(self::get($this->store(), 'k'), ['newer', null]);
    }

    /**
     * A process that is killed, or whose answer nobody wants.
     *
     * @param \Closure(): mixed $work
     */
    private function begin(\Closure $work): int
    {
        [$pid, $answer] = $this->fork($work);
        $this->answers[] = $answer;

        return $pid;
    }

    private static function until(\Closure $true): void
    {
        for ($i = 0; $i < 5000; $i++) {
            if ($true()) {
                return;
            }
            \clearstatcache();
            \usleep(1000);
        }
        self::fail('Waited in vain.');
    }

    private function store(): SqliteStore
    {
        return new SqliteStore($this->directory, 8 << 20, 5.0);
    }
}
