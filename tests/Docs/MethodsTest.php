<?php

declare(strict_types=1);

namespace Larder\Tests\Docs;

use Larder\Cache;
use Larder\Outcome;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/** The tables of docs/php.md, "All methods": every public method of Cache, what it costs, and every Outcome. */
#[CoversNothing]
final class MethodsTest extends TestCase
{
    private const PAGE = __DIR__ . '/../../docs/php.md';

    /** Seen to fail: a row taken out, a row of a method that is not there, a parameter renamed. */
    public function testEveryMethodHasARow(): void
    {
        $methods = [];
        foreach ((new \ReflectionClass(Cache::class))->getMethods(\ReflectionMethod::IS_PUBLIC) as $method) {
            if (!$method->isConstructor() && !\str_contains((string) $method->getDocComment(), '@internal')) {
                $methods[$method->name] = \array_map(static fn(\ReflectionParameter $parameter): string => $parameter->name, $method->getParameters());
            }
        }
        $rows = \array_map(static function (array $cells): array {
            \preg_match_all('/\$(\w+)/', $cells[0], $names);

            return $names[1];
        }, self::rows());
        \ksort($methods);
        \ksort($rows);
        self::assertSame($methods, $rows);
    }

    /** Seen to fail: an outcome without a row, and two in another order. */
    public function testEveryOutcomeHasARowInItsPlace(): void
    {
        \preg_match('/^\| outcome \|.*?\n\n/ms', (string) \file_get_contents(self::PAGE), $table);
        \preg_match_all('/^\| `(\w+)` \|/m', $table[0] ?? '', $names);
        self::assertSame(\array_column(Outcome::cases(), 'name'), $names[1]);
    }

    /** Seen to fail: another figure, in each of the two columns. */
    #[RequiresPhpExtension('redis')]
    public function testACallCostsWhatItsRowSays(): void
    {
        RedisServer::demand();
        $server = new RedisServer();
        $directory = new TemporaryDirectory();
        $costs = [];
        foreach (self::rows() as $method => $cells) {
            $call = self::calls()[$method] ?? null;
            $costs[$method] = ['', ''];
            if ($call !== null) {
                $costs[$method] = [
                    (string) self::cost($method, $call, static fn(): Cache => Cache::open(['dsn' => "redis://$server->socket", 'near' => 'none', 'timeout' => 5.0]), static fn(): array => self::events($server)),
                    (string) self::cost($method, $call, static fn(): Cache => Cache::open(['dsn' => "sqlite://$directory->path/cache", 'near' => 'none'])),
                ];
            }
        }
        self::assertSame(\array_map(static fn(array $cells): array => [$cells[4], $cells[5]], self::rows()), $costs);
    }

    /** @return array<string, \Closure(Cache): mixed> by method: what is counted */
    private static function calls(): array
    {
        return [
            'get' => static fn(Cache $cache) => $cache->get('there'),
            'has' => static fn(Cache $cache) => $cache->has('there'),
            'getMultiple' => static fn(Cache $cache) => $cache->getMultiple(['there', 'too', 'absent']),
            'set' => static fn(Cache $cache) => $cache->set('new', 1),
            'setMultiple' => static fn(Cache $cache) => $cache->setMultiple(['new' => 1, 'there' => 2]),
            'fill' => static fn(Cache $cache) => $cache->fill('missed', 1),
            'writeFills' => static fn(Cache $cache) => $cache->writeFills(),
            'remember' => static fn(Cache $cache) => $cache->remember('computed', static fn(): int => 1),
            'add' => static fn(Cache $cache) => $cache->add('added', 1),
            'replace' => static fn(Cache $cache) => $cache->replace('there', 2),
            'increment' => static fn(Cache $cache) => $cache->increment('count'),
            'decrement' => static fn(Cache $cache) => $cache->decrement('count'),
            'update' => static fn(Cache $cache) => $cache->update('there', static fn(): int => 2),
            'touch' => static fn(Cache $cache) => $cache->touch('there', 60),
            'delete' => static fn(Cache $cache) => $cache->delete('there'),
            'deleteMultiple' => static fn(Cache $cache) => $cache->deleteMultiple(['there', 'too']),
            'invalidateTags' => static fn(Cache $cache) => $cache->invalidateTags('one', 'another'),
            'flush' => static fn(Cache $cache) => $cache->flush(),
            'lastOutcome' => static fn(Cache $cache) => $cache->lastOutcome(),
            'group' => static fn(Cache $cache) => $cache->group('group'),
            'apart' => static fn(Cache $cache) => $cache->apart(),
            'prefetch' => static fn(Cache $cache) => $cache->prefetch([[$cache, ['there', 'too']]]),
            'intend' => static fn(Cache $cache) => $cache->intend('there'),
            'transaction' => static fn(Cache $cache) => $cache->transaction(static fn(): bool => $cache->set('there', 2)),
            'begin' => static fn(Cache $cache) => $cache->begin(),
            'commitTransaction' => static fn(Cache $cache) => $cache->commitTransaction(),
            'rollBack' => static fn(Cache $cache) => $cache->rollBack(),
            'rollBackToSavepoint' => static fn(Cache $cache) => $cache->rollBackToSavepoint(),
            'forget' => static fn(Cache $cache) => $cache->forget('there'),
            'learn' => static fn(Cache $cache) => $cache->learn(),
            'learnAll' => static fn(Cache $cache) => Cache::learnAll(),
            'refresh' => static fn(Cache $cache) => $cache->refresh(),
            'refreshAll' => static fn(Cache $cache) => Cache::refreshAll(),
        ];
    }

    /**
     * How often the call asks the truth tier, in a request that has begun.
     *
     * @param \Closure(Cache): mixed $call
     * @param \Closure(): Cache      $open
     * @param ?\Closure(): array{int, int} $events reads and writes of the server until now; null: only the cache counts
     */
    private static function cost(string $method, \Closure $call, \Closure $open, ?\Closure $events = null): int
    {
        $before = $open();
        $before->deleteMultiple(['new', 'missed', 'computed', 'added']);
        $before->setMultiple(['first' => 1, 'there' => 1, 'too' => 1]);
        $before->increment('count');
        unset($before);
        \gc_collect_cycles();
        $cache = $open();
        $cache->get('first');
        if ($method === 'writeFills') {
            $cache->fill('missed', 1);
            $cache->fill('added', 1);
        } elseif (\in_array($method, ['commitTransaction', 'rollBack', 'rollBackToSavepoint'], true)) {
            $cache->begin();
        } elseif (\str_starts_with($method, 'refresh')) {
            // It ends a request first, and one of 64 requests that have read markers renews them by a round trip more: now none is known.
            $cache->refresh();
        }
        $calls = static fn(): int => (int) \array_sum(\array_column($cache->stats(false), 'calls'));
        [$called, $before] = [$calls(), $events === null ? [0, 0] : $events()];
        $call($cache);
        $count = $calls() - $called;
        if ($events !== null) {
            // A round trip is at least one read of the server from its clients, and at least one write to them. One is that of asking.
            [$reads, $writes] = $events();
            self::assertSame($count, \min($reads - $before[0], $writes - $before[1]) - 1, "$method: what the cache counts is what the server counts");
        }

        return $count;
    }

    /** @return array{int, int} reads and writes of the server until now */
    private static function events(RedisServer $server): array
    {
        self::assertSame(1, \preg_match('/total_reads_processed:(\d+)\s+total_writes_processed:(\d+)/', $server->info('stats'), $match));

        return [(int) $match[1], (int) $match[2]];
    }

    /** @return array<string, list<string>> by method: the cells of its row */
    private static function rows(): array
    {
        \preg_match('/^\| method \| returns .*?\n\n/ms', (string) \file_get_contents(self::PAGE), $table);
        $rows = [];
        foreach (\array_slice(\explode("\n", \trim($table[0] ?? '')), 2) as $line) {
            $cells = \array_map(\trim(...), \preg_split('/(?<!\\\\)\|/', \trim($line, '|')) ?: []);
            self::assertSame(1, \preg_match('/^`(\w+)\(/', $cells[0], $match), $line);
            self::assertCount(6, $cells, $line);
            self::assertArrayNotHasKey($match[1], $rows);
            $rows[$match[1]] = $cells;
        }

        return $rows;
    }
}
