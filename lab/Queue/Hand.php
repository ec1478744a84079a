<?php

declare(strict_types=1);

namespace Larder\Lab\Queue;

/** A process that pushes or takes: it connects, waits for the moment of the start, works, and prints what it did as JSON. */
final class Hand
{
    public const BATCH = 100;

    /** Seconds that a waiter has nothing to do before it ends. */
    private const QUIET = 2.0;

    /** @param list<string> $arguments */
    public static function main(array $arguments): int
    {
        [, $class, $address, $operation, $count, $first, $moment] = $arguments + \array_fill(0, 7, '');
        $pile = self::pile($class, $address);
        while (\hrtime(true) < (int) $moment) {
            \usleep(50);
        }
        $start = \hrtime(true);
        $done = self::work($pile, $operation, (int) $count, (int) $first);
        echo \json_encode(['start' => $start, 'end' => \hrtime(true)] + $done, \JSON_THROW_ON_ERROR), "\n";

        return 0;
    }

    public static function pile(string $class, string $address): Pile
    {
        return \is_a($class, Pile::class, true) ? new $class($address) : throw new \InvalidArgumentException("$class is no queue.");
    }

    /**
     * @param int $first of the numbers that the messages have
     *
     * @return array{taken: list<int>, latencies: list<float>}
     */
    private static function work(Pile $pile, string $operation, int $count, int $first): array
    {
        $taken = $latencies = [];
        switch ($operation) {
            case 'push':
                for ($i = 0; $i < $count; $i++) {
                    $pile->push((string) ($first + $i));
                }
                break;
            case 'push-many':
                for ($i = 0; $i < $count; $i += self::BATCH) {
                    $pile->pushMany(\array_map(\strval(...), \range($first + $i, $first + \min($count, $i + self::BATCH) - 1)));
                }
                break;
            case 'take':
                while (($body = $pile->take(0.0)) !== null) {
                    $taken[] = (int) $body;
                }
                break;
            case 'take-many':
                while (($bodies = $pile->takeMany(self::BATCH)) !== []) {
                    \array_push($taken, ...\array_map(\intval(...), $bodies));
                }
                break;
            case 'signal':
                for ($i = 0; $i < $count; $i++) {
                    \usleep(5_000);
                    $pile->push((string) \hrtime(true));
                }
                break;
            case 'wake':
                while (($body = $pile->take(self::QUIET)) !== null) {
                    $latencies[] = (\hrtime(true) - (int) $body) / 1e3;
                }
        }

        return ['taken' => $taken, 'latencies' => $latencies];
    }
}
