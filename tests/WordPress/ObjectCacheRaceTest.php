<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Cache;
use Larder\Tests\Support\TemporaryDirectory;
use Larder\WordPress\ObjectCache;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/**
 * What update_option() does, by several requests in every order: each step of one may come between any two of others.
 *
 * An intent, the database, then `alloptions` read anew, changed and set. A request that begins after another has
 * returned from it must not find an older value.
 */
#[Group('wordpress')]
final class ObjectCacheRaceTest extends TestCase
{
    private const WRITERS = 4;
    private const READERS = 3;

    /** @var array<int, int> what the database has: an option of each writer */
    private array $database;

    /** @var array<int, int> what was in it when update_option() returned */
    private array $done;

    /** @var list<string> */
    private array $steps;
    private string $dsn;

    protected function setUp(): void
    {
        require_once __DIR__ . '/object-cache-stand-ins.php';
    }

    #[Group('long')]
    public function testNorInVeryManyOrders(): void
    {
        $this->testNoRequestFindsWhatWasOlderBeforeItBegan(20_000);
    }

    public function testNoRequestFindsWhatWasOlderBeforeItBegan(int $runs = 400): void
    {
        $directory = new TemporaryDirectory();
        $this->dsn = 'sqlite://' . $directory->file('cache');
        $seed = \random_int(1, 1_000_000_000);
        for ($run = 0; $run < $runs; $run++) {
            \mt_srand($seed + $run);
            $this->steps = ['seed ' . ($seed + $run)];
            $this->database = $this->done = \array_fill(0, self::WRITERS, 0);
            $first = $this->open();
            \mt_rand(0, 1) === 0 ? $first->delete('alloptions', 'options') : $first->set('alloptions', $this->database, 'options');
            $first->close();
            unset($first);
            $requests = [];
            for ($i = 0; $i < self::WRITERS; $i++) {
                $requests[] = $this->writer($i, \mt_rand(0, 3) === 0);
            }
            for ($i = 0; $i < self::READERS; $i++) {
                $requests[] = $this->reader();
            }
            while ($requests !== []) {
                $number = \array_keys($requests)[\mt_rand(0, \count($requests) - 1)];
                $step = $requests[$number]->current();
                $requests[$number]->next();
                if (!$requests[$number]->valid()) {
                    unset($requests[$number]);
                }
                $this->steps[] = "$number: $step";
            }
            $this->find($this->open(), $this->done);
        }
    }

    /** @return \Generator<int, string> */
    private function writer(int $own, bool $warm): \Generator
    {
        yield 'begins';
        $cache = $this->open();
        if ($warm) {
            yield from $this->load($cache, false);
        }
        yield 'says what it is about to change';
        $cache->intend('options', 'alloptions');
        yield 'changes the database';
        $this->database[$own]++;
        $all = yield from $this->load($cache, true);
        $all[$own] = $this->database[$own];
        yield 'sets ' . \json_encode($all);
        $cache->set('alloptions', $all, 'options');
        $this->done[$own] = $this->database[$own];
        yield 'ends';
        $cache->close();
    }

    /** @return \Generator<int, string> */
    private function reader(): \Generator
    {
        yield 'begins to read';
        $cache = $this->open();
        $done = $this->done;
        yield 'reads what is at least ' . \json_encode($done);
        if (!$this->find($cache, $done)) {
            yield from $this->load($cache, false);
        }
        yield 'ends';
        $cache->close();
    }

    /**
     * As wp_load_alloptions().
     *
     * @return \Generator<int, string, mixed, array<int, int>>
     */
    private function load(ObjectCache $cache, bool $force): \Generator
    {
        yield 'gets';
        $all = $cache->get('alloptions', 'options', $force);
        if (!\is_array($all)) {
            yield 'asks the database';
            $all = $this->database;
            yield 'adds ' . \json_encode($all);
            $cache->add('alloptions', $all, 'options');
        }

        /** @var array<int, int> $all */
        return $all;
    }

    /** @param array<int, int> $least */
    private function find(ObjectCache $cache, array $least): bool
    {
        $found = $cache->get('alloptions', 'options');
        foreach (\is_array($found) ? $least : [] as $own => $number) {
            if ($found[$own] < $number) {
                self::fail(\json_encode($found) . ' is older than ' . \json_encode($least) . " after\n" . \implode("\n", $this->steps));
            }
        }
        $this->addToAssertionCount(1);

        return \is_array($found);
    }

    private function open(): ObjectCache
    {
        return new ObjectCache(Cache::open(['dsn' => $this->dsn, 'near' => 'none']));
    }
}
