<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Worker;

use Larder\Lab\Payload\Recording;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Run\Collection;
use Larder\Lab\Run\Ledger;
use Larder\Lab\Run\Runner;
use Larder\Lab\Run\Stop;
use Larder\Lab\Scenario\Serializers;
use Larder\Lab\Service\Services;
use Larder\Lab\Statistics\Summary;
use Larder\Lab\Worker\Population;
use Larder\Lab\Worker\WrongValue;
use Larder\Tests\Lab\Support\FaultyMemory;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Console\Helper\ProgressBar;
use Symfony\Component\Console\Output\NullOutput;

final class PopulationTest extends TestCase
{
    /** Seen to fail: a sample a round, and every object once in each round. */
    public function testEveryObjectIsCountedOnceHoweverManyRoundsThereAre(): void
    {
        $directory = new TemporaryDirectory('lab');
        $scenario = new Serializers();
        $subjects = \array_values(\array_filter($scenario->subjects(), static fn($subject): bool => $subject->name === 'php:gzdeflate'));
        $tasks = \array_values(\array_filter($scenario->tasks(new Scope(Scope::QUICK), $subjects), static fn($task): bool => \str_ends_with($task->id(), '/population')));
        $collection = new Collection($tasks, [Serializers::NAME => $scenario]);
        $runner = new Runner($tasks, new Services(), $directory->path, 3, new Ledger(null, 'test', 1), new Stop(), new ProgressBar(new NullOutput()));
        $runner->run($collection);

        self::assertSame([], $collection->disqualified());
        [$result] = $collection->results();
        $sizes = \array_map(static fn(mixed $object): float => (float) \strlen((string) \gzdeflate(\serialize($object))), Recording::objects());
        self::assertEquals(new Summary(\array_values($sizes)), $result->summary);
        self::assertNull($scenario->base($result->cell));
    }

    public function testAnObjectThatComesBackAsSomethingElseIsSaid(): void
    {

        $this->expectException(WrongValue::class);
        $this->expectExceptionMessageMatches('/ came back as something else$/');
        Population::sizes(new FaultyMemory(['fault' => 'forgets']));
    }
}
