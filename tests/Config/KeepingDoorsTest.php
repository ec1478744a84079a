<?php

declare(strict_types=1);

namespace Larder\Tests\Config;

use Larder\Cache;
use Larder\Config\InvalidConfiguration;
use Larder\Config\KeepingDsn;
use Larder\Counter;
use Larder\Counter\CounterFailure;
use Larder\Lock\LockFailure;
use Larder\Lock\Locks;
use Larder\Queue\FakeQueue;
use Larder\Queue\Queue;
use Larder\Queue\QueueFailure;
use Larder\RateLimiter;
use Larder\RateLimiter\RateLimiterFailure;
use Larder\Session\SessionFailure;
use Larder\Session\SessionHandler;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use Psr\Log\NullLogger;

/** What the doors of all that must not forget have in common. */
#[CoversClass(KeepingDsn::class)]
final class KeepingDoorsTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
    }

    /** @return iterable<string, array{\Closure(string|array<string, mixed>): object, list<\Closure>, class-string<\RuntimeException>}> how it is opened, what is done with it, and what it throws */
    public static function doors(): iterable
    {
        yield 'queue' => [static fn(string|array $source): Queue => Queue::open($source, 'mail'), [
            static fn(Queue $queue): string => $queue->push('body'),
            static fn(Queue $queue): string => $queue->push('body', 60),
            static fn(Queue $queue): mixed => $queue->pop(),
            static fn(Queue $queue): mixed => $queue->stats(),
        ], QueueFailure::class];
        yield 'counter' => [static fn(string|array $source): Counter => Counter::open($source, 'views'), [
            static fn(Counter $counter): int => $counter->add(),
            static fn(Counter $counter): int => $counter->value(),
            static fn(Counter $counter): mixed => $counter->reset(),
        ], CounterFailure::class];
        yield 'locks' => [static fn(string|array $source): Locks => Locks::open($source), [
            static fn(Locks $locks): mixed => $locks->acquire('k'),
            static fn(Locks $locks): mixed => $locks->held('k', 'owner'),
            static fn(Locks $locks): mixed => $locks->clear(),
        ], LockFailure::class];
        yield 'sessions' => [static fn(string|array $source): SessionHandler => SessionHandler::over($source), [
            static fn(SessionHandler $sessions): string => $sessions->read('mh3k4qdmr6p2'),
            static fn(SessionHandler $sessions): bool => $sessions->write('mh3k4qdmr6p2', 'data'),
            static fn(SessionHandler $sessions): bool => $sessions->updateTimestamp('mh3k4qdmr6p2', 'data'),
            static fn(SessionHandler $sessions): bool => $sessions->destroy('mh3k4qdmr6p2'),
        ], SessionFailure::class];
        yield 'rate limiter' => [static fn(string|array $source): RateLimiter => RateLimiter::open($source), [
            static fn(RateLimiter $limiter): mixed => $limiter->fixedWindow('k', 1, 1),
            static fn(RateLimiter $limiter): mixed => $limiter->clear('k'),
        ], RateLimiterFailure::class];
    }

    // Seen to fail: locks, sessions and rate limits in the default directory, which differs from user to user.
    /** @param \Closure(string): object $open */
    #[DataProvider('doors')]
    public function testADirectoryIsToBeNamed(\Closure $open): void
    {
        foreach (['sqlite://', 'sqlite://?timeout=1'] as $dsn) {
            try {
                $open($dsn);
                self::fail($dsn);
            } catch (InvalidConfiguration $refusal) {
                self::assertStringContainsString('it names no directory', $refusal->getMessage());
                self::assertStringContainsString('write for example sqlite:///var/lib/app/', $refusal->getMessage());
            }
        }
    }

    // Seen to fail: System\Failure out of Queue::open().
    /**
     * @param \Closure(string|array<string, mixed>): object $open
     * @param list<\Closure>                               $uses
     * @param class-string                                 $failure
     */
    #[DataProvider('doors')]
    public function testADirectoryThatCannotBeMadeIsItsOwnFailure(\Closure $open, array $uses, string $failure): void
    {
        \file_put_contents($this->directory->file('file'), '');
        $dsn = 'sqlite://' . $this->directory->file('file/below');
        foreach ([$dsn, ['dsn' => $dsn], "$dsn?timeout=1"] as $source) {
            self::assertSame($failure, self::thrown(static fn(): object => $open($source)));
        }
    }

    /**
     * @param \Closure(string|array<string, mixed>): object $open
     * @param list<\Closure>                               $uses
     * @param class-string                                 $failure
     */
    #[DataProvider('doors')]
    public function testAllThatGoesWrongLaterIsItsOwnFailure(\Closure $open, array $uses, string $failure): void
    {
        foreach ($uses as $i => $use) {
            $path = $this->directory->file("d$i");
            foreach (["sqlite://$path", "sqlite://$path?timeout=1"] as $source) {
                $door = $open($source);
                self::remove($path);
                \file_put_contents($path, 'a file in its place');
                self::assertSame($failure, self::thrown(static fn(): mixed => $use($door)), "use $i, the directory is gone");
                \unlink($path);
            }
            $open("sqlite://$path");
            foreach (['queue-mail.db', 'queue-mail.log', 'counters.db', 'locks.db', 'sessions.db', 'limits.db'] as $file) {
                \symlink('/dev/null', "$path/$file");
            }
            self::assertSame($failure, self::thrown(static fn(): mixed => $use($open("sqlite://$path"))), "use $i, over a link");
            foreach (['redis', 'predis', 'redis+sentinel', 'redis+cluster', 'redis+single'] as $scheme) {
                $away = "$scheme://127.0.0.1:1" . ($scheme === 'redis+sentinel' ? '/mymaster' : '');
                self::assertSame($failure, self::thrown(static fn(): mixed => $use($open($away))), "use $i, $scheme");
            }
            $credentials = static fn(): never => throw new \LogicException('It cannot be had.');
            self::assertSame($failure, self::thrown(static fn(): mixed => $use($open(['dsn' => 'predis://127.0.0.1:1', 'credentials' => $credentials]))), "use $i, credentials");
        }
    }

    // Seen to fail: the messages of a cache's options, and of "a whole number" without the value.
    /** @param \Closure(string|array<string, mixed>): object $open */
    #[DataProvider('doors')]
    public function testAWrongOptionIsSaidWithItsValueAndWhatToWrite(\Closure $open): void
    {
        $dsn = 'redis://h';
        $name = $this->dataName();
        $said = [
            [['dsn' => ''], '/^The DSN is empty .*Write for example sqlite:\/\/\/var\/lib\/app\/\w+\.$/'],
            [['dsn' => $dsn, 'timeout' => '1e12'], '/"timeout" is "1e12", but must be a number of seconds above zero and below a billion\. Write for example timeout=5\./'],
            [['dsn' => $dsn, 'timeout' => 'long'], '/"timeout" is "long"/'],
            [['dsn' => $dsn, 'prefix' => 'x'], '/^Unknown option "prefix"\. Known options: /'],
            [['dsn' => $dsn, 'namespace' => 'x'], '/^Unknown option "namespace"\. Known options: /'],
            [['dsn' => $dsn, 'cafile' => '/x'], '/^Unknown option "cafile"\. Put it into the query of the DSN: rediss:/'],
            [['dsn' => $dsn, 'password' => 'x'], '/^Unknown option "password"\. Put user and password into the DSN/'],
        ];
        if ($name !== 'sessions') {
            $said[] = [['dsn' => $dsn, 'ttl' => 5], '/^Unknown option "ttl"\. Known options: /'];
        }
        if ($name === 'queue') {
            $said[] = [['dsn' => $dsn, 'limit' => 'many'], '/"limit" is "many", but must be a whole number from 1 on\. Write for example limit=100000\./'];
            $said[] = [['dsn' => $dsn, 'attempts' => 0], '/"attempts" is "0", but must be a whole number from 1 on\. Write for example attempts=5\./'];
            $said[] = [['dsn' => $dsn, 'attempts' => 1.5], '/"attempts" is "1.5"/'];
        }
        if ($name === 'locks' || $name === 'sessions') {
            $said[] = [['dsn' => $dsn, 'replicas' => 'two'], '/"replicas" is "two", but must be a whole number from 0 to 100\. Write for example replicas=1\./'];
        }
        foreach ($said as [$source, $message]) {
            try {
                $open($source);
                self::fail($message);
            } catch (InvalidConfiguration $refusal) {
                self::assertMatchesRegularExpression($message, $refusal->getMessage());
            }
        }
    }

    public function testAFakeQueueTakesNoOptionThatDoesNothing(): void
    {
        foreach (['dsn' => 'sqlite:///d', 'timeout' => 5, 'synchronous' => 'full', 'persist' => 'required'] as $option => $value) {
            try {
                new FakeQueue('mail', [$option => $value]);
                self::fail($option);
            } catch (InvalidConfiguration $refusal) {
                self::assertStringContainsString("Unknown option \"$option\". Known options: limit, attempts, keep, secret", $refusal->getMessage());
            }
        }
        self::assertSame(0, (new FakeQueue('mail', ['limit' => 1, 'attempts' => 1, 'keep' => 1, 'secret' => 's']))->queue->size());
    }

    // Seen to fail: var_export() and (array) of all of them; a closure's variables in print_r().
    /**
     * @param \Closure(string|array<string, mixed>): object $open
     * @param list<\Closure>                               $uses
     */
    #[DataProvider('doors')]
    public function testNoPasswordIsInADumpAnExportOrATrace(\Closure $open, array $uses): void
    {
        $secret = 'hunter-2';
        $before = \ini_set('zend.exception_ignore_args', '0');
        $sources = [];
        foreach (['redis', 'predis'] as $scheme) {
            $sources[] = ['dsn' => "$scheme://user:$secret@127.0.0.1:1"];
            $sources[] = ['dsn' => "$scheme://127.0.0.1:1", 'credentials' => static fn(): array => ['user', $secret]];
        }
        $sources[] = ['dsn' => "redis+sentinel://user:$secret@127.0.0.1:1/shop?sentinel_password=$secret"];
        $sources[] = ['dsn' => "redis+cluster://:$secret@127.0.0.1:1"];
        try {
            foreach ($sources as $i => $source) {
                $source += $this->dataName() === 'queue' ? ['secret' => $secret] : [];
                $door = $open($source);
                foreach ($uses as $use) {
                    try {
                        $use($door);
                        self::fail('Nobody is there.');
                    } catch (\RuntimeException $failure) {
                        for ($each = $failure; $each !== null; $each = $each->getPrevious()) {
                            self::assertStringNotContainsString($secret, $each . \print_r(\array_column($each->getTrace(), 'args'), true));
                        }
                    }
                }
                self::assertHidden($secret, $door, "source $i");
            }
            foreach (["redis://user:$secret@127.0.0.1:x", "redis+sentinel://user:$secret@h", "redis://user:$secret@h/x?timeout=no", "sqlite://user:$secret@h", $secret] as $wrong) {
                try {
                    $open($wrong);
                    self::fail('It is malformed.');
                } catch (InvalidConfiguration $refusal) {
                    $frames = \array_filter($refusal->getTrace(), static fn(array $frame): bool => \str_starts_with($frame['class'] ?? '', 'Larder\\') && !\str_starts_with($frame['class'] ?? '', 'Larder\\Tests\\'));
                    self::assertStringNotContainsString($secret, $refusal->getMessage() . \print_r(\array_column($frames, 'args'), true));
                }
            }
        } finally {
            \ini_set('zend.exception_ignore_args', (string) $before);
        }
    }

    public function testNoSessionIsInADumpOrAnExport(): void
    {
        $sessions = SessionHandler::over('sqlite://' . $this->directory->file('sessions'));
        $sessions->read('mh3k4qdmr6p2');
        $sessions->write('mh3k4qdmr6p2', 'user|s:8:"hunter-2";');
        self::assertSame('user|s:8:"hunter-2";', $sessions->read('mh3k4qdmr6p2'));
        self::assertHidden('hunter-2', $sessions, 'read');
    }

    public function testACacheAndAFakeQueueHideTheirSecrets(): void
    {
        foreach (['redis', 'predis'] as $scheme) {
            $cache = Cache::open(['far' => "$scheme://user:hunter-2@127.0.0.1:1", 'near' => 'none', 'secret' => 'hunter-2', 'logger' => new NullLogger()]);
            $cache->get('k');
            self::assertHidden('hunter-2', $cache, $scheme);
        }
        self::assertHidden('hunter-2', new FakeQueue('mail', ['secret' => 'hunter-2']), 'fake queue');
    }

    private static function assertHidden(string $secret, object $object, string $what): void
    {
        \ob_start();
        \var_dump($object);
        $dumped = (string) \ob_get_clean();
        self::assertStringNotContainsString($secret, $dumped, "var_dump, $what");
        self::assertStringNotContainsString($secret, \print_r($object, true), "print_r, $what");
        // PHP warns of circles, and goes on.
        self::assertStringNotContainsString($secret, (string) @\var_export($object, true), "var_export, $what");
        self::assertStringNotContainsString($secret, (string) \json_encode($object, \JSON_PARTIAL_OUTPUT_ON_ERROR), "JSON, $what");
        $seen = [];
        $walk = static function (mixed $value, string $path) use (&$walk, &$seen, $secret, $what): void {
            if (\is_string($value)) {
                self::assertStringNotContainsString($secret, $value, "(array) $path, $what");
            } elseif (\is_array($value) || \is_object($value) && !isset($seen[\spl_object_id($value)])) {
                \is_object($value) && $seen[\spl_object_id($value)] = $value;
                foreach ((array) $value as $name => $part) {
                    $walk($part, "$path.$name");
                }
            }
        };
        $walk($object, '');
    }

    // Seen to fail: "the disk gave an error" of locks, whose index found no room.
    /**
     * @param \Closure(string|array<string, mixed>): object $open
     * @param list<\Closure>                               $uses
     * @param class-string                                 $failure
     */
    #[DataProvider('doors')]
    public function testAFullDiskIsSaidWithWhatToDo(\Closure $open, array $uses, string $failure): void
    {
        \mkdir($path = $this->directory->file('full'), 0o700);
        if (\posix_geteuid() !== 0 || \exec('mount -t tmpfs -o size=1m,mode=0700 larder ' . \escapeshellarg($path) . ' 2>&1', $said, $status) === false || $status !== 0) {
            self::markTestSkipped('Needs root and the right to mount a tmpfs.');
        }
        try {
            // Full before the database's log and its index, and then before the database.
            foreach (['opened', 'new'] as $when) {
                $door = $open("sqlite://$path/$when");
                $when === 'new' || $uses[0]($door);
                unset($door);
                \file_put_contents("$path/else", \str_repeat('x', 2_000_000));
                $message = '';
                try {
                    $door = $open("sqlite://$path/$when");
                    for ($i = 0; $i < 1_000; $i++) {
                        \array_map(static fn(\Closure $use): mixed => $use($door), $uses);
                    }
                } catch (\RuntimeException $thrown) {
                    self::assertSame($failure, $thrown::class);
                    $message = $thrown->getMessage();
                }
                self::assertMatchesRegularExpression('/the disk is full|No space left on device/', $message, $when);
                unset($door);
                \unlink("$path/else");
            }
        } finally {
            unset($door);
            \exec('umount -l ' . \escapeshellarg($path));
        }
    }

    public function testACacheWithoutItsDirectoryGoesOn(): void
    {
        \file_put_contents($this->directory->file('file'), '');
        $cache = Cache::open(['dsn' => 'sqlite://' . $this->directory->file('file/below'), 'logger' => new NullLogger()]);
        self::assertFalse($cache->set('k', 'v') && $cache->add('l', 'v'));
        self::assertNull($cache->get('none'));
    }

    private static function remove(string $path): void
    {
        \array_map(\unlink(...), \glob("$path/{,.}[!.]*", \GLOB_BRACE) ?: []);
        \rmdir($path);
    }

    /** @return class-string the class of what is thrown */
    private static function thrown(\Closure $call): string
    {
        try {
            $call();
        } catch (\Throwable $thrown) {
            return $thrown::class;
        }

        self::fail('Nothing was thrown.');
    }
}
