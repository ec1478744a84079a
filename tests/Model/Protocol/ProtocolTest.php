<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Protocol;

use Larder\Tests\Model\Copy;
use Larder\Tests\Model\Violation;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\DataProviderExternal;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/**
 * Every interleaving of a few requests on two servers, over the real front door and tiers: nobody finds a value older
 * than the database, nothing comes back, and every row of the table of conflicts is needed for that.
 */
#[Group('slow')]
final class ProtocolTest extends TestCase
{
    /** The locks of near tiers are no files here. */
    private const DOUBLES = ['System\FileLock' => 'Lock', 'Store\PendingInvalidations' => 'Pending'];

    /** Requests in the middle of which the truth tier loses everything. */
    private const BEGINS_ANEW = [
        ['reads and fills', 'writes and deletes'], ['reads and sets', 'writes and sets'], ['reads, modifies, writes', 'writes and deletes'],
        ['intends, writes', 'reads and fills'], ['fills tagged', 'writes and deletes'], ['fills tagged', 'writes, invalidates'],
        ['reads and fills', 'writes, flushes'],
    ];

    /** What is pending where the truth tier is away. */
    private const CHANGES = ['writes and deletes', 'writes and sets', 'reads, modifies, writes', 'writes, flushes'];

    /** The truth tier forgets a marker, and says so, or says how far back (both are looked at). */
    private const FORGETS = [
        ['fills tagged', 'writes, invalidates', 'forgets the tag'], ['writes, sets tagged', 'writes, invalidates', 'forgets the tag'],
        ['reads and fills', 'writes, flushes', 'forgets the flush'], ['reads and sets', 'writes, flushes', 'forgets the flush'],
    ];

    /** Two that follow the log at once refuse each other; how often they try again is bounded sooner here. */
    private const SHORTER = ['Near\StoreNear' => ['TRIES = 5' => 'TRIES = 2']];

    private static ?Copy $copy = null;

    public static function tearDownAfterClass(): void
    {
        self::$copy = null;
    }

    /**
     * @param list<string> $names
     * @param list<int>    $servers
     */
    #[DataProvider('together')]
    public function testRequestsTogether(array $names, array $servers, string $near, int $kills): void
    {
        $forgets = \array_intersect($names, \array_keys(Requests::events())) !== [] ? [false, true] : [false];
        foreach ([false, true] as $cached) {
            foreach ($forgets as $each) {
                self::assertGreaterThan(10, $this->check($names, $servers, $near, $cached, $kills, null, false, $each));
            }
        }
    }

    /** @return iterable<string, array{list<string>, list<int>, string, int}> */
    public static function together(): iterable
    {
        $core = ['reads and fills', 'reads and sets', 'writes and sets', 'reads, modifies, writes', 'writes and deletes',
            'intends, writes, sets', 'sets twice', 'writes, flushes'];
        foreach (Requests::pairs($core) as $names) {
            yield 'without a near tier: ' . \implode(' + ', $names) => [$names, [0, 1], 'none', 0];
            yield 'on two servers: ' . \implode(' + ', $names) => [$names, [0, 1], 'apcu', 0];
        }
        foreach (Requests::pairs(['fills tagged', 'writes, sets tagged', 'writes, invalidates', 'writes and deletes']) as $names) {
            yield 'tags: ' . \implode(' + ', $names) => [$names, [0, 1], 'apcu', 0];
        }
        foreach (Requests::pairs(['reads and fills', 'writes and sets', 'writes and deletes']) as $names) {
            yield 'on one server: ' . \implode(' + ', $names) => [$names, [0, 0], 'apcu', 0];
        }
        foreach (Requests::pairs(['reads and fills', 'writes and sets', 'writes and deletes', 'writes, flushes']) as $names) {
            yield 'killed: ' . \implode(' + ', $names) => [$names, [0, 1], 'apcu', 1];
        }
        foreach (['reads and fills', 'writes and sets', 'writes and deletes'] as $other) {
            yield "killed under an intent: $other" => [['intends, writes', $other], [0, 1], 'apcu', 1];
        }
        foreach (Requests::pairs(['increments', 'increments twice', 'adds']) as $names) {
            yield 'atomic: ' . \implode(' + ', $names) => [$names, [0, 1], 'none', 0];
        }
        foreach (self::BEGINS_ANEW as $names) {
            yield 'a new epoch: ' . \implode(' + ', $names) => [[...$names, 'begins anew'], [0, 1], 'none', 0];
            // That takes seconds, and is among the many.
            if ($names[0] !== 'intends, writes') {
                yield 'a new epoch, near: ' . \implode(' + ', $names) => [[...$names, 'begins anew'], [0, 1], 'apcu', 0];
            }
        }
        foreach (self::transactions() as [$one, $other]) {
            if (!\array_key_exists($other, Requests::transactions())) {
                yield "$one + $other" => [[$one, $other], [0, 1], 'none', 1];
            }
        }
        // The third may begin after COMMIT, when the cache has not heard of it yet.
        foreach (['flushes' => 'reads and fills', 'invalidates' => 'fills tagged'] as $change => $fills) {
            yield "between COMMIT and the end: $change" => [["in a transaction: $change", $fills, 'reads'], [0, 1, 1], 'none', 0];
        }
        foreach (self::FORGETS as $names) {
            yield 'forgotten: ' . \implode(' + ', $names) => [$names, [0, 1], 'none', 0];
            yield 'forgotten, near: ' . \implode(' + ', $names) => [$names, [0, 1], 'apcu', 0];
        }
        foreach ([['reads and fills', 'writes and deletes'], ['reads and sets', 'writes and sets'], ['reads and fills', 'writes, flushes']] as $names) {
            yield 'a disk before it, on two servers: ' . \implode(' + ', $names) => [$names, [0, 1], 'store', 1];
            yield 'a disk before it, a new epoch: ' . \implode(' + ', $names) => [[...$names, 'begins anew'], [0, 1], 'store', 0];
        }
        foreach (Requests::pairs(['reads and fills', ...self::CHANGES]) as $names) {
            yield 'away: ' . \implode(' + ', $names) => [[...$names, 'is away'], [0, 1], 'apcu', 0];
            yield 'away, on one server: ' . \implode(' + ', $names) => [[...$names, 'is away'], [0, 0], 'none', 0];
        }
        foreach (self::CHANGES as $name) {
            foreach (['is away from one server', 'loses its answers'] as $fails) {
                yield "$fails: $name" => [[$name, 'reads and fills', $fails], [0, 1], 'apcu', 0];
            }
            yield "away, killed: $name" => [[$name, 'reads and fills', 'is away'], [0, 0], 'none', 1];
        }
        foreach (['fills tagged', 'writes, invalidates'] as $other) {
            yield "away, tags: $other" => [['writes, invalidates', $other, 'is away'], [0, 1], 'apcu', 0];
        }
        yield 'away: fills, writes, deletes, lives on' => [['fills, writes, deletes, lives on', 'reads and fills', 'is away'], [0, 0], 'none', 0];
        yield 'one flush for two keys' => [['fills two', 'writes, flushes'], [0, 1], 'apcu', 0];
        yield 'a batch' => [['sets two', 'writes and sets'], [0, 1], 'apcu', 0];
        yield 'a process that lives on' => [['lives on, sets', 'writes and deletes'], [0, 1], 'apcu', 0];
        yield 'one computes' => [['remembers', 'remembers'], [0, 1], 'apcu', 1];
        foreach (\array_keys(Requests::meanwhile()) as $name) {
            foreach ([\str_contains($name, 'invalidates') ? 'fills tagged' : 'reads and fills', 'writes and deletes'] as $other) {
                yield "$name + $other" => [[$name, $other], [0, 1], $other === 'writes and deletes' ? 'apcu' : 'none', 0];
            }
        }
        yield 'three' => [['reads and sets', 'writes and sets', 'writes and deletes'], [0, 0, 1], 'none', 0];
    }

    /** @return iterable<array{string, string}> */
    private static function transactions(): iterable
    {
        $all = \array_keys(Requests::transactions());
        foreach ($all as $i => $one) {
            // What is not tagged has nothing to do with a tag.
            $tags = \str_contains($one, 'invalidates');
            foreach ($tags ? ['fills tagged'] : ['reads and fills', 'writes and deletes', 'intends, writes'] as $other) {
                yield [$one, $other];
            }
            foreach (\array_slice($all, $i) as $other) {
                if ($tags === \str_contains($other, 'invalidates')) {
                    yield [$one, $other];
                }
            }
        }
    }

    /**
     * @param list<string> $names
     * @param list<int>    $servers
     */
    #[DataProvider('local')]
    public function testRequestsTogetherOverALocalEngine(array $names, array $servers, string $near, int $kills): void
    {
        foreach ([false, true] as $cached) {
            self::assertGreaterThan(10, $this->check($names, $servers, $near, $cached, $kills, null, false, false, true));
        }
    }

    /** @return iterable<string, array{list<string>, list<int>, string, int}> */
    public static function local(): iterable
    {
        $core = ['reads and fills', 'reads and sets', 'writes and sets', 'reads, modifies, writes', 'writes and deletes', 'writes, reads, deletes, sets',
            'writes, deletes, fills', 'intends, writes, sets', 'writes, flushes'];
        foreach (Requests::pairs($core) as $names) {
            $text = \implode(' + ', $names);
            yield "no near tier: $text" => [$names, [0, 0], 'none', \in_array('intends, writes, sets', $names, true) ? 0 : 1];
            yield "a near tier: $text" => [$names, [0, 0], 'apcu', 0];
        }
        foreach (['writes and deletes', 'writes and sets', 'reads, modifies, writes', 'writes, flushes'] as $name) {
            yield "away, killed: $name" => [[$name, 'reads and fills', 'is away'], [0, 0], 'none', 1];
            yield "a new epoch: $name" => [[$name, 'reads and fills', 'begins anew'], [0, 0], 'apcu', 0];
        }
        yield 'killed under an intent' => [['intends, writes', 'writes and deletes'], [0, 0], 'none', 1];
        yield 'three' => [['reads, modifies, writes', 'writes and sets', 'writes and deletes'], [0, 0, 0], 'none', 0];
    }

    /**
     * @param array<string, array<string, string>> $mutations
     * @param list<string>                         $names
     */
    #[DataProviderExternal(Mutants::class, 'local')]
    public function testNothingCanBeTakenOutOfALog(array $mutations, array $names, string $near, bool $cached, int $kills): void
    {
        $servers = \array_fill(0, \count($names), 0);
        $this->check($names, $servers, $near, $cached, $kills, null, false, false, true);
        $this->expectException(Violation::class);
        $this->check($names, $servers, $near, $cached, $kills, new Copy(\array_merge_recursive($mutations, self::SHORTER), self::DOUBLES), false, false, true);
    }

    /**
     * @param list<string> $names
     * @param list<int>    $servers
     */
    #[DataProvider('many')]
    #[Group('long')]
    public function testManyRequestsTogether(array $names, array $servers, string $near, int $kills, bool $fine, bool $forgets): void
    {
        foreach ([false, true] as $cached) {
            self::assertGreaterThan(10, $this->check($names, $servers, $near, $cached, $kills, null, $fine, $forgets));
        }
    }

    /** @return iterable<string, array{list<string>, list<int>, string, int, bool, bool}> */
    public static function many(): iterable
    {
        $tagged = \array_fill_keys(['fills tagged', 'writes, sets tagged', 'writes, invalidates', 'remembers; meanwhile invalidates', 'writes and deletes', 'writes, flushes'], true);
        foreach (Requests::pairs(\array_keys(\array_diff_key(Requests::all(), Requests::transactions()))) as $names) {
            // An untagged value has nothing to do with a tag.
            if (\preg_grep('/invalidates$/', $names) !== [] && \array_diff_key(\array_flip($names), $tagged) !== []) {
                continue;
            }
            $short = \array_filter($names, static fn(string $name): bool => \str_contains($name, 'two')
                || \str_contains($name, 'live') || \str_contains($name, 'refresh')) === [];
            $text = \implode(' + ', $names);
            yield "on two servers: $text" => [$names, [0, 1], 'apcu', 0, false, false];
            yield "without a near tier, killed: $text" => [$names, [0, 1], 'none', self::kills($names), false, true];
            if ($short) {
                yield "on one server, killed: $text" => [$names, [0, 0], 'apcu', self::kills($names), false, false];
                yield "on one server, step by step: $text" => [$names, [0, 0], 'apcu', 0, true, false];
            }
        }
        yield 'away, killed under an intent' => [['writes, deletes, lives on', 'intends, writes', 'is away'], [0, 0], 'none', 1, false, false];
        yield 'away, near: fills, writes, deletes, lives on' => [['fills, writes, deletes, lives on', 'reads and fills', 'is away'], [0, 0], 'apcu', 0, false, false];
        yield 'away, killed: writes, deletes, lives on' => [['writes, deletes, lives on', 'reads and fills', 'is away'], [0, 0], 'none', 1, false, false];
        foreach (['writes and deletes', 'writes and sets', 'writes, flushes', 'writes, deletes, refreshes'] as $other) {
            yield "a disk before it, on one server: $other" => [['reads and fills', $other], [0, 0], 'store', 0, false, false];
        }
        foreach (self::BEGINS_ANEW as $names) {
            yield 'on one server, a new epoch: ' . \implode(' + ', $names) => [[...$names, 'begins anew'], [0, 0], 'apcu', 0, false, true];
            yield 'on two servers, a new epoch: ' . \implode(' + ', $names) => [[...$names, 'begins anew'], [0, 1], 'apcu', 0, false, false];
            yield 'on two servers, a new epoch, forgotten: ' . \implode(' + ', $names) => [[...$names, 'begins anew'], [0, 1], 'apcu', 0, false, true];
        }
        foreach (self::transactions() as [$one, $other]) {
            yield "killed: $one + $other" => [[$one, $other], [0, 1], 'none', 1, false, false];
            yield "on one server: $one + $other" => [[$one, $other], [0, 0], 'apcu', 0, false, false];
            yield "a new epoch: $one + $other" => [[$one, $other, 'begins anew'], [0, 1], 'none', 0, false, true];
        }
        foreach (\array_keys(Requests::failures()) as $fails) {
            foreach ([false, true] as $forgets) {
                yield "$fails, lives on: reads and fills" . ($forgets ? ', forgotten' : '') => [['writes, deletes, lives on', 'reads and fills', $fails], [0, 1], 'apcu', 0, false, $forgets];
            }
        }
        foreach ([...self::CHANGES, 'reads and sets', 'intends, writes, sets'] as $other) {
            foreach (\array_keys(Requests::failures()) as $fails) {
                yield "$fails, lives on: $other" => [['writes, deletes, lives on', $other, $fails], [0, 1], 'apcu', 0, false, false];
                yield "$fails, killed: $other" => [['writes and deletes', $other, $fails], [0, 0], 'apcu', 1, false, false];
                yield "$fails, three: $other" => [['reads and fills', $other, 'writes and deletes', $fails], [0, 0, 1], 'none', 0, false, false];
            }
        }
        $core = ['reads and fills', 'reads and sets', 'writes and sets', 'reads, modifies, writes', 'writes and deletes',
            'fills, writes, deletes', 'intends, writes, sets', 'writes, flushes'];
        foreach (Requests::pairs($core) as [$one, $other]) {
            foreach (\array_slice($core, (int) \array_search($other, $core, true)) as $third) {
                yield "three: $one + $other + $third" => [[$one, $other, $third], [0, 0, 1], 'none', 0, false, false];
            }
        }
    }

    /**
     * @param array<string, array<string, string>> $mutations
     * @param list<string>                         $names
     * @param list<int>                            $servers
     */
    #[DataProviderExternal(Mutants::class, 'all')]
    public function testNothingCanBeTakenOut(array $mutations, array $names, array $servers, string $near, bool $cached, bool $forgets, int $kills): void
    {
        $this->check($names, $servers, $near, $cached, $kills, null, false, $forgets);
        $this->expectException(Violation::class);
        $this->check($names, $servers, $near, $cached, $kills, new Copy(\array_merge_recursive($mutations, self::SHORTER), self::DOUBLES), false, $forgets);
    }

    /**
     * That it holds with nothing taken out, is in the longer ones.
     *
     * @param array<string, array<string, string>> $mutations
     * @param list<string>                         $names
     * @param list<int>                            $servers
     */
    #[DataProviderExternal(Mutants::class, 'disk')]
    public function testNothingCanBeTakenOutOfADiskBeforeIt(array $mutations, array $names, array $servers, bool $cached, int $kills): void
    {
        $this->expectException(Violation::class);
        $this->check($names, $servers, 'store', $cached, $kills, new Copy(\array_merge_recursive($mutations, self::SHORTER), self::DOUBLES));
    }

    /**
     * @param list<string> $names
     * @param list<int>    $servers
     */
    private function check(
        array $names,
        array $servers,
        string $near,
        bool $cached,
        int $kills,
        ?Copy $copy = null,
        bool $fine = false,
        bool $forgets = false,
        bool $isLocal = false,
    ): int {
        $requests = \array_intersect_key(Requests::all(), \array_flip($names));
        $requests = \array_map(static fn(string $name): \Closure => $requests[$name], \array_values(\array_intersect($names, \array_keys($requests))));
        $events = \array_values(\array_intersect_key(Requests::events(), \array_flip($names)));
        $fails = \array_intersect($names, \array_keys(Requests::failures())) !== [];
        // Nothing is computed twice, where nothing is deleted meanwhile.
        $computations = \array_unique($names) === ['remembers'] ? 1 : null;

        return (new Scenario($requests, $servers, $near, $cached, $kills, $fine, $forgets, $computations, 20_000_000, $events, $fails, $isLocal))
            ->check($copy ?? self::$copy ??= new Copy(self::SHORTER, self::DOUBLES));
    }

    /**
     * Where two write under one intent and one of them dies, they are not killed here.
     *
     * @param list<string> $names
     */
    private static function kills(array $names): int
    {
        $intends = \array_filter($names, static fn(string $name): bool => \str_starts_with($name, 'intends'));

        return $intends === [] || \array_intersect($names, ['intends, writes, sets', 'sets twice']) === [] ? 1 : 0;
    }
}
