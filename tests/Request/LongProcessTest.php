<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\Attributes\RequiresSetting;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** What a process that lives on holds does not grow with what it has done. */
#[RequiresPhpExtension('pdo_sqlite')]
#[Group('slow')]
final class LongProcessTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
    }

    /** @param array<string, string> $options */
    private function cache(array $options = []): Cache
    {
        return Cache::open($options + ['dsn' => "sqlite://{$this->directory->path}/cache"]);
    }

    /** @param \Closure(int): void $work */
    private static function grows(int $times, \Closure $work): int
    {
        for ($i = 0; $i < \intdiv($times, 4); $i++) {
            $work($i);
        }
        \gc_collect_cycles();
        $before = \memory_get_usage();
        for (; $i < $times; $i++) {
            $work($i);
        }
        \gc_collect_cycles();

        return \memory_get_usage() - $before;
    }

    // Seen to fail: a position was noted for ever for each key written, 40 bytes each.
    public function testWithItsWrites(): void
    {
        $space = $this->cache()->group('transients', cacheOnly: true);
        self::assertLessThan(500_000, self::grows(40_000, static function (int $i) use ($space): void {
            $space->set("a key that is written once $i", $i);
            $space->delete("a key that is written once $i");
        }));
    }

    // Seen to fail: 1.3 kB for each, beside what is noted of the keys that were read.
    public function testWithTheGroupsItHasOpened(): void
    {
        $cache = $this->cache();
        self::assertLessThan(2_000_000, self::grows(4_000, static function (int $i) use ($cache): void {
            $cache->group("group $i")->get('k');
        }));
    }

    // Seen to fail: fills waited for the end of the request, however many.
    public function testWithWhatItHasFilled(): void
    {
        $cache = $this->cache();
        $value = \str_repeat('x', 10_000);
        self::assertLessThan(40_000_000, self::grows(8_000, static function (int $i) use ($cache, $value): void {
            $cache->fill("k$i", $value . $i);
        }));
        self::assertSame($value . '0', $this->cache()->get('k0'));
    }

    // Seen to fail: an array was counted by its encoded bytes, and took twenty times as much.
    public function testWithTheArraysItHasRead(): void
    {
        $cache = $this->cache();
        $small = \array_fill(0, 1000, 1);
        for ($i = 0; $i < 4_000; $i++) {
            $cache->set("k$i", [$i, ...$small]);
        }
        $reader = $this->cache();
        self::assertLessThan(40_000_000, self::grows(4_000, static function (int $i) use ($reader): void {
            $reader->get("k$i");
        }));
    }

    /**
     * Seen to fail: a list of the fibers' requests that is not weak.
     *
     * @param bool $inFibers each request
     */
    #[TestWith([false])]
    #[TestWith([true])]
    #[Group('long')]
    public function testAMillionRequests(bool $inFibers): void
    {
        $code = <<<'PHP'
            $cache = Larder\Cache::open("sqlite://$argv[1]/cache");
            $request = static function (int $i) use ($cache): void {
                $cache->refresh();
                $cache->get('k' . $i % 5_000) ?? $cache->fill('k' . $i % 5_000, $i);
                $i % 50 === 0 && $cache->set('s' . $i % 977, [$i], 0, ['t' . $i % 7]);
                $i % 70 === 0 && $cache->remember('r' . $i % 1_100, static fn(): int => $i, 1);
                $i % 997 === 0 && $cache->group('g')->invalidateTags('t1');
            };
            // What the process itself has taken, SQLite's pages included, in kB; and its open files.
            $look = static function (): array {
                preg_match('/RssAnon:\s+(\d+)/', file_get_contents('/proc/self/status'), $found);
                return [(int) $found[1], count(scandir('/proc/self/fd'))];
            };
            for ($i = 0; $i < 1_100_000; $i++) {
                $i === 100_000 && $before = $look();
                $argv[2] === '' ? $request($i) : (new Fiber($request))->start($i);
            }
            [$memory, $files] = $look();
            echo json_encode([$memory - $before[0] > 1_024 ? $memory - $before[0] : 0, $files - $before[1]]);
            PHP;
        $process = Process::snippet($code, [$this->directory->path, $inFibers ? '1' : '']);
        self::assertSame('[0,0]', $process->output(600.0), $process->errors());
    }

    /** A group's copies go when nobody holds them; what this process has written is still not shown as it was before. */
    #[RequiresPhpExtension('apcu')]
    #[RequiresSetting('apc.enable_cli', '1')]
    public function testAndForgetsNothingThatItHasWritten(): void
    {
        foreach (['set', 'delete'] as $how) {
            $options = ['near' => 'apcu'];
            $this->cache($options)->group('first')->set('k', 'old');
            self::assertSame('old', $this->cache($options)->group('first')->get('k'));
            $cache = $this->cache($options);
            $how === 'set' ? $cache->group('first')->set('k', 'new') : $cache->group('first')->delete('k');
            for ($i = 0; $i < 1_000; $i++) {
                $cache->group("group $i")->get('k');
            }
            self::assertSame($how === 'set' ? 'new' : null, $cache->group('first')->get('k'));
            $cache->refresh();
            self::assertSame($how === 'set' ? 'new' : null, $cache->group('first')->get('k'));
        }
    }

    /** Seen to fail: what a request notes of the keys that it has read was counted by keys, and a key may have 64 kB. */
    public function testManyLongKeysTakeABoundedMemory(): void
    {
        $code = <<<'PHP'
            $cache = Larder\Cache::open("sqlite://$argv[1]/cache");
            $cache->set('kept', 'before');
            for ($i = 0; $i < 2_000; $i++) {
                $cache->get(str_repeat('k', 60_000) . $i);
                $i % 10 === 0 && $cache->set(str_repeat('s', 60_000) . $i, 1);
            }
            echo $cache->get('kept');
            PHP;
        $process = Process::snippet($code, [$this->directory->path], ['memory_limit' => '96M']);
        self::assertSame('before', $process->output(60.0), $process->errors());
    }
}
