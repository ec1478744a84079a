<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Inside;

use Larder\Cache;
use Larder\Codec\Codec;
use Larder\Codec\EntrySigner;
use Larder\Near\ApcuNear;
use Larder\Near\StoreNear;
use Larder\Request\History;
use Larder\Request\Request;
use Larder\Request\Space;
use Larder\Request\Truth;
use Larder\Store\OutageGuard;
use Larder\Store\PendingInvalidations;
use Larder\System\FailureLog;
use Larder\Tests\Model\Machine;
use Psr\Log\NullLogger;

/**
 * One request: an application with a database, over the real front door.
 *
 * A row of the database is a set of bits, one a writer: a cached value that lacks a written bit is older than the row.
 * $must has the bits of those whose set, delete, flush or invalidation had returned when the request began: every
 * later read must have them (promises 1 and 2), but for a value of bounded life, which may be the older of two.
 */
final class Application
{
    public readonly Cache $cache;

    /** @var array<string, int> by key */
    private readonly array $must;

    /** Whether all changes of a transaction have reached the cache so far. */
    private bool $told = true;
    private readonly Request $tiers;
    private readonly Space $space;

    /** @param string $near apcu, store or none */
    public function __construct(
        private readonly int $process,
        int $server,
        string $near,
        bool $cacheOnly = false,
        bool $forgets = false,
        bool $isLocal = false,
    ) {
        /** @var array<string, int> $must */
        $must = Machine::step('begin');
        $this->must = $must;
        $failureLog = new FailureLog(new NullLogger());
        $truth = new Truth(new OutageGuard('truth', new ShelfStore('truth', $forgets, $isLocal), null, $failureLog, new PendingInvalidations(null)), "own$process");
        $tier = match ($near) {
            'apcu' => new ApcuNear('n', "lock$server", 1 << 20),
            'store' => new StoreNear(new ShelfStore("near$server", false), 'n'),
            default => null,
        };
        $this->tiers = new Request($truth, $tier, new EntrySigner(null), Codec::create('php', 'none'), 30_000, 'model');
        $this->space = $space = new Space('', $cacheOnly);
        $class = new \ReflectionClass(Cache::class);
        $this->cache = $class->newInstanceWithoutConstructor();
        $class->getConstructor()?->invoke($this->cache, $this->tiers, $space);
    }

    /** The end of the request. */
    public function end(): void
    {
        (new \ReflectionMethod($this->tiers, 'finish'))->invoke($this->tiers);
    }

    public function get(string $key = 'k'): ?int
    {
        $value = $this->cache->get($key);
        if (\is_int($value) && ($value & ($this->must[$key] ?? 0)) !== ($this->must[$key] ?? 0) && !$this->isBounded($key)) {
            Machine::step('violation', "read $value of $key, which had been replaced when the request began");
        }

        return \is_int($value) ? $value : null;
    }

    public function isBounded(string $key): bool
    {
        return $this->tiers->view->history->reference($this->space->entries . $key)[0] === History::UNSURE;
    }

    /** A row as it is in the database now. */
    public function row(string $key = 'k'): int
    {
        $row = Machine::step('row', $key);

        return \is_int($row) ? $row : 0;
    }

    /**
     * What $work does in a transaction of the database.
     *
     * @param \Closure(): void $work
     * @param list<string>     $keys what it changes
     */
    public function transaction(\Closure $work, array $keys): void
    {
        $this->cache->begin();
        Machine::step('begin transaction');
        $this->told = true;
        $work();
        Machine::step('commit transaction');
        // From here on it counts, if the cache was told of all that it changes.
        $this->told && $this->returned(...$keys);
        if ($this->cache->commitTransaction()) {
            $this->returned(...$keys);
        }
    }

    /** The same, and then it is rolled back. @param \Closure(): void $work */
    public function rolledBack(\Closure $work): void
    {
        $this->cache->begin();
        Machine::step('begin transaction');
        $work();
        Machine::step('roll back');
        $this->cache->rollBack();
    }

    /** Changes rows of the database, in one transaction. */
    public function change(string ...$keys): void
    {
        Machine::step('change', $keys);
    }

    /** @param list<string> $tags */
    public function set(string $key, int $value, array $tags = []): void
    {
        if ($this->tell($this->cache->set($key, $value, 0, $tags))) {
            $this->returned($key);
        }
    }

    public function delete(string ...$keys): void
    {
        if ($this->tell(isset($keys[1]) ? $this->cache->deleteMultiple($keys) : $this->cache->delete($keys[0]))) {
            $this->returned(...$keys);
        }
    }

    /** @param list<string> $tags */
    public function fill(string $key, int $value, array $tags = []): void
    {
        $this->cache->fill($key, $value, 0, $tags);
    }

    public function intend(string ...$keys): void
    {
        $this->cache->intend(...$keys);
    }

    /** Notes for a transaction whether a change has reached the cache. */
    public function tell(bool $done): bool
    {
        $this->told = $this->told && $done;

        return $done;
    }

    /** What was changed in the database has reached the cache. */
    public function returned(string ...$keys): void
    {
        Machine::step('returned', $keys);
    }

    /** Lets time pass, in milliseconds. */
    public function wait(int $milliseconds): void
    {
        Machine::step('wait', $milliseconds);
    }

    /**
     * What a later request finds must not be older than the database.
     *
     * @param bool $late all bounded lives are over
     */
    public function check(bool $late, string ...$keys): void
    {
        foreach ($keys as $key) {
            $value = $this->cache->get($key);
            if ($value !== null) {
                Machine::step('check', $key, $value, !$late && $this->isBounded($key));
            }
        }
    }
}
