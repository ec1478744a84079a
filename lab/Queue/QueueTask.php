<?php

declare(strict_types=1);

namespace Larder\Lab\Queue;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Plan\TableTask;
use Larder\Lab\Run\Context;
use Larder\Lab\Run\Measured;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\ServiceFailure;
use Larder\Lab\Web\Endpoint;
use Symfony\Component\Process\Process;

/**
 * One queue without HTTP: so many processes push and then take, one by one and in batches; one waits and another pushes; and
 * a pile lies there. What was taken must be what was pushed, each message once.
 */
final readonly class QueueTask extends TableTask
{
    /** Seconds after which a process is taken for hung. */
    private const PATIENCE = 300.0;

    /** Nanoseconds in which processes start and connect. */
    private const AHEAD = 300_000_000;

    /** Messages that wake a waiter. */
    private const SIGNALS = 100;

    /** Named after what it does; the taking follows its pushing. */
    public const OPERATIONS = ['push', 'take', 'push-many', 'take-many'];

    /**
     * @param non-empty-list<Side> $sides     of one subject and one number of processes
     * @param int                  $messages  of each process
     * @param int                  $pile      messages whose room is measured
     */
    public function __construct(string $id, array $sides, private int $messages, private int $pile)
    {
        parent::__construct($id, $sides);
    }

    public function perform(Context $context): array
    {
        $subject = $this->sides[0]->subject;
        [$class, $address] = [$subject->driver, self::address($subject, $context)];
        $pile = Hand::pile($class, $address);
        $pile->clear();
        $processes = $this->sides[0]->cell->concurrency;
        $found = [];
        foreach (self::OPERATIONS as $operation) {
            $jobs = [];
            for ($i = 0; $i < $processes; $i++) {
                $jobs[] = [$operation, $this->messages, 1 + $i * $this->messages];
            }
            $done = self::hands($class, $address, $jobs);
            $all = $this->messages * $processes;
            $seconds = (\max(0, ...\array_column($done, 'end')) - \min(\PHP_INT_MAX, ...\array_column($done, 'start'))) / 1e9;
            $found[$operation] = new Measured([\round($seconds * 1e6 / $all, 3)], $all / $seconds);
            if (\str_starts_with($operation, 'take')) {
                $taken = \array_merge(...\array_column($done, 'taken'));
                \sort($taken);
                if ($taken !== \range(1, $all)) {
                    throw new ServiceFailure(\sprintf('%d messages were pushed and %d taken, %d of them different', $all, \count($taken), \count(\array_unique($taken))));
                }
            }
        }
        if ($processes === 1) {
            $found['wake'] = new Measured(self::waking($class, $address));
            $found['room'] = new Measured([$this->room($subject, $context)]);
        }

        return \array_map(static fn(Side $side): Measured => $found[$side->cell->operation], $this->sides);
    }

    private static function address(Subject $subject, Context $context, string $end = ''): string
    {
        $directory = self::directory($subject, $context, $end);
        $service = $subject->service === null ? null : $context->services->get($subject->service);

        return \str_replace(['{directory}', '{socket}'], [$directory, (string) ($service?->address()['socket'] ?? '')], (string) $subject->parameters['dsn']);
    }

    private static function directory(Subject $subject, Context $context, string $end): string
    {
        return "$context->directory/queue-$subject->engine$end";
    }

    /** @return list<float> microseconds from the push to the return of who waited */
    private static function waking(string $class, string $address): array
    {
        $latencies = self::hands($class, $address, [['wake', 0, 0], ['signal', self::SIGNALS, 0]])[0]['latencies'];

        return \count($latencies) === self::SIGNALS ? $latencies : throw new ServiceFailure(\sprintf('%d messages were pushed and %d came', self::SIGNALS, \count($latencies)));
    }

    /** Bytes of a message that waits in an otherwise empty queue: on the disk, or of the server's memory. */
    private function room(Subject $subject, Context $context): float
    {
        $class = $subject->driver;
        $directory = self::directory($subject, $context, '-pile');
        $used = static function () use ($subject, $directory, $context): int {
            if ($subject->service !== null) {
                $redis = new \Redis();
                $redis->connect((string) $context->services->get($subject->service)->address()['socket']);
                $told = $redis->info('memory');

                return \is_array($told) && \is_numeric($told['used_memory'] ?? null) ? (int) $told['used_memory'] : 0;
            }
            \clearstatcache();

            return \array_sum(\array_map(static fn(string $file): int => \is_file($file) ? (int) \filesize($file) : 0, [...\glob("$directory/*") ?: [], ...\glob("$directory/*/*") ?: []]));
        };
        try {
            $pile = Hand::pile($class, self::address($subject, $context, '-pile'));
            $pile->clear();
            $before = $used();
            for ($i = 0; $i < $this->pile; $i += 1_000) {
                $pile->pushMany(\array_fill(0, \max(1, \min(1_000, $this->pile - $i)), Endpoint::MESSAGE));
            }
            $room = \round(($used() - $before) / $this->pile, 1);
            $pile->clear();

            return $room;
        } finally {
            unset($pile);
            Directory::clear($directory);
        }
    }

    /**
     * @param non-empty-list<array{string, int, int}> $jobs
     *
     * @return list<array{start: int, end: int, taken: list<int>, latencies: list<float>}>
     */
    private static function hands(string $class, string $address, array $jobs): array
    {
        // Ahead, by the clock that all processes share: the last one is ready by then.
        $start = \hrtime(true) + self::AHEAD;
        $hands = [];
        foreach ($jobs as [$operation, $count, $first]) {
            $process = new Process([\PHP_BINARY, __DIR__ . '/../queue.php', $class, $address, $operation, (string) $count, (string) $first, (string) $start], timeout: self::PATIENCE);
            $process->start();
            $hands[] = $process;
        }
        $done = [];
        foreach ($hands as $process) {
            $process->wait();
            $said = \json_decode($process->getOutput(), true);
            if (!$process->isSuccessful() || !\is_array($said)) {
                throw new ServiceFailure('A process that pushes or takes has failed: ' . \substr($process->getErrorOutput() . $process->getOutput(), 0, 500));
            }
            /** @var array{start: int, end: int, taken: list<int>, latencies: list<float>} $said */
            $done[] = $said;
        }

        return $done;
    }

    /** @return non-empty-list<Side> */
    public static function measures(string $scenario, Subject $subject, string $payload, int $processes): array
    {
        $sides = \array_map(static fn(string $operation): Side => Side::of($scenario, $subject, $payload, $operation, \max(1, $processes)), self::OPERATIONS);

        return $processes > 1 ? $sides : [...$sides, Side::of($scenario, $subject, $payload, 'wake'), Side::of($scenario, $subject, $payload, 'room', unit: Cell::BYTES)];
    }
}
