<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Queue\Connectors\ConnectorInterface;

/**
 * Makes Laravel's connections of the driver "larder".
 *
 * Their configuration: `dsn` (sqlite:///var/lib/app/queue, redis://…), `queue` ("default"), `retry_after` (seconds that a job
 * is one worker's, longer than any job takes; 60), `block_for` (seconds to wait for a job; 0), `after_commit`, and the options
 * of Queue::open().
 *
 * This folder is the queue behind Laravel, and nothing more.
 */
final class LarderConnector implements ConnectorInterface
{
    /** Laravel's own. */
    private const OTHERS = ['driver', 'queue', 'retry_after', 'block_for', 'after_commit', 'name'];

    public function __construct(private readonly Opened $opened = new Opened()) {}

    /** @param array<string, mixed> $config */
    public function connect(array $config): LarderQueue
    {
        // Laravel counts the attempts of a job by itself, and keeps what has failed.
        $source = \array_diff_key($config, \array_flip(self::OTHERS)) + ['attempts' => \PHP_INT_MAX];
        $name = $config['queue'] ?? 'default';

        return new LarderQueue(
            $this->opened,
            $source,
            \is_string($name) ? $name : 'default',
            self::number($config['retry_after'] ?? 60),
            self::number($config['block_for'] ?? 0),
            ($config['after_commit'] ?? false) === true,
        );
    }

    private static function number(mixed $given): int
    {
        return \is_numeric($given) ? \max(0, (int) $given) : 0;
    }
}
