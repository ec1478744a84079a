<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;

/**
 * A request that ends between its write to the database and WordPress's call of the cache leaves nothing stale: at each
 * statement that writes, of each of WordPress's functions that do.
 *
 * @extends SharedSiteTestCase<IntentSite>
 */
#[Group('wordpress')]
final class IntentDeathTest extends SharedSiteTestCase
{
    protected const QUIET = false;

    public function testAKilledRequestLeavesNothingStale(): void
    {
        self::assertNothingStale($this->site->die(IntentCases::FIRST));
    }

    /** Else the other tests could not fail. On a site of its own: the intents of their dead writers stand for a minute. */
    public function testWithoutIntentsItDoes(): void
    {
        foreach ((new IntentSite())->die(IntentCases::FIRST, intents: false) as $name => $result) {
            self::assertNotSame([], $result['stale'], $name);
        }
    }

    #[Group('long')]
    #[DataProvider('all')]
    public function testNoDeathLeavesAnythingStale(string $cases, bool $network): void
    {
        $site = $network ? new IntentSite(['second']) : $this->site;
        $all = self::cases($cases);
        self::assertNothingStale($site->die($all));
        $without = $site->die($all, intents: false);
        self::assertNotSame([], \array_filter(\array_column($without, 'stale')), 'Without intents it does.');
    }

    /** @return iterable<string, array{string, bool}> */
    public static function all(): iterable
    {
        foreach (['OPTIONS', 'POSTS', 'METADATA', 'TERMS', 'USERS', 'COMMENTS_AND_LINKS'] as $cases) {
            yield $cases => [$cases, false];
        }
        yield 'NETWORK' => ['NETWORK', true];
    }

    #[Group('long')]
    public function testNorDoesADeathAfterAStatementThatReads(): void
    {
        self::assertNothingStale($this->site->die(IntentCases::FIRST, every: true));
    }

    #[Group('long')]
    #[DataProvider('ends')]
    public function testNorDoesAnotherEnd(string $end): void
    {
        self::assertNothingStale($this->site->die(IntentCases::FIRST, end: $end));
    }

    /** @return iterable<string, array{string}> */
    public static function ends(): iterable
    {
        yield 'exit' => ['exit'];
        yield 'a fatal error' => ['fatal'];
        yield 'the memory limit' => ['memory'];
        yield 'the time limit' => ['time'];
    }

    public function testOneOfTwoThatWriteAutoloadedOptionsIsKilled(): void
    {
        $site = $this->site->site;
        $write = static fn(string $name, string $before): string => \sprintf(
            'for ($i = 0; $i < 20; $i++) { add_option("%1$s_$i", "", "", true); } %2$s'
            . 'for ($i = 0; $i < 200; $i++) { update_option("%1$s_" . $i %% 20, "$i " . getmypid()); } echo "done";',
            $name,
            $before,
        );
        for ($round = 0; $round < 5; $round++) {
            $living = $site->start($write("living$round", ''));
            $dying = $site->start($write("dying$round", \sprintf('$wpdb->end = static fn() => posix_kill(posix_getpid(), SIGKILL); $wpdb->last = %d;', 20 + 30 * $round)));
            self::assertSame(0, $living->wait(), $living->getErrorOutput());
            self::assertSame('done', $living->getOutput());
            Wait::until(static fn(): bool => !$dying->isRunning(), 'its end');
            self::assertSame('', $dying->getOutput(), 'It was killed.');
            $read = "\$all = array_filter(get_options([...array_map(static fn(int \$i): string => \"living{$round}_\$i\", range(0, 19)),"
                . "...array_map(static fn(int \$i): string => \"dying{$round}_\$i\", range(0, 19))])); ksort(\$all); echo json_encode([\$all, count(wp_load_alloptions())]);";
            // First: after one without the cache it would be empty.
            $cached = $site->cli($read);
            self::assertSame($site->cli($read, before: 'putenv("LARDER_DISABLED=1");'), $cached);
        }
    }

    /** @param array<string, array{points: int, stale: array<array-key, list<string>>}> $report */
    private static function assertNothingStale(array $report): void
    {
        foreach ($report as $name => $result) {
            self::assertGreaterThan(0, $result['points'], "$name: it died.");
            self::assertSame([], $result['stale'], "$name: by statement, what was stale after a death there.");
        }
    }

    /** @return array<string, array{string, string}> */
    private static function cases(string $name): array
    {
        /** @var array<string, array{string, string}> */
        return \constant(IntentCases::class . "::$name");
    }

    protected static function make(): InstalledSite
    {
        return new IntentSite();
    }
}
