<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Invalidation;
use Larder\Store\Record;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

/** Over a server that is far away each write counts. */
#[CoversClass(Invalidation::class)]
final class InvalidationTest extends TestCase
{
    /** @var list<list<string>> the keys of each write */
    private array $writes = [];

    public function testWhatStandsInTheWayOfManyKeysIsOvercomeInOneWrite(): void
    {
        // Every second key has a record; that of one changes once more meanwhile.
        $refusals = ['e::2' => 1, 'e::4' => 2, 'e::6' => 1];
        $invalidation = new Invalidation(function (array $changes) use (&$refusals): array {
            return $this->written($changes, static function (Change $change) use (&$refusals): bool {
                return ($refusals[$change->key] ?? 0) === 0 || $refusals[$change->key]-- === 0;
            });
        }, 'writer');
        self::assertTrue($invalidation->make(\array_fill_keys(['e::1', 'e::2', 'e::3', 'e::4', 'e::5', 'e::6'], []), static fn(): int => 0));
        self::assertSame([['e::1', 'e::2', 'e::3', 'e::4', 'e::5', 'e::6'], ['e::2', 'e::4', 'e::6'], ['e::4']], $this->writes);
    }

    public function testItGivesUpWhereEachLostRaceTakesLong(): void
    {
        $invalidation = new Invalidation(function (array $changes): array {
            \usleep(400_000);

            return $this->written($changes, static fn(): bool => false);
        }, 'writer');
        self::assertFalse($invalidation->make(['e::1' => []], static fn(): int => 0));
        self::assertCount(4, $this->writes, 'the change itself, and three races');
    }

    /**
     * @param non-empty-list<Change>  $changes
     * @param \Closure(Change): bool $isDone
     *
     * @return non-empty-list<ChangeResult>
     */
    private function written(array $changes, \Closure $isDone): array
    {
        $this->writes[] = \array_map(static fn(Change $change): string => $change->key, $changes);

        return \array_map(static fn(Change $change): ChangeResult => $isDone($change)
            ? new ChangeResult(true, 2)
            : new ChangeResult(false, 1, record: new Record('', 1, 'another')), $changes);
    }
}
