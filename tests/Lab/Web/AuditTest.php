<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Web;

use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Scenario\Counters;
use Larder\Lab\Scenario\Queues;
use Larder\Lab\Service\ServiceFailure;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;

/** Counters and queues over HTTP: the sums are exact, or the subject is out. */
#[Group('web')]
final class AuditTest extends WebTestCase
{
    #[TestWith(['fake'])]
    #[TestWith(['memcached'])]
    #[TestWith(['redis'])]
    #[TestWith(['predis'])]
    #[TestWith(['larder-sqlite'])]
    #[TestWith(['larder-combine'])]
    #[TestWith(['larder-redis'])]
    #[TestWith(['larder-cache'])]
    public function testACounterHoldsWhatWasAnswered(string $engine): void
    {
        $this->perform(new Counters($this->stand), $engine, 0);
    }

    #[TestWith(['fake', 0])]
    #[TestWith(['redis', 0])]
    #[TestWith(['redis', 1])]
    #[TestWith(['zmq', 0])]
    #[TestWith(['larder-sqlite', 0])]
    #[TestWith(['larder-sqlite', 1])]
    #[TestWith(['larder-redis', 1])]
    public function testAQueueHoldsOrItsConsumerHasTakenWhatWasAnswered(string $engine, int $task): void
    {
        $this->perform(new Queues($this->stand), $engine, $task);
    }

    public function testACounterThatCountsAnotherNumberIsOut(): void
    {
        $this->lie(new Counters($this->stand), 'redis', '$c->incr(\'counter\')', '$c->incrBy(\'counter\', random_int(1, 100) === 1 ? 2 : 1)');
        $this->expectException(ServiceFailure::class);
        $this->expectExceptionMessageMatches('/\d+ requests were answered, and it holds \d+\./');
        $this->perform(new Counters($this->stand), 'redis', 0);
    }

    #[TestWith([0, '/\d+ requests were answered, and it holds \d+\./'])]
    #[TestWith([1, '/\d+ requests were answered, and \d+ were taken and 0 are left\./'])]
    public function testAQueueThatLosesOneInAHundredIsOut(int $task, string $message): void
    {
        $this->lie(new Queues($this->stand), 'redis', '$c->rPush(', 'random_int(1, 100) === 1 ? 1 : $c->rPush(');
        $this->expectException(ServiceFailure::class);
        $this->expectExceptionMessageMatches($message);
        $this->perform(new Queues($this->stand), 'redis', $task);
    }

    public function testARequestThatFailsPutsASubjectOut(): void
    {
        $this->lie(new Queues($this->stand), 'redis', 'echo', 'random_int(1, 100) === 1 && http_response_code(500); echo');
        $this->expectException(ServiceFailure::class);
        $this->perform(new Queues($this->stand), 'redis', 0);
    }

    /** Before its script has been asked for, so that PHP has not compiled it. */
    private function lie(Scenario $scenario, string $engine, string $truth, string $lie): void
    {
        $subject = self::subject($scenario, $engine);
        $name = $scenario->presentation()->name;
        $this->stand->url($name, $subject, $this->context);
        $script = $this->stand->root($name, $subject)->file('index.php');
        $code = \str_replace($truth, $lie, (string) \file_get_contents($script), $count);
        self::assertSame(1, $count);
        \file_put_contents($script, $code);
    }

    private function perform(Scenario $scenario, string $engine, int $task): void
    {
        $subject = self::subject($scenario, $engine);
        foreach ($subject->missing() as $need) {
            self::markTestSkipped("Needs $need->what: $need->advice");
        }
        $tasks = $scenario->tasks(new Scope(Scope::QUICK), [$subject]);
        $tasks = \array_values(\array_filter($tasks, static fn(object $one): bool => $one instanceof \Larder\Lab\Web\LoadTask));
        $measured = $tasks[$task]->perform($this->context);
        foreach ($tasks[$task]->sides() as $i => $side) {
            self::assertGreaterThan(0.0, $measured[$i]->samples[0] ?? 0.0, $side->cell->id());
        }
    }
}
