<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Web;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Plan\Task;
use Larder\Lab\Run\Measured;
use Larder\Lab\Scenario\Fpm;
use Larder\Lab\Scenario\Laravel;
use Larder\Lab\Scenario\Pages;
use Larder\Lab\Service\ServiceFailure;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;

#[Group('web')]
final class LoadTaskTest extends WebTestCase
{
    public function testAScriptIsAskedAndEachFigureIsThere(): void
    {
        $scenario = new Fpm($this->stand);
        $task = $scenario->tasks(new Scope(Scope::QUICK), [self::subject($scenario, 'filesystem')])[0];
        $measured = $task->perform($this->context);

        foreach ($task->sides() as $i => $side) {
            self::assertGreaterThan(0.0, \min($measured[$i]->samples === [] ? [0.0] : $measured[$i]->samples), $side->cell->id());
        }
        // hey asks 50 times for each of its 50 connections at the most.
        self::assertGreaterThanOrEqual(1_950, \count($this->of($task, $measured, 'latency', 50)->samples));
        self::assertGreaterThan(0.0, $this->of($task, $measured, 'hey', 1)->perSecond);
    }

    #[TestWith(['larder-sqlite'])]
    #[TestWith(['larder-segment'])]
    #[TestWith(['nginx-fastcgi-cache'])]
    #[TestWith(['apache-file'])]
    #[TestWith(['apache-cache'])]
    #[TestWith(['varnish'])]
    public function testAPageComesFromTheCacheAndIsThatOfTheApplication(string $engine): void
    {
        $scenario = new Pages($this->stand);
        $task = $scenario->tasks(new Scope(Scope::PART), [self::subject($scenario, $engine)])[0];
        $measured = $task->perform($this->context);

        self::assertGreaterThan(0.0, $this->of($task, $measured, 'wrk', 10)->perSecond);
        self::assertGreaterThan(0.0, $this->of($task, $measured, 'ab', 10)->samples[0]);
    }

    #[TestWith(['laravel-database', 'write'])]
    #[TestWith(['laravel-file', 'write'])]
    #[TestWith(['laravel-redis', 'limit'])]
    #[TestWith(['larder-sqlite', 'write'])]
    #[TestWith(['larder-sqlite', 'limit'])]
    #[TestWith(['larder-redis', 'limit'])]
    public function testAnApplicationOfLaravelsOverEachStore(string $engine, string $last): void
    {
        $scenario = new Laravel($this->stand);
        $subject = self::subject($scenario, $engine);
        $subject->missing() === [] || self::markTestSkipped($subject->missing()[0]->what . ' is not there.');
        foreach (['read', $last] as $payload) {
            $tasks = \array_values(\array_filter($scenario->tasks(new Scope(Scope::PART), [$subject]), static fn(Task $task): bool => \str_ends_with($task->id(), "/$payload")));
            $measured = $tasks[0]->perform($this->context);
            self::assertGreaterThan(0.0, $this->of($tasks[0], $measured, 'wrk', 10)->perSecond);
            self::assertGreaterThan(0.0, $this->of($tasks[0], $measured, 'p99', 10)->samples[0]);
        }
    }

    /** A subject that answers something else, or does not answer from its cache, has no figures. */
    public function testAWrongAnswerCountsForNothing(): void
    {
        $scenario = new Pages($this->stand);
        $none = self::subject($scenario, 'application');
        // Says that it is a cache, and is none.
        $pretender = new Subject('nginx-pretender:process', 'nginx-pretender', Cell::PROCESS, 'none', 'none', [], $none->driver, ['server' => 'cache-of-nobody'] + $none->parameters);
        $task = $scenario->tasks(new Scope(Scope::PART), [$pretender])[0];

        $this->expectException(ServiceFailure::class);
        $this->expectExceptionMessage('it does not come from the cache');
        $task->perform($this->context);
    }

    /** Larder goes on without it. Seen to fail: without the look in LoadTask::check(). */
    public function testASubjectWithoutItsNearTierCountsForNothing(): void
    {
        // A directory in its place.
        \mkdir($this->context->services->memory()->sub('web')->file('segment'));
        $scenario = new Fpm($this->stand);
        $task = $scenario->tasks(new Scope(Scope::PART), [self::subject($scenario, 'larder-segment')])[0];

        $this->expectException(ServiceFailure::class);
        $this->expectExceptionMessage('Larder does not use segment as its near tier');
        $task->perform($this->context);
    }

    /** @param list<Measured> $measured */
    private function of(\Larder\Lab\Plan\Task $task, array $measured, string $operation, int $atOnce): Measured
    {
        foreach ($task->sides() as $i => $side) {
            if ($side->cell->operation === $operation && $side->cell->concurrency === $atOnce) {
                return $measured[$i];
            }
        }
        self::fail("There is no cell $operation, $atOnce at once.");
    }
}
