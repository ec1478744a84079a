<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Queue\QueueManager;
use Illuminate\Support\ServiceProvider;

/** Tells Laravel of the driver "larder". Laravel finds it by composer.json. */
final class LarderServiceProvider extends ServiceProvider
{
    public function register(): void
    {
        $this->callAfterResolving('queue', static function (QueueManager $manager): void {
            $manager->addConnector('larder', static fn(): LarderConnector => new LarderConnector());
        });
    }
}
