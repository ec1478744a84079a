<?php

declare(strict_types=1);

namespace Larder\WordPress;

use Larder\Cache;
use Larder\Page\Renewal;
use Larder\Queue\Message;
use Larder\Queue\Queue;
use Larder\System\Clock;

/**
 * What Larder does in the background: by a worker (`wp larder queue work`) where one is there, and otherwise at the end of the
 * request that noticed it. There is one such job: to renew a stale page. The clean-up of the cache costs a request nothing that
 * could be put off, and nothing is warmed by itself.
 */
final class Background
{
    /** The queue. */
    public const NAME = 'larder';

    public const RENEW = 'renew';

    /** Says in the site's records that a worker is there, for so many seconds; it is said again at a third of them. */
    private const RECORD = 'worker';
    private const SECONDS = 15;

    /** Of a plugin's own queues: gets the body, the queue's name and the message. */
    public const ACTION = 'larder_message';

    private static float $said = 0.0;

    /** One of the site's queues; null: there can be none where its cache is. Other sites may have theirs in the same place. */
    public static function queue(string $name = self::NAME): ?Queue
    {
        $source = Site::current()->queue();

        return $source === null ? null : Queue::open($source, \substr(\hash('sha256', Site::current()->prefix()), 0, 12) . "-$name");
    }

    /**
     * Leaves a job to a worker.
     *
     * @param non-empty-list<mixed> $job
     *
     * @return bool false: no worker is there
     */
    public static function push(Cache $root, array $job): bool
    {
        if (ObjectCache::records($root)->get(self::RECORD) !== true) {
            return false;
        }
        try {
            return self::queue()?->push($job) !== null;
        } catch (\Throwable) {
            // Whatever it is, this request can do it itself.
            return false;
        }
    }

    /** A worker does a job. */
    public static function handle(mixed $job, Message $message): void
    {
        [$kind, $variables, $token, $wait] = \is_array($job) && \array_is_list($job) ? $job + [null, null, null, null] : [null, null, null, null];
        if ($kind !== self::RENEW || !\is_array($variables) || !\is_string($token) || !\is_float($wait)) {
            $message->bury('This version of Larder does not know such a job.');

            return;
        }
        // Where that fails, the next visitor of the page after the lease's end has it renewed.
        Renewal::request($variables, $token, $wait);
    }

    /** A worker is there, or goes. */
    public static function say(Cache $root, bool $isThere): void
    {
        if ($isThere && Clock::seconds() - self::$said < self::SECONDS / 3) {
            return;
        }
        self::$said = Clock::seconds();
        $root->refresh();
        $records = ObjectCache::records($root);
        $isThere ? $records->set(self::RECORD, true, self::SECONDS) : $records->delete(self::RECORD);
    }
}
