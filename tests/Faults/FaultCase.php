<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Cache;
use Larder\Config\Options;
use Larder\Config\StoreFactory;
use Larder\Outcome;
use PHPUnit\Framework\TestCase;

/**
 * Parts that fail, caused for real, as the application sees them through the front door.
 *
 * This folder holds, a kind of fault a file, what promise 5 says: a miss or the right value, false where something
 * was not done, no exception and no warning, in bounded time, one line in the log, and all well again when the part
 * is back. What one engine does by itself is tested beside it, in tests/Store.
 */
abstract class FaultCase extends TestCase
{
    /** Seconds; long enough that a busy machine does not fail by itself. */
    public const TIMEOUT = 0.6;

    /** How many time-outs a request may take in all, generously: what is promised is one. */
    protected const BOUND = 8;

    /** Seconds after which a part that failed is tried again (Request\Truth), and a bit. */
    protected const REST = 2.1;

    protected Lines $log;

    /** @var array<string, true> */
    private array $kept = [];

    protected function setUp(): void
    {
        $this->log = new Lines();
        \set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
    }

    protected function tearDown(): void
    {
        \restore_error_handler();
        // Caches go first, and with them their files and connections.
        \gc_collect_cycles();
        foreach ($this->kept as $file => $_) {
            foreach ([$file, $file . '.gate'] as $path) {
                \is_file($path) && \unlink($path);
            }
        }
    }

    /** @param array<string, mixed> $options */
    protected function open(array $options): Cache
    {
        return Cache::open($options + ['logger' => $this->log]);
    }

    /**
     * Where invalidations of such a cache are kept; removed with the test.
     *
     * @param array<string, mixed> $options
     */
    protected function keptFile(array $options): string
    {
        $checked = Options::from($options);

        $file = StoreFactory::runtime($checked) . '/kept-' . StoreFactory::mark($checked);
        $this->kept[$file] = true;

        return $file;
    }

    /** Nothing can be asked, nothing is done, nobody is disturbed, and it takes no longer than it may. */
    protected function assertDown(Cache $cache): void
    {
        $start = \hrtime(true);
        $isDown = static function (Cache $cache, mixed $returned): void {
            self::assertContains($returned, [false, null]);
            self::assertSame(Outcome::Down, $cache->lastOutcome());
        };
        self::assertNull($cache->get('absent'));
        self::assertSame('default', $cache->get('absent', 'default'));
        self::assertFalse($cache->has('absent'));
        self::assertSame([], $cache->getMultiple(['absent', 'absent too']));
        $isDown($cache, $cache->set('new', 'value'));
        self::assertNull($cache->get('new'), 'what was not stored is not shown');
        $isDown($cache, $cache->set('new', 'value', 60, ['tag']));
        $isDown($cache, $cache->add('lock', 'mine'));
        $isDown($cache, $cache->replace('lock', 'mine'));
        $isDown($cache, $cache->update('new', static fn(): int => 1));
        $isDown($cache, $cache->touch('new', 60));
        $isDown($cache, $cache->touch('new', -1));
        $isDown($cache, $cache->increment('count'));
        $isDown($cache, $cache->decrement('count'));
        $isDown($cache, $cache->setMultiple(['one' => 1, 'two' => 2]));
        $isDown($cache, $cache->delete('absent'));
        $isDown($cache, $cache->deleteMultiple(['one', 'two']));
        $isDown($cache, $cache->invalidateTags('tag'));
        $group = $cache->group('group');
        $isDown($group, $group->set('new', 'value'));
        $isDown($group, $group->flush());
        $isDown($cache, $cache->fill('filled', 'value'));
        self::assertSame('computed', $cache->remember('remembered', static fn(): string => 'computed'));
        self::assertSame(Outcome::Down, $cache->lastOutcome());
        $cache->intend('intended');
        self::assertSame(Outcome::Down, $cache->lastOutcome());
        $cache->writeFills();
        $cache->stats();
        $cache->inspect('absent');
        self::assertSame([], \iterator_to_array((static fn() => yield from $cache->entries())()));
        $isDown($cache, $cache->flush());
        $cache->refresh();
        self::assertNull($cache->get('filled'), 'a new request has nothing from the one before');
        self::assertBounded((\hrtime(true) - $start) / 1e9);
    }

    /** Everything is done, and another request sees it. */
    protected function assertWorks(Cache $cache, Cache $other): void
    {
        $id = \bin2hex(\random_bytes(4));
        self::assertTrue($cache->set("set $id", $id));
        self::assertTrue($cache->add("add $id", $id));
        self::assertFalse($cache->add("add $id", 'twice'));
        self::assertTrue($cache->replace("add $id", "replaced $id"));
        self::assertSame(1, $cache->increment("count $id"));
        self::assertSame(3, $cache->increment("count $id", 2));
        self::assertTrue($cache->set("tagged $id", $id, 60, ["tag $id"]));
        self::assertTrue($cache->set("gone $id", $id));
        self::assertTrue($cache->group("group $id")->set('k', $id));
        self::assertNull($cache->get("filled $id"));
        self::assertTrue($cache->fill("filled $id", $id));
        $cache->writeFills();
        self::assertSame($id, $cache->remember("remembered $id", static fn(): string => $id));
        $other->refresh();
        self::assertSame($id, $other->get("set $id"));
        self::assertSame("replaced $id", $other->get("add $id"));
        self::assertSame(3, $other->get("count $id"));
        self::assertSame($id, $other->get("tagged $id"));
        self::assertSame($id, $other->get("gone $id"));
        self::assertSame($id, $other->group("group $id")->get('k'));
        self::assertSame($id, $other->get("filled $id"));
        self::assertSame($id, $other->remember("remembered $id", static fn(): string => 'again'));
        self::assertTrue($cache->delete("gone $id"));
        self::assertTrue($cache->invalidateTags("tag $id"));
        self::assertTrue($cache->group("group $id")->flush());
        $other->refresh();
        self::assertNull($other->get("gone $id"));
        self::assertNull($other->get("tagged $id"));
        self::assertNull($other->group("group $id")->get('k'));
        self::assertSame($id, $other->get("set $id"));
    }

    /** @param float $seconds that one request has taken in all */
    protected static function assertBounded(float $seconds, float $timeout = self::TIMEOUT): void
    {
        self::assertLessThan(self::BOUND * $timeout, $seconds, 'One request has waited too long.');
    }

    /** One clear line, whatever was called how often. */
    protected function assertOneLine(string ...$words): void
    {
        self::assertCount(1, $this->log->lines, \implode("\n", $this->log->lines));
        self::assertStringStartsWith('warning: larder: ', $this->log->lines[0]);
        foreach ($words as $word) {
            self::assertStringContainsString($word, $this->log->lines[0]);
        }
    }

    protected static function rest(float $seconds = self::REST): void
    {
        for ($end = \microtime(true) + $seconds; ($left = $end - \microtime(true)) > 0;) {
            \usleep((int) ($left * 1e6));
        }
    }
}
