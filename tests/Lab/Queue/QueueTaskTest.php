<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Queue;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Queue\QueueTask;
use Larder\Lab\Run\Context;
use Larder\Lab\Service\ServiceFailure;
use Larder\Lab\Service\Services;
use Larder\Lab\Subject\QueueSubjects;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** Queues without HTTP: what was taken is what was pushed, or the subject is out. */
#[Group('slow')]
final class QueueTaskTest extends TestCase
{
    private Services $services;

    protected function setUp(): void
    {
        $this->services = new Services();
    }

    protected function tearDown(): void
    {
        $this->services->stopAll();
    }

    #[TestWith(['sqlite', 1])]
    #[TestWith(['larder-sqlite', 1])]
    #[TestWith(['larder-sqlite', 4])]
    #[TestWith(['redis', 1])]
    #[TestWith(['redis', 4])]
    #[TestWith(['larder-redis', 4])]
    #[TestWith(['laravel-larder-sqlite', 1])]
    #[TestWith(['laravel-redis', 1])]
    #[TestWith(['laravel-larder-redis', 1])]
    #[Group('slow')]
    public function testEachFigureIsThere(string $engine, int $processes): void
    {
        foreach (QueueSubjects::all() as $subject) {
            if ($subject->engine === $engine) {
                foreach ($subject->missing() as $need) {
                    self::markTestSkipped("Needs $need->what: $need->advice");
                }
                $task = self::task($subject, $processes);
                foreach ($task->perform($this->context()) as $i => $measured) {
                    $side = $task->sides()[$i];
                    self::assertGreaterThan(0.0, \min($measured->samples === [] ? [0.0] : $measured->samples), $side->cell->id());
                    self::assertCount($side->cell->operation === 'wake' ? 100 : 1, $measured->samples);
                }
            }
        }
    }

    #[TestWith(['loses', '300 messages were pushed and 297 taken, 297 of them different'])]
    #[TestWith(['repeats', '300 messages were pushed and 301 taken, 300 of them different'])]
    public function testAQueueThatTakesWhatWasNotPushedIsOut(string $fault, string $message): void
    {
        $subject = new Subject('faulty:script', 'faulty', Cell::PROCESS, 'none', 'none', [], FaultyPile::class, ['dsn' => "$fault {directory}"]);
        $this->expectException(ServiceFailure::class);
        $this->expectExceptionMessage($message);
        self::task($subject, 1)->perform($this->context());
    }

    private static function task(Subject $subject, int $processes): QueueTask
    {
        return new QueueTask('task', QueueTask::measures('queues', $subject, 'message', $processes), 300, 1_000);
    }

    private function context(): Context
    {
        return new Context($this->services, $this->services->directory()->path, 1);
    }
}
