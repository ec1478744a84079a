<?php

declare(strict_types=1);

namespace Larder\Tests\Session;

use Larder\Session\SessionFailure;
use Larder\Session\SessionHandler;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\TestCase;

/** What sessions promise, over whatever keeps them. Each handler stands for a request of its own. */
abstract class SessionRules extends TestCase
{
    protected const ID = 'mh3k4qdmr6p2e9s8t1v5x7z0ab';

    protected TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
    }

    abstract protected function dsn(): string;

    /** What its end or clear() does to the lock of self::ID. */
    abstract protected function endTheLock(): void;

    /** @return int the server's, of all processes */
    abstract protected function connections(): int;

    /** @return string all that a reader of the store sees, but for the format */
    abstract protected function bytes(): string;

    /** @param array<string, mixed> $options */
    protected function request(array $options = []): SessionHandler
    {
        return SessionHandler::over(['dsn' => $this->dsn()] + $options + ['wait' => 0.1]);
    }

    /** @param array<string, mixed> $options */
    protected function store(string $data, string $id = self::ID, array $options = []): void
    {
        $request = $this->request($options);
        $request->read($id);
        self::assertTrue($request->write($id, $data));
        self::assertTrue($request->close());
    }

    /** @param array<string, mixed> $options */
    protected function stored(string $id = self::ID, array $options = []): string
    {
        $request = $this->request($options);
        $data = $request->read($id);
        $request->close();

        return $data;
    }

    protected function assertRefused(\Closure $call, string $message): void
    {
        try {
            $call();
        } catch (SessionFailure $failure) {
            self::assertStringContainsString($message, $failure->getMessage());
            self::assertStringNotContainsString(self::ID, $failure->getMessage());

            return;
        }
        self::fail('It should have been refused.');
    }

    public function testWhatOneRequestWritesTheNextOneReads(): void
    {
        self::assertSame('', $this->stored());
        foreach (['a|i:1;', '', \implode('', \array_map(\chr(...), \range(0, 255))), \random_bytes(3_000_000), 'O:8:"stdClass":0:{}', '0'] as $data) {
            $this->store($data);
            self::assertSame(\sha1($data), \sha1($this->stored()));
        }
        self::assertSame('', $this->stored('another'));
    }

    // Seen to fail: SessionHandler with "lock" false.
    public function testOneRequestAtATimeHasASession(): void
    {
        $first = $this->request();
        $first->read(self::ID);
        $second = $this->request();
        $this->assertRefused(static fn() => $second->read(self::ID), 'session_write_close()');
        self::assertSame('', $this->request()->read('another'));
        $first->write(self::ID, 'first');
        self::assertSame('first', $second->read(self::ID), 'a write gives it back');
        $this->assertRefused(fn() => $this->stored(), 'session_write_close()');
        $second->updateTimestamp(self::ID, 'first');
        $third = $this->request();
        self::assertSame('first', $third->read(self::ID), 'and so does the renewal');
        $third->close();
        $fourth = $this->request();
        self::assertSame('first', $fourth->read(self::ID), 'and so does close()');
        $fourth->destroy(self::ID);
        self::assertSame('', $this->stored(), 'and so does destroy()');
        $fourth->close();
    }

    // Seen to fail: a new owner for each lock, and a version that is its owner's.
    public function testAWriteOfTheSameRequestCountsAsAnyOthers(): void
    {
        $slow = $this->request();
        $request = $this->request();
        $request->read(self::ID);
        $request->write(self::ID, 'first');
        self::assertSame('first', $slow->read(self::ID));
        $this->endTheLock();
        $request->close();
        self::assertSame('first', $request->read(self::ID));
        $request->write(self::ID, 'second');
        $this->assertRefused(static fn() => $slow->write(self::ID, 'old'), 'Nothing is written');
        self::assertSame('second', $this->stored());
    }

    public function testARequestKnowsWhatItHas(): void
    {
        $request = $this->request();
        $request->read(self::ID);
        self::assertSame('', $request->read(self::ID), 'session_reset() reads again');
        $request->read('another');
        $this->store('x');
        self::assertSame('', $request->read('another'));
        $request->close();
        self::assertSame('x', $request->read(self::ID));
        $request->write(self::ID, 'y');
        self::assertSame('y', $request->read(self::ID), 'it is taken anew');
        $request->close();
        $request->close();
    }

    public function testWithoutLocksTheLastWriteWins(): void
    {
        $this->store('old');
        $first = $this->request(['lock' => false]);
        $second = $this->request(['lock' => false]);
        self::assertSame(['old', 'old'], [$first->read(self::ID), $second->read(self::ID)]);
        $second->write(self::ID, 'second');
        $first->write(self::ID, 'first');
        $first->close();
        $second->close();
        self::assertSame('first', $this->stored());
        self::assertSame('first', $first->read(self::ID));
        $second->destroy(self::ID);
        $this->assertRefused(static fn() => $first->write(self::ID, 'logged in'), 'destroyed');
        self::assertSame('', $this->stored(), 'nobody is logged in again');
    }

    // Seen to fail: a write that looks at no version and at no holder.
    public function testAHolderWhoseLockHasEndedOverwritesNothingNewer(): void
    {
        foreach (['', 'old'] as $old) {
            $old === '' || $this->store($old);
            $late = $this->request();
            self::assertSame($old, $late->read(self::ID));
            $this->endTheLock();
            $next = $this->request();
            self::assertSame($old, $next->read(self::ID));
            $this->assertRefused(static fn() => $late->write(self::ID, 'late'), 'Another request');
            self::assertTrue($late->close());
            $this->assertRefused(fn() => $this->stored(), 'session_write_close()');
            $next->write(self::ID, 'next');
            $next->close();
            self::assertSame('next', $this->stored());
            $late->destroy(self::ID);
        }
    }

    // Seen to fail: a write that looks at the holder alone.
    public function testAHolderWhoseLockHasEndedOverwritesNothingThatWasWrittenSince(): void
    {
        $this->store('old');
        $late = $this->request();
        $late->read(self::ID);
        $this->endTheLock();
        $this->store('next');
        $this->assertRefused(static fn() => $late->write(self::ID, 'late'), 'Another request');
        $late->read(self::ID);
        $this->endTheLock();
        $this->request()->destroy(self::ID);
        $this->assertRefused(static fn() => $late->write(self::ID, 'late'), 'destroyed');
        self::assertSame('', $this->stored(), 'what was destroyed does not come back');
    }

    // Seen to fail: a write that asks for the lock alone.
    public function testAHolderWhoseLockHasEndedMayWriteWhatNobodyElseWrote(): void
    {
        $this->store('old');
        $late = $this->request();
        $late->read(self::ID);
        $this->endTheLock();
        self::assertSame('old', $this->stored());
        self::assertTrue($late->write(self::ID, 'late'));
        self::assertSame('late', $this->stored());
        self::assertTrue($late->write(self::ID, 'later'), 'a second write');
        $this->store('next');
        $this->assertRefused(static fn() => $late->write(self::ID, 'too late'), 'Another request');
        self::assertSame('next', $this->stored());
    }

    public function testASessionThatAnotherDestroysStaysDestroyed(): void
    {
        $this->store('old');
        $request = $this->request();
        $request->read(self::ID);
        self::assertTrue($this->request()->destroy(self::ID));
        $this->assertRefused(static fn() => $request->write(self::ID, 'new'), 'destroyed');
        self::assertTrue($request->updateTimestamp(self::ID, 'old'));
        self::assertFalse($this->request()->validateId(self::ID));
        self::assertSame('', $this->stored());
    }

    public function testWhatHasExpiredIsNeverRead(): void
    {
        $this->store('short', options: ['ttl' => 0.4]);
        $this->store('long', 'another', ['ttl' => 100]);
        self::assertTrue($this->request(['ttl' => 0.4, 'lock' => false])->validateId(self::ID));
        \usleep(500_000);
        $request = $this->request();
        self::assertFalse($request->validateId(self::ID));
        self::assertSame('', $request->read(self::ID));
        $request->close();
        self::assertSame('long', $this->stored('another'));
    }

    // Seen to fail: read() that leaves a session's end alone.
    public function testASessionInUseDoesNotExpire(): void
    {
        $this->store('data', options: ['ttl' => 0.5]);
        $request = $this->request(['ttl' => 60]);
        self::assertSame('data', $request->read(self::ID));
        \usleep(600_000);
        self::assertTrue($request->write(self::ID, 'more'));
        self::assertSame('more', $this->stored());
    }

    public function testARenewalSetsTheEndAndNothingElse(): void
    {
        $this->store('data', options: ['ttl' => 0.4]);
        $request = $this->request(['ttl' => 0.4]);
        $request->read(self::ID);
        $long = $this->request(['ttl' => 100]);
        $long->updateTimestamp(self::ID, 'something else');
        $request->close();
        \usleep(500_000);
        self::assertSame('data', $this->stored());
        self::assertTrue($long->updateTimestamp('another', 'data'));
        self::assertFalse($long->validateId('another'), 'what is not stored has no end');
    }

    public function testANewSessionInWhichNothingWasSetIsStored(): void
    {
        $request = $this->request();
        self::assertSame('', $request->read(self::ID));
        self::assertTrue($request->updateTimestamp(self::ID, ''));
        self::assertTrue($request->close());
        self::assertTrue($this->request()->validateId(self::ID));
    }

    public function testOnlyStoredIdsAreValid(): void
    {
        $request = $this->request();
        self::assertFalse($request->validateId(self::ID));
        $this->store('data');
        self::assertTrue($request->validateId(self::ID));
        $this->assertRefused(fn() => $this->stored(), 'session_write_close()');
        self::assertSame('data', $request->read(self::ID));
        self::assertFalse($request->validateId('another'), 'while it has one');
        self::assertTrue($request->validateId(self::ID));
        $request->close();
        self::assertMatchesRegularExpression('/^[A-Za-z0-9,-]{22,256}$/D', $id = $request->create_sid());
        self::assertNotSame($id, $request->create_sid());
    }

    // Seen to fail: validateId() that throws what take() throws: PHP sends a new id then.
    public function testAnIdStaysValidWhereItsSessionCannotBeHad(): void
    {
        $this->store('data');
        $holder = $this->request();
        $holder->read(self::ID);
        $request = $this->request(['wait' => 0.5]);
        $start = \hrtime(true);
        self::assertTrue($request->validateId(self::ID));
        $this->assertRefused(static fn() => $request->read(self::ID), 'session_write_close()');
        self::assertLessThan(0.9, (\hrtime(true) - $start) / 1e9, 'it waits once');
        $request->close();
        $holder->close();
        self::assertTrue($request->validateId(self::ID));
        self::assertSame('data', $request->read(self::ID));
    }

    public function testIdsAreHostile(): void
    {
        $request = $this->request();
        foreach (['', '../../../etc/passwd', "a\0b", 'a b', "a\n", '{x}', "\xff\xfe", \str_repeat('a', 257), '%2e', 'ä', "' OR 1=1 --"] as $id) {
            self::assertFalse($request->validateId($id), $id);
            foreach ([$request->read(...), $request->destroy(...), static fn(string $id) => $request->write($id, 'x'), static fn(string $id) => $request->updateTimestamp($id, 'x')] as $call) {
                $this->assertRefused(static fn() => $call($id), 'session.use_strict_mode');
            }
        }
        $this->store('x', \str_repeat('a', 256));
        self::assertSame('', $this->stored(\strtoupper(\str_repeat('a', 256))));
    }

    // Seen to fail: a key that is the id.
    public function testAReaderOfTheStoreLearnsNoId(): void
    {
        $this->store('the data');
        $request = $this->request();
        $request->read(self::ID);
        $bytes = $this->bytes();
        self::assertStringContainsString('the data', $bytes);
        self::assertStringContainsString(\hash('sha256', self::ID), $bytes);
        self::assertStringNotContainsString(self::ID, $bytes);
    }

    // Seen to fail: a write by the hold of the parent.
    public function testAChildLeavesItsParentsSessionAlone(): void
    {
        $this->store('old');
        $parent = $this->request();
        $parent->read(self::ID);
        $file = $this->directory->file('child');
        $pid = \pcntl_fork();
        if ($pid === 0) {
            try {
                $refused = 0;
                foreach ([static fn() => $parent->write(self::ID, 'child'), static fn() => $parent->read(self::ID)] as $call) {
                    try {
                        $call();
                    } catch (SessionFailure) {
                        ++$refused;
                    }
                }
                $parent->updateTimestamp(self::ID, 'old');
                $parent->close();
                $parent->read('mine');
                $parent->write('mine', 'child');
                \file_put_contents($file, "refused $refused");
            } finally {
                \posix_kill(\posix_getpid(), \SIGKILL);
            }
        }
        \pcntl_waitpid($pid, $status);
        self::assertSame('refused 2', \file_get_contents($file));
        $this->assertRefused(fn() => $this->stored(), 'session_write_close()');
        self::assertTrue($parent->write(self::ID, 'parent'));
        self::assertSame(['parent', 'child'], [$this->stored(), $this->stored('mine')]);
    }

    public function testManyProcessesCountWithoutLosingAny(): void
    {
        $this->store('0');
        $children = [];
        for ($i = 0; $i < 4; $i++) {
            $children[] = $this->child(<<<'PHP'
                for ($n = 0; $n < 25; $n++) {
                    $count = (int) $request->read($id);
                    usleep(200);
                    $request->write($id, (string) ($count + 1));
                    $request->close();
                }
                PHP);
        }
        foreach ($children as $child) {
            self::assertSame(0, $child->wait(), $child->errors());
        }
        self::assertSame('100', $this->stored());
    }

    public function testAKilledRequestLosesAtMostItsOwnWrite(): void
    {
        $this->store('0');
        for ($i = 0; $i < 6; $i++) {
            $before = $this->connections();
            $child = $this->child(<<<'PHP'
                for ($n = (int) $request->read($id); ; ) {
                    $request->write($id, ++$n . str_repeat(' ', 20_000));
                    echo "$n\n";
                    $request->read($id);
                }
                PHP);
            $told = 0;
            for ($lines = \random_int(1, 30); $lines > 0; $lines--) {
                $told = (int) $child->line();
            }
            $child->kill();
            $told = \max($told, (int) \trim((string) \strrchr("\n" . \trim($child->output()), "\n")));
            Wait::until(fn(): bool => $this->connections() <= $before, 'the server to have read all that the killed request has sent');
            $this->endTheLock();
            self::assertContains((int) $this->stored(), [$told, $told + 1]);
        }
    }

    public function testACommandLineForksInTheMiddleOfItsSession(): void
    {
        $child = Process::snippet(<<<'PHP'
            session_set_save_handler(Larder\Session\SessionHandler::over($argv[1]), true);
            session_id($argv[2]);
            session_start();
            $_SESSION['a'] = 1;
            session_write_close();
            session_start();
            if (pcntl_fork() === 0) {
                exit;
            }
            pcntl_wait($status);
            $_SESSION['a']++;
            session_write_close();
            session_start(['read_and_close' => true]);
            echo $_SESSION['a'], pcntl_wexitstatus($status), "\n";
            PHP, [$this->dsn(), self::ID], ['session.use_cookies' => 0, 'session.cache_limiter' => '', 'session.use_strict_mode' => 0]);
        self::assertSame(['20', 0, ''], [$child->line(), $child->wait(), $child->errors()]);
        self::assertSame('a|i:2;', $this->stored());
    }

    /** A process whose code has $request and $id. */
    protected function child(string $code): Process
    {
        return Process::snippet('$request = Larder\Session\SessionHandler::over($argv[1]); $id = $argv[2];' . $code, [$this->dsn(), self::ID]);
    }
}
