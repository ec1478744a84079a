<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Lock\Locks;
use Larder\System\Clock;
use Larder\Tests\Config\Child;
use Larder\Tests\Support\Checkout;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/**
 * Two containers of one machine that share a volume: each numbers its processes anew, and has a /proc of its own.
 *
 * docs/operator.md says what holds between them.
 */
#[CoversNothing]
final class ContainersTest extends TestCase
{
    private const CONTAINER = ['unshare', '--pid', '--ipc', '--fork', '--kill-child', '--mount-proc'];

    private TemporaryDirectory $volume;

    /** @var list<Process> */
    private array $containers = [];

    protected function setUp(): void
    {
        \exec(\implode(' ', self::CONTAINER) . ' true 2>&1', $said, $status);
        if ($status !== 0) {
            self::markTestSkipped('Needs the right to make containers (unshare): ' . \implode(' ', $said));
        }
        $this->volume = new TemporaryDirectory();
    }

    protected function tearDown(): void
    {
        foreach ($this->containers as $container) {
            $container->kill();
        }
    }

    #[TestWith(['sqlite'])]
    #[TestWith(['file'])]
    #[TestWith(['sqlite', '?near=apcu'])]
    public function testTheyHaveOneCache(string $scheme, string $query = ''): void
    {
        [$web, $worker] = $this->containers("$scheme://{$this->volume->path}/cache$query");
        self::assertSame(self::told($web, 'getmypid()'), self::told($worker, 'getmypid()'), 'They number their processes alike.');
        for ($i = 1; $i <= 20; $i++) {
            self::assertTrue(self::told($web, "\$c->set('k', [$i])"));
            self::assertSame([$i], self::told($worker, "(\$c->refresh() ?? 0) ?: \$c->get('k')"));
            self::assertTrue(self::told($worker, "\$c->delete('k')"));
            self::assertNull(self::told($web, "(\$c->refresh() ?? 0) ?: \$c->get('k')"));
        }
        foreach ([$web, $worker] as $container) {
            $container->write("array_map(fn(\$i) => \$c->increment('n'), range(1, 200))\n");
        }
        $sums = \array_merge(...\array_map(static fn(Process $container): array => (array) \json_decode((string) $container->line()), [$web, $worker]));
        \sort($sums);
        self::assertSame(\range(1, 400), $sums);
    }

    // A container cannot tell that another's process has died: its lease ends by the time.
    public function testOneComputesUntilItsLeaseEndsThoughItsContainerWasKilled(): void
    {
        [$web, $worker] = $this->containers("sqlite://{$this->volume->path}/cache?lease=2");
        $begin = \hrtime(true);
        $web->write("\$c->remember('k', function () { echo \"1\\n\"; sleep(60); }, 60)\n");
        $web->expect('1');
        $web->kill();
        self::assertSame('computed', self::told($worker, "\$c->remember('k', fn() => 'computed', 60)"));
        self::assertGreaterThan(2.0, (\hrtime(true) - $begin) / 1e9, 'It waited for the lease.');
    }

    public function testALockOfAContainerThatWasKilledEndsAtItsTime(): void
    {
        [$web, $worker] = $this->containers("sqlite://{$this->volume->path}/cache");
        $open = '$locks ??= Larder\Lock\Locks::open("sqlite://' . $this->volume->path . '/locks")';
        self::assertTrue(self::told($web, "(\$long = ($open)->acquire('long', ttl: 600)) !== null && (\$short = ($open)->acquire('short', ttl: 1)) !== null"));
        self::assertFalse(self::told($worker, "(($open)->acquire('long', ttl: 600)) !== null"));
        $web->kill();
        self::assertFalse(self::told($worker, "(($open)->acquire('long', ttl: 600)) !== null"), 'Its holder may live.');
        self::assertTrue(self::told($worker, "($open)->block('short', 30, 600) !== null"));
    }

    // Seen to fail: a container whose clock is ahead since its boot took a lock that had not ended.
    public function testALockEndsByTheMachinesClockWhateverAContainersClockSays(): void
    {
        $ahead = [...self::CONTAINER, '--time', '--boottime', '100000', '--monotonic', '50000'];
        if (Child::run([...$ahead, 'true'])->status !== 0) {
            self::markTestSkipped('Needs name spaces of time (unshare --time).');
        }
        $locks = Locks::open("sqlite://{$this->volume->path}/locks");
        $lock = $locks->acquire('import', 300);
        self::assertNotNull($lock);
        $code = 'require ' . \var_export(Checkout::autoload(), true) . ';'
            . 'echo json_encode([Larder\Lock\Locks::open($argv[1])->acquire("import", 300), abs(Larder\System\Clock::now() - (int) $argv[2]) < 60_000]);';
        $child = Child::run([...$ahead, \PHP_BINARY, '-r', $code, '--', "sqlite://{$this->volume->path}/locks", (string) Clock::now()]);

        self::assertSame('[null,true]', $child->output, $child->errors);
        self::assertTrue($lock->release());
    }

    public function testAMessageOfAContainerThatWasKilledComesAgain(): void
    {
        [$web, $worker] = $this->containers("sqlite://{$this->volume->path}/cache");
        $open = '$queue ??= Larder\Queue\Queue::open("sqlite://' . $this->volume->path . '/queue", "mail")';
        self::assertIsString(self::told($web, "($open)->push('a')"));
        self::assertSame('a', self::told($web, "($open)->pop(visibility: 1)->body"));
        $web->kill();
        self::assertSame('a', self::told($worker, "($open)->pop(wait: 30)->body"));
    }

    // Kubernetes makes an emptyDir for all users (0777, root's), and with fsGroup for a group (2775 or 2777).
    #[TestWith([0o777, 0, false])]
    #[TestWith([0o1777, 0, true])]
    #[TestWith([0o2775, 1000, true])]
    #[TestWith([0o2777, 1000, false])]
    public function testAVolumeOfRootsMayBeSharedByUsersIfNoneCanTakeAnothersPlace(int $mode, int $group, bool $isFine): void
    {
        \chgrp($this->volume->path, $group);
        \chmod($this->volume->path, $mode);
        $code = 'require ' . \var_export(Checkout::autoload(), true) . ';'
            . 'posix_setgid(1000) && posix_setuid(1000) || exit(1); try { echo json_encode(Larder\Cache::open($argv[1])->set("k", 1)); } catch (Larder\Config\InvalidConfiguration $refusal) { echo $refusal->getMessage(); }';
        $child = Child::run([\PHP_BINARY, '-r', $code, '--', "sqlite://{$this->volume->path}/cache"]);
        $isFine ? self::assertSame('true', $child->output, $child->errors)
            : self::assertStringContainsString("let root type: chmod +t {$this->volume->path}", $child->output, $child->errors);
    }

    /** @return array{Process, Process} each runs a line of PHP and prints what it gives; `$c` is the cache */
    private function containers(string $dsn): array
    {
        $code = 'require ' . \var_export(Checkout::autoload(), true) . ';'
            . '$c = Larder\Cache::open($argv[1]); echo "ready\n"; while (($line = fgets(STDIN)) !== false) { echo json_encode(eval("return $line;")), "\n"; }';
        foreach ([1, 2] as $i) {
            $this->containers[] = $container = new Process([...self::CONTAINER, \PHP_BINARY, '-d', 'apc.enable_cli=1', '-r', $code, '--', $dsn]);
            $container->expect('ready');
        }

        return [$this->containers[0], $this->containers[1]];
    }

    private static function told(Process $container, string $code): mixed
    {
        $container->write("$code\n");
        $line = $container->line() ?? throw new \RuntimeException($container->errors());

        return \json_decode($line, true, 8, \JSON_THROW_ON_ERROR);
    }
}
