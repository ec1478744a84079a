<?php

declare(strict_types=1);

namespace Larder\Tests\Bridge\Laravel;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;

/** One process that serves many requests, as Octane and queue workers do. */
#[CoversNothing]
#[Group('bridge')]
final class OctaneTest extends LaravelCase
{
    protected function dsn(): ?string
    {
        return null;
    }

    #[TestWith(['Laravel\Octane\Events\RequestReceived'])]
    #[TestWith(['Laravel\Octane\Events\TaskReceived'])]
    #[TestWith(['Laravel\Octane\Events\TickReceived'])]
    #[TestWith(['Laravel\Octane\Events\WorkerStarting'])]
    #[TestWith(['Laravel\Octane\Contracts\OperationTerminated'])]
    #[TestWith(['Laravel\Octane\Events\WorkerStopping'])]
    #[TestWith(['Illuminate\Queue\Events\Looping'])]
    public function testARequestSeesWhatOthersChangedBefore(string $event): void
    {
        $this->cache()->put('k', 'old', 60);
        $this->elsewhere()->put('k', 'new', 60);
        self::assertSame('old', $this->cache()->get('k'), 'this request has its own view');
        $this->app->make('events')->dispatch($event);
        self::assertSame('new', $this->cache()->get('k'));
    }
}
