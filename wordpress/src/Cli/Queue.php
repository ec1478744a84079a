<?php

declare(strict_types=1);

namespace Larder\WordPress\Cli;

use Larder\Cache;
use Larder\Console\Support\Text;
use Larder\Queue\Link;
use Larder\Queue\Message;
use Larder\Queue\Queue as LarderQueue;
use Larder\Queue\QueueFailure;
use Larder\Queue\Supervisor;
use Larder\Queue\Worker;
use Larder\Queue\WorkerLimits;
use Larder\WordPress\Background;
use Larder\WordPress\FailedReads;

/** `wp larder queue …`. */
final class Queue
{
    /**
     * Shows what waits in the queue.
     *
     * ## OPTIONS
     *
     * [--name=<name>]
     * : The queue. Larder's own is "larder".
     * ---
     * default: larder
     * ---
     *
     * [--format=<format>]
     * : How to print it.
     * ---
     * default: table
     * options:
     *   - table
     *   - json
     *   - csv
     * ---
     *
     * ## EXAMPLES
     *
     *     $ wp larder queue status
     *
     * @param list<string>                        $args
     * @param array{name: string, format: string} $options
     */
    public function status(array $args, array $options): void
    {
        $stats = self::open($options['name'], static fn(LarderQueue $queue): array => $queue->stats());
        \WP_CLI\Utils\format_items($options['format'], [['queue' => $options['name']] + $stats], ['queue', 'ready', 'delayed', 'claimed', 'dead', 'late', 'paused']);
    }

    /**
     * Handles messages until it is stopped: Larder's own jobs, or those of a plugin.
     *
     * While it runs for the queue "larder", stale pages are renewed here and not at the end of visitors' requests. The messages
     * of another queue go to the action `larder_message`, with body, name and message.
     *
     * ## OPTIONS
     *
     * [--name=<name>]
     * : The queue. Larder's own is "larder".
     * ---
     * default: larder
     * ---
     *
     * [--processes=<number>]
     * : Workers. One that has reached a limit is replaced.
     * ---
     * default: 1
     * ---
     *
     * [--max-jobs=<number>]
     * : A worker ends after so many messages.
     * ---
     * default: 0
     * ---
     *
     * [--max-time=<seconds>]
     * : A worker ends after so many seconds.
     * ---
     * default: 3600
     * ---
     *
     * [--memory=<mebibytes>]
     * : A worker ends when it holds so much.
     * ---
     * default: 256
     * ---
     *
     * [--visibility=<seconds>]
     * : Time after which a message is another worker's if this machine dies.
     * ---
     * default: 60
     * ---
     *
     * [--stop-when-empty]
     * : End when no message is due.
     *
     * ## EXAMPLES
     *
     *     $ wp larder queue work --processes=2
     *
     * @param list<string>         $args
     * @param array<string, mixed> $options
     */
    public function work(array $args, array $options): void
    {
        $name = \is_string($options['name'] ?? null) ? $options['name'] : Background::NAME;
        $whileEmpty = Door::flag($options, 'stop-when-empty');
        $visibility = Door::number($options, 'visibility', 60, 1, 86_400);
        $limits = new WorkerLimits(
            Door::number($options, 'max-jobs', 0, 0, \PHP_INT_MAX),
            Door::number($options, 'max-time', 3600, 0, \PHP_INT_MAX),
            Door::number($options, 'memory', 256, 0, 1 << 20) * 1024 ** 2,
            $whileEmpty,
        );
        self::open($name, static function (LarderQueue $queue) use ($name, $visibility, $limits, $options, $whileEmpty): bool {
            $link = Link::toSupervisor();
            if ($link === null) {
                self::supervise($queue, $name, Door::number($options, 'processes', 1, 1, 1_000), $visibility, !$whileEmpty);

                return true;
            }
            (new Worker($queue, self::handler($name), $limits, $visibility, $link, static function (): void {
                Cache::refreshAll();
                FailedReads::forget();
            }))->run();

            return true;
        });
    }

    /**
     * Shows the dead messages, and their errors.
     *
     * ## OPTIONS
     *
     * [--name=<name>]
     * : The queue.
     * ---
     * default: larder
     * ---
     *
     * [--format=<format>]
     * : How to print it.
     * ---
     * default: table
     * options:
     *   - table
     *   - json
     *   - csv
     * ---
     *
     * @param list<string>                        $args
     * @param array{name: string, format: string} $options
     */
    public function dead(array $args, array $options): void
    {
        $dead = self::open($options['name'], static fn(LarderQueue $queue): array => $queue->dead());
        \WP_CLI\Utils\format_items($options['format'], \array_map(static fn(array $message): array => ['body' => Text::line(Text::printed($message['body']), 200)] + $message, $dead), ['id', 'attempts', 'error', 'body']);
    }

    /**
     * Lets dead messages wait again.
     *
     * ## OPTIONS
     *
     * [<id>...]
     * : Which. Without any, all.
     *
     * [--name=<name>]
     * : The queue.
     * ---
     * default: larder
     * ---
     *
     * @param list<string>        $args
     * @param array{name: string} $options
     */
    public function retry(array $args, array $options): void
    {
        \WP_CLI::success(self::open($options['name'], static fn(LarderQueue $queue): int => $queue->retryDead(...$args)) . ' wait again.');
    }

    /**
     * Removes all messages that wait.
     *
     * ## OPTIONS
     *
     * [--name=<name>]
     * : The queue.
     * ---
     * default: larder
     * ---
     *
     * @param list<string>        $args
     * @param array{name: string} $options
     */
    public function purge(array $args, array $options): void
    {
        \WP_CLI::success(self::open($options['name'], static fn(LarderQueue $queue): int => $queue->purge()) . ' removed.');
    }

    /**
     * @template T
     *
     * @param \Closure(LarderQueue): T $do
     *
     * @return T
     */
    private static function open(string $name, \Closure $do): mixed
    {
        try {
            $queue = Background::queue($name) ?? \WP_CLI::error('There can be no queue where the cache of this site is: ' . \Larder\WordPress\Site::current()->describe() . '.');

            return $do($queue);
        } catch (QueueFailure $failure) {
            \WP_CLI::error($failure->getMessage());
        }
    }

    /** @return \Closure(mixed, Message): mixed */
    private static function handler(string $name): \Closure
    {
        if ($name === Background::NAME) {
            return Background::handle(...);
        }

        return static function (mixed $body, Message $message) use ($name): void {
            if (!\has_action(Background::ACTION)) {
                // phpcs:ignore WordPress.Security.EscapeOutput.ExceptionNotEscaped -- for the log and the terminal
                throw new \LogicException('No plugin handles ' . Background::ACTION . '.');
            }
            \do_action(Background::ACTION, $body, $name, $message);
        };
    }

    private static function supervise(LarderQueue $queue, string $name, int $processes, int $visibility, bool $replaces): void
    {
        $root = $name === Background::NAME ? Door::installed()?->larder() : null;
        $supervisor = new Supervisor($queue, Supervisor::commandLine(), $processes, $visibility, 0.0, $replaces, self::tell(...), static fn() => $root === null || Background::say($root, true));
        if (\function_exists('pcntl_async_signals')) {
            \pcntl_async_signals(true);
            foreach ([\SIGTERM, \SIGINT] as $signal) {
                \pcntl_signal($signal, static fn() => $supervisor->stop());
            }
            \pcntl_signal(\SIGHUP, static fn() => $supervisor->renew());
        }
        $problem = $supervisor->run();
        $root === null || Background::say($root, false);
        $problem === null || \WP_CLI::error($problem);
    }

    /** @param array<array-key, mixed> $event */
    private static function tell(array $event): void
    {
        if ($event['event'] === 'job') {
            \WP_CLI::line((string) \wp_json_encode($event, \JSON_UNESCAPED_SLASHES | \JSON_INVALID_UTF8_SUBSTITUTE));
        } elseif ($event['event'] === 'failure') {
            \WP_CLI::warning(\is_string($event['error'] ?? null) ? $event['error'] : '');
        }
    }
}
