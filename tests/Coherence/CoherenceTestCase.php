<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use Larder\Tests\Support\FpmServer;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** The experiment over one engine: no promise is broken; with the journal switched off some are. */
#[CoversNothing]
abstract class CoherenceTestCase extends TestCase
{
    abstract protected function engine(): string;

    protected function near(): string
    {
        return Experiment::APCU;
    }

    protected function setUp(): void
    {
        $lacks = [
            'php-fpm' => !FpmServer::isAvailable(),
            'APCu' => \str_contains($this->near(), Experiment::APCU) && !\extension_loaded('apcu'),
            'the extension (make ext)' => \str_contains($this->near(), Experiment::SEGMENT) && !\extension_loaded('larder'),
            $this->engine() => !Engine::isAvailable($this->engine()),
        ];
        if (\in_array(true, $lacks, true)) {
            self::markTestSkipped('Needs ' . \implode(', ', \array_keys($lacks, true, true)) . '.');
        }
    }

    public function testKeepsItsPromises(): void
    {
        $this->keeps(new Experiment($this->engine(), 1_500, \random_int(1, 1_000_000), near: $this->near()));
    }

    /** The proof that the experiment can fail. */
    #[Group('long')]
    public function testFailsWithoutAJournal(): void
    {
        $outcome = (new Experiment($this->engine(), 2_000, \random_int(1, 1_000_000), journal: false, near: $this->near()))->run();
        self::assertStringContainsString('a value that was replaced or deleted', $outcome->summary());
    }

    #[Group('long')]
    public function testKeepsItsPromisesForLong(): void
    {
        $this->keeps(new Experiment($this->engine(), 200_000, \random_int(1, 1_000_000), near: $this->near()));
    }

    #[Group('long')]
    public function testKeepsItsPromisesInChaos(): void
    {
        $this->keeps(new Experiment($this->engine(), 0, \random_int(1, 1_000_000), chaos: true, minutes: 3.0, near: $this->near()));
    }

    /** The command line serves several requests at once, each in a fiber, and none of them calls refresh(). */
    #[DataProvider('loops')]
    #[Group('long')]
    public function testKeepsItsPromisesInALoop(string $loop): void
    {
        $this->keeps(new Experiment($this->engine(), 20_000, \random_int(1, 1_000_000), chaos: true, near: $this->near(), loop: $loop));
    }

    /** @return iterable<string, array{string}> */
    public static function loops(): iterable
    {
        foreach (Loop::NAMES as $loop) {
            yield $loop => [$loop];
        }
    }

    protected function keeps(Experiment $experiment, int $hits = 100): void
    {
        $outcome = $experiment->run();
        $text = \implode("\n", $outcome->histories) . $outcome->summary() . "seed $experiment->seed\n";
        // Not as a list that PHPUnit prints: what was broken shall stand in the last lines of a log.
        $broken = \implode("\n", \array_map(static fn(Violation $violation): string => "$violation->what: $violation->details", $outcome->violations));
        self::assertTrue($outcome->violations === [], $text . $broken);
        self::assertGreaterThan($hits, $outcome->totals['hits near'] + $outcome->totals['hits truth'], $text);
    }
}
