<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Report\Findings;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;
use PHPUnit\Framework\TestCase;

/** Each figure of a sentence is looked for in a report that was made so that it must be there. */
final class FindingsTest extends TestCase
{
    public function testTheFastestReaderOfOneMachineAndByHowMuch(): void
    {
        [$first] = self::sentences([self::cell('apcu:process:php', 10.0), self::cell('larder-apcu:process:php', 30.0), self::cell('redis:socket:php', 60.0)]);

        self::assertMatchesRegularExpression('/^Of the 3 subjects on one machine whose values processes share, apcu:process:php is the fastest at reading a 50x50 array, one process, with 10\.0 µs; the next engine, larder-apcu:process:php, takes 3\.00 times as long as it \([\d.]+–[\d.]+\)\.$/', $first);
    }

    public function testItNamesWhomeverTheFiguresName(): void
    {
        self::assertStringContainsString('redis:socket:php is the fastest', self::sentences([self::cell('apcu:process:php', 100.0), self::cell('redis:socket:php', 60.0)])[0]);
    }

    public function testWhatIsReachedOverTheNetworkOrDiesWithTheRequestIsNotInThatRace(): void
    {
        [$first] = self::sentences([self::cell('lookup:process:none', 0.1), self::cell('larder-request:process:none', 0.2), self::cell('memcached:network:php', 1.0), self::cell('apcu:process:php', 10.0), self::cell('files:process:php', 20.0)]);

        self::assertStringStartsWith('Of the 2 subjects on one machine whose values processes share, apcu:process:php is', $first);
    }

    public function testTheNextIsOfAnotherEngine(): void
    {
        [$first] = self::sentences([self::cell('apcu:process:php', 10.0), self::cell('apcu:process:igbinary', 5.0), self::cell('files:process:php', 20.0)]);

        self::assertStringContainsString('the next engine, files:process:php, takes 4.00 times', $first);
    }

    public function testAnIntervalAroundOneCannotTell(): void
    {
        [$first] = self::sentences([self::cell('apcu:process:php', 10.0, [1.0, 0.9, 1.1, 1.0, 0.95, 1.05]), self::cell('files:process:php', 10.2, [1.0, 1.05, 0.95, 1.1, 0.9, 1.0])]);

        self::assertStringContainsString('this run cannot tell whether apcu:process:php (10.0 µs) or files:process:php (10.2 µs) is the fastest at reading a 50x50 array', $first);
    }

    public function testTooFewRoundsHaveNoInterval(): void
    {
        [$first] = self::sentences([self::cell('apcu:process:php', 10.0, [1.0]), self::cell('files:process:php', 20.0, [1.0])]);

        self::assertStringContainsString('takes about 2.00 times as long as it; there were too few rounds to tell how certain that is', $first);
    }

    public function testTheReportsOwnRatioIsTakenWhereThereIsOne(): void
    {
        $results = [self::cell('apcu:process:php', 10.0), self::cell('files:process:php', 20.0)];

        self::assertStringContainsString('takes 2.34 times as long as it (2.22–2.45)', self::sentences($results, [new Ratio($results[1]->cell->id(), $results[0]->cell->id(), 2.34, 2.22, 2.45, 9)])[0]);
    }

    public function testOneAloneAndNobodyAtAll(): void
    {
        self::assertSame('On one machine only apcu:process:php was measured at reading a 50x50 array, one process: 10.0 µs; there is nothing to compare it with.', self::sentences([self::cell('apcu:process:php', 10.0)])[0]);
        self::assertSame('This run measured no read on one machine, so it cannot tell which subject is the fastest there.', self::sentences([self::cell('redis:network:php', 10.0)])[0]);
        self::assertSame('This run measured no read on one machine, so it cannot tell which subject is the fastest there.', self::sentences([])[0]);
    }

    public function testWhatTheNetworkAndASerializerCost(): void
    {
        [, $second] = self::sentences([
            self::cell('redis:socket:php', 50.0, payload: 'short'),
            self::cell('redis:network:php', 1000.0, payload: 'short'),
            self::cell('redis:socket:php', 150.0),
            self::cell('redis:socket:msgpack', 110.0),
            self::cell('redis:socket:igbinary', 75.0),
        ]);

        self::assertMatchesRegularExpression('/^Reading a short string, one process, from redis over the network takes 20\.0 times as long as over a socket \([\d.]+–[\d.]+\); reading a 50x50 array from redis by socket with php takes 2\.00 times as long as with igbinary \([\d.]+–[\d.]+\)\.$/', $second);
    }

    public function testWhereThereIsNoDifferenceItSaysSo(): void
    {
        [, $second] = self::sentences([self::cell('redis:socket:php', 50.0, [1.0, 0.9, 1.1, 1.0, 0.95, 1.05]), self::cell('redis:network:php', 50.0, [1.0, 1.1, 0.9, 0.95, 1.05, 1.0])]);

        self::assertMatchesRegularExpression('/^This run cannot tell whether reading a 50x50 array, one process, from redis over the network takes longer than over a socket: 0\.9\d\d \(0\.[\d]+–1\.\d+\) times\.$/', $second);
    }

    public function testOneOfTheTwoCostsIsEnoughForASentence(): void
    {
        self::assertStringStartsWith('Reading a 50x50 array from apcu by process with php takes 2.00 times', self::sentences([self::cell('apcu:process:php', 10.0), self::cell('apcu:process:igbinary', 5.0)])[1]);
        self::assertStringStartsWith('This run measured nothing both over the network and on one machine, and nothing with several serializers', self::sentences([self::cell('apcu:process:php', 10.0)])[1]);
    }

    public function testWhereLarderLoses(): void
    {
        [, , $third] = self::sentences([
            self::cell('larder-sqlite:process:php', 5.0),
            self::cell('redis:socket:php', 50.0),
            self::cell('larder-apcu:process:php', 30.0, operation: 'write'),
            self::cell('apcu:process:php', 10.0, operation: 'write'),
            self::cell('larder-apcu:process:php', 20.0, payload: 'short'),
            self::cell('apcu:process:php', 10.0, payload: 'short'),
        ]);

        self::assertMatchesRegularExpression('/^Larder loses 2 of 3 comparisons with the best of the others, by most at writing a 50x50 array, one process, on one machine, where larder-apcu:process:php takes 3\.00 times as long as apcu:process:php \([\d.]+–[\d.]+\)\.$/', $third);
    }

    public function testTheRequestTierWinsNothingForLarder(): void
    {
        [, , $third] = self::sentences([self::cell('larder-request:process:none', 0.1), self::cell('larder-apcu:process:php', 30.0), self::cell('apcu:process:php', 10.0)]);

        self::assertStringStartsWith('Larder loses 1 of 1 comparison', $third);
    }

    public function testTheNetworkIsARaceOfItsOwn(): void
    {
        [, , $third] = self::sentences([self::cell('larder-sqlite:process:php', 5.0), self::cell('apcu:process:php', 10.0), self::cell('larder-redis:network:php', 2000.0), self::cell('redis:network:php', 1000.0)]);

        self::assertStringContainsString('loses 1 of 2 comparisons', $third);
        self::assertStringContainsString('over the network, where larder-redis:network:php takes 2.00 times', $third);
    }

    public function testWhereItDoesNotLoseNothingIsMadeUp(): void
    {
        self::assertSame('In none of 1 comparison with the best of the others does Larder surely lose.', self::sentences([self::cell('larder-sqlite:process:php', 5.0), self::cell('redis:socket:php', 50.0)])[2]);
    }

    public function testWhatCannotBeToldIsNoVictory(): void
    {
        [, , $third] = self::sentences([self::cell('larder-sqlite:process:php', 50.0, [1.0]), self::cell('redis:socket:php', 40.0, [1.0])]);

        self::assertSame('In none of 1 comparison with the best of the others does Larder surely lose, and in 1 this run cannot tell, Larder being behind in 1 of these.', $third);
    }

    public function testLimitsThatDoNotHold(): void
    {
        $ratio = static fn(string $title, float $median, float $limit): Ratio => new Ratio('a', 'b', $median, $median * 0.9, $median * 1.1, 9, Ratio::PAIR, $limit, $title);
        $sentence = self::sentences([], [$ratio('one', 1.0, 3.0), $ratio('two', 1.8, 1.5), $ratio('three', 4.0, 2.0)])[2];

        self::assertSame('Of 3 promised limits 2 do not hold, worst three: 4.00 (3.60–4.40) where at most 2.00 was promised.', $sentence);
        self::assertSame('Of 1 promised limit 1 does not hold, two: 1.60 (1.44–1.76) where at most 1.50 was promised, but this run is not certain of that.', self::sentences([], [$ratio('two', 1.6, 1.5)])[2]);
        self::assertSame('Of 2 promised limits all hold, 1 of them not certain.', self::sentences([], [$ratio('one', 1.0, 3.0), $ratio('two', 1.45, 1.5)])[2]);
    }

    public function testADisqualifiedLarderIsALoss(): void
    {
        $out = ['subject' => 'larder-files:process:php', 'scenario' => 'engines', 'reason' => 'null'];

        self::assertSame('1 of its subjects was disqualified.', (new Findings())->sentences(self::report([], [], [$out]))[2]);
    }

    public function testWithoutLarderNothingIsSaidOfIt(): void
    {
        self::assertSame('Larder was not measured beside others in this run, so it cannot tell where Larder loses.', (new Findings())->sentences(Fixture::report(larder: false))[2]);
    }

    public function testThereAreThreeOfAnyReport(): void
    {
        for ($seed = 1; $seed <= 40; ++$seed) {
            $sentences = (new Findings())->sentences(RandomReport::of($seed, false));
            self::assertCount(3, $sentences);
            foreach ($sentences as $sentence) {
                self::assertMatchesRegularExpression('/^\P{Ll}.+\.$/Du', $sentence);
                self::assertDoesNotMatchRegularExpression('/[\p{Cc}\p{Cf}]/u', $sentence);
            }
        }
    }

    public function testWhatAPictureShows(): void
    {
        $report = self::report([self::cell('apcu:process:php', 10.0), self::cell('larder-apcu:process:php', 30.0), self::cell('redis:socket:php', 60.0)]);

        self::assertMatchesRegularExpression('/^Reading a 50x50 array, one process: apcu:process:php is first of 3 with 10\.0 µs, redis:socket:php is last with 60\.0 µs, 6\.00 \([\d.]+–[\d.]+\) times as much; the best of Larder that processes share, larder-apcu:process:php, is number 2\.$/', (new Findings())->forPicture($report, '50x50'));
        self::assertSame('This run did not measure this.', (new Findings())->forPicture($report, '50x50', 'write'));
        self::assertSame('This run did not measure this.', (new Findings())->forCurves($report, 'short'));
    }

    public function testOneFindingsSpeaksOfTheReportItIsGiven(): void
    {
        $findings = new Findings();
        $findings->sentences(self::report([self::cell('apcu:process:php', 10.0)]));

        self::assertStringContainsString('only files:process:php', $findings->sentences(self::report([self::cell('files:process:php', 10.0)]))[0]);
    }

    public function testAPictureOfSeveralThatCannotBeToldApart(): void
    {
        $report = self::report([self::cell('apcu:process:php', 10.0, [1.0, 0.9, 1.1, 1.0, 0.95, 1.05]), self::cell('files:process:php', 10.2, [1.0, 1.05, 0.95, 1.1, 0.9, 1.0]), self::cell('redis:socket:php', 50.0)]);

        self::assertStringContainsString('the first 2 of 3 cannot be told apart, apcu:process:php among them', (new Findings())->forPicture($report, '50x50'));
    }

    public function testWhatCurvesShow(): void
    {
        $report = self::report([
            new Result(self::cell('apcu:process:php', 1.0)->cell, [[10.0, 10.0, 10.0, 10.0]]),
            new Result(self::cell('files:process:php', 1.0)->cell, [[10.0, 10.0, 10.0, 50.0]]),
        ]);

        self::assertMatchesRegularExpression('/^The steadiest subject is apcu:process:php: .* above 1\.00 times the median \(10\.0 µs\)\. The least steady is files:process:php, with 4\.\d\d times \(48\.8 µs\)\.$/', (new Findings())->forCurves($report, '50x50'));
    }

    public function testWhatAMapShows(): void
    {
        $same = [1.0, 0.9, 1.1, 1.0, 0.95, 1.05];
        $report = self::report([
            self::cell('apcu:process:php', 10.0), self::cell('apcu:process:igbinary', 5.0),
            self::cell('redis:socket:php', 10.0), self::cell('redis:socket:igbinary', 5.0),
            self::cell('redis:tcp:php', 5.0), self::cell('redis:tcp:igbinary', 10.0),
            self::cell('files:process:php', 5.0, $same), self::cell('files:process:igbinary', 5.0, \array_reverse($same)),
            self::cell('opcache:process:none', 1.0),
        ]);

        self::assertSame('Of the 4 ways to an engine that were measured with several serializers, igbinary is the fastest serializer in 2, php is the fastest serializer in 1 and the first two cannot be told apart in 1 (reading a 50x50 array, one process).', (new Findings())->forHeatMap($report, '50x50'));
        self::assertSame('This run measured no engine with more than one serializer.', (new Findings())->forHeatMap(self::report([self::cell('apcu:process:php', 1.0)]), '50x50'));
    }

    public function testWhatThePictureOfLimitsShows(): void
    {
        self::assertSame('This run measured no promised limit.', (new Findings())->forRatios(self::report([])));
        self::assertStringStartsWith('Of 2 promised limits 1 does not hold, ', (new Findings())->forRatios(Fixture::report()));
    }

    /**
     * @param list<Result> $results
     * @param list<Ratio>  $ratios
     *
     * @return array{string, string, string}
     */
    private static function sentences(array $results, array $ratios = []): array
    {
        return (new Findings())->sentences(self::report($results, $ratios));
    }

    /**
     * @param list<Result>                                                  $results
     * @param list<Ratio>                                                   $ratios
     * @param list<array{subject: string, scenario: string, reason: string}> $disqualified
     */
    private static function report(array $results, array $ratios = [], array $disqualified = []): Report
    {
        return new Report('', [], [], [], $results, $ratios, [], $disqualified, [], false, true, 1, 6, '2026-05-06T07:08:09Z', 1.0);
    }

    /** @param non-empty-list<float> $rounds what each round's only sample is, in parts of the center */
    private static function cell(string $subject, float $center, array $rounds = [1.0, 1.001, 0.999, 1.0, 1.002, 0.998], string $payload = '50x50', string $operation = 'read'): Result
    {
        [$engine, $connection, $serializer] = \explode(':', $subject);

        return new Result(
            new Cell('engines', $subject, $engine, $connection, $serializer, 'none', $payload, $operation),
            \array_map(static fn(float $part): array => [$center * $part], $rounds),
        );
    }
}
