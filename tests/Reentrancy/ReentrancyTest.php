<?php

declare(strict_types=1);

namespace Larder\Tests\Reentrancy;

use Larder\Tests\Support\MemcachedServer;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/**
 * A destructor, a signal's handler or a value's own methods may call the cache in the middle of any of its calls, over
 * every engine: each answers as if it were alone, and nobody gets another key's value, a lock twice, or an Error.
 *
 * This folder holds that test and nothing that others use. drill.php is its command.
 */
#[CoversNothing]
#[Group('slow')]
final class ReentrancyTest extends TestCase
{
    private static ?TemporaryDirectory $directory = null;
    private static ?RedisServer $redis = null;
    private static ?MemcachedServer $memcached = null;

    public static function tearDownAfterClass(): void
    {
        self::$memcached?->end();
        self::$directory = self::$redis = self::$memcached = null;
    }

    #[DataProvider('someEngines')]
    public function testCallsComeAfterSomeStatements(string $engine): void
    {
        $this->drill($engine, 'once', 25);
    }

    #[DataProvider('someEngines')]
    public function testCallsComeAgainAndAgain(string $engine): void
    {
        // Over Memcached a call is many more statements.
        $this->drill($engine, 'each', $engine === 'memcached' ? 997 : 199);
    }

    #[DataProvider('someEngines')]
    public function testValuesCallWhenTheyAreStoredAndRead(string $engine): void
    {
        $this->drill($engine, 'wakes', 1);
    }

    #[DataProvider('someEngines')]
    public function testDestructorsCallWhenTheCollectorRuns(string $engine): void
    {
        $this->drill($engine, 'collects', 1);
    }

    #[DataProvider('someEngines')]
    public function testHandlersOfSignalsCall(string $engine): void
    {
        $this->drill($engine, 'signals', 1);
    }

    /**
     * Seen to fail: after the copy had been taken, and before it was noted that nothing had come between; and over APCu,
     * after the copy's position had been found to be within the view.
     */
    #[DataProvider('nearestTiers')]
    public function testADeletionAfterAnyStatementOfAGetIsSeen(string $engine): void
    {
        $this->afterAnyStatement($engine, <<<'PHP'
            // An array is kept encoded until it is asked for.
            $cache->set('k', $value);
            $cache->writeFills();
            $cache->refresh();
            $during(fn() => $cache->get('k'), fn() => $cache->delete('k'));
            return $cache->get('k') === null;
            PHP);
    }

    #[DataProvider('nearestTiers')]
    public function testAFlushAfterAnyStatementOfAGetIsSeen(string $engine): void
    {
        $this->afterAnyStatement($engine, <<<'PHP'
            $cache->set('k', $value);
            $cache->writeFills();
            $cache->refresh();
            $during(fn() => $cache->get('k'), fn() => $cache->flush());
            return $cache->get('k') === null;
            PHP);
    }

    /** Seen to fail: after the delete had left the process, and before it was noted. */
    #[DataProvider('nearestTiers')]
    public function testWhatIsReadAndAppliedAfterAnyStatementOfADeleteDoesNotStay(string $engine): void
    {
        $this->afterAnyStatement($engine, <<<'PHP'
            $cache->set('k', $value);
            $cache->writeFills();
            $cache->refresh();
            $cache->get('k');
            $cache->forget();
            $during(fn() => $cache->delete('k'), fn() => [$cache->get('k'), $cache->set('other', 1), $cache->add('lock', 1), $cache->writeFills()]);
            $there = [$cache->get('k')];
            $cache->refresh();
            return [...$there, $cache->get('k')] === [null, null];
            PHP);
    }

    /** Seen to fail: what was applied as the newer value was put near as the older one. */
    #[DataProvider('nearestTiers')]
    public function testWhatIsReadAndAppliedAfterAnyStatementOfASetDoesNotStay(string $engine): void
    {
        $this->afterAnyStatement($engine, <<<'PHP'
            $cache->set('k', 'old');
            $cache->writeFills();
            $cache->refresh();
            $cache->get('k');
            // One that waits to be applied.
            $cache->set('k', 'older');
            $cache->forget();
            $during(fn() => $cache->set('k', $value), fn() => [$cache->get('k'), $cache->set('other', 1), $cache->add('lock', 1), $cache->writeFills()]);
            $there = [$cache->get('k')];
            $cache->refresh();
            return [...$there, $cache->get('k')] === [$value, $value];
            PHP);
    }

    /** @param string $code with $during(what is done, what comes after one of its statements); returns whether it is right */
    private function afterAnyStatement(string $engine, string $code): void
    {
        $options = $this->options($engine);
        $process = Process::snippet(\strtr(<<<'PHP'
            Larder\Tests\Reentrancy\Instrumented::load($argv[1]);
            $cache = Larder\Cache::open(json_decode($argv[2], true));
            $left = PHP_INT_MAX;
            $comes = null;
            register_tick_function(static function () use (&$left, &$comes): void {
                --$left === 0 && $comes();
            });
            $all = 0;
            foreach ([['v'], 'v', str_repeat('v', 3000)] as $value) {
                for ($at = 1, $over = false; !$over; $at++, $all++) {
                    $during = static function (Closure $call, Closure $then) use (&$left, &$comes, $at, &$over): void {
                        $comes = $then;
                        $left = $at;
                        $call();
                        $over = $left > 0;
                        $left = PHP_INT_MAX;
                    };
                    $right = (static function () use ($cache, $during, $value): bool { CODE })();
                    $right || $over || print("wrong after statement $at\n");
                }
            }
            echo $all > 30 ? 'all of them' : "only $all";
            PHP, ['CODE' => $code]), [(string) self::$directory?->file('src'), (string) \json_encode($options)]);
        self::assertSame('all of them', $process->output(120.0), $process->errors());
    }

    /** Where a store may be left in the middle it is thrown away: what is in memory alone would be lost. */
    #[DataProvider('someEngines')]
    public function testHandlersOfSignalsThrow(string $engine): void
    {
        $this->drill($engine, 'throws', 15);
    }

    /** Nor may what they throw keep anything taken: a lease, a lock, a copy whose end is not noted. */
    #[DataProvider('someEngines')]
    public function testSignalsAreRaisedWhoseHandlersThrow(string $engine): void
    {
        $this->drill($engine, 'raises', 15);
    }

    #[DataProvider('otherEngines')]
    #[Group('long')]
    public function testOverOtherEngines(string $engine): void
    {
        foreach (['once' => 25, 'each' => 199, 'wakes' => 1, 'collects' => 1, 'signals' => 1, 'raises' => 15] + ($engine === 'memory' ? [] : ['throws' => 15]) as $mode => $count) {
            $this->drill($engine, $mode, $count);
        }
    }

    #[DataProvider('engines')]
    #[Group('long')]
    public function testForLong(string $engine): void
    {
        foreach (['once' => 3000, 'each' => 29, 'collects' => 30, 'signals' => 100, 'raises' => 1000] + ($engine === 'memory' ? [] : ['throws' => 1000]) as $mode => $count) {
            $this->drill($engine, $mode, $count);
        }
    }

    /** @return iterable<string, array{string}> one of each kind: a lock, a script, a step at a time, shared memory */
    public static function someEngines(): iterable
    {
        foreach (['sqlite', 'redis', 'memcached', 'segment before sqlite'] as $engine) {
            yield $engine => [$engine];
        }
    }

    /** @return iterable<string, array{string}> */
    public static function nearestTiers(): iterable
    {
        // Over Memcached a call that others overtake may be given up.
        foreach (['memory', 'sqlite', 'apcu before sqlite', 'segment before sqlite', 'redis', 'sqlite before redis'] as $engine) {
            yield $engine => [$engine];
        }
    }

    /** @return iterable<string, array{string}> */
    public static function otherEngines(): iterable
    {
        foreach (['apcu before sqlite', 'file', 'memory', 'predis', 'sqlite before redis'] as $engine) {
            yield $engine => [$engine];
        }
    }

    /** @return iterable<string, array{string}> */
    public static function engines(): iterable
    {
        yield from self::someEngines();
        yield from self::otherEngines();
    }

    private function drill(string $engine, string $mode, int $count): void
    {
        $options = $this->options($engine);
        $process = Process::php(__DIR__ . '/drill.php', [(string) self::$directory?->file('src'), (string) \json_encode($options), $mode, (string) $count], ['apc.enable_cli' => 1]);
        $lines = $process->output(600.0);
        self::assertSame(0, $process->wait(), $process->errors() . $lines);
        self::assertMatchesRegularExpression('/^\d{4,} statements, [1-9]\d* interruptions, \d+ refused, 0 wrong\n$/', $lines, $process->errors());
    }

    /** @return array<string, mixed> */
    private function options(string $engine): array
    {
        $needs = ['sqlite' => 'pdo_sqlite', 'apcu' => 'apcu', 'redis' => 'redis', 'memcached' => 'memcached', 'segment' => 'larder'];
        foreach ($needs as $word => $extension) {
            if (\str_contains($engine, $word) && $engine !== 'predis' && !\extension_loaded($extension)) {
                self::markTestSkipped("Needs the extension $extension.");
            }
        }
        $directory = (self::$directory ??= self::made())->file(\strtr($engine, ' ', '-'));
        if (\str_contains($engine, 'redis')) {
            RedisServer::program() ?? self::markTestSkipped('Needs redis-server.');
            self::$redis ??= new RedisServer();
        } elseif ($engine === 'memcached') {
            MemcachedServer::installed() || self::markTestSkipped('Needs memcached.');
            self::$memcached ??= new MemcachedServer();
        }
        $options = match ($engine) {
            'sqlite' => ['dsn' => "sqlite://$directory"],
            'apcu before sqlite' => ['dsn' => "sqlite://$directory", 'near' => 'apcu'],
            'segment before sqlite' => ['dsn' => "sqlite://$directory", 'near' => "segment://$directory.segment/segment"],
            'file' => ['dsn' => "file://$directory"],
            'redis' => ['dsn' => 'redis://' . self::$redis?->socket],
            'predis' => ['dsn' => 'predis://' . self::$redis?->socket],
            'sqlite before redis' => ['dsn' => 'redis://' . self::$redis?->socket, 'near' => "sqlite://$directory"],
            'memcached' => ['dsn' => 'memcached://' . self::$memcached?->address[0]],
            default => ['dsn' => "$engine://"],
        };

        // Time outs are long, so that a busy machine is no reason for a false.
        return $options + ['timeout' => 5.0] + ($engine === 'memory' ? [] : ['near' => 'none']);
    }

    private static function made(): TemporaryDirectory
    {
        $directory = new TemporaryDirectory('larder-r');
        Instrumented::make($directory->file('src'));

        return $directory;
    }
}
