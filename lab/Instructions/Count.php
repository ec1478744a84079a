<?php

declare(strict_types=1);

namespace Larder\Lab\Instructions;

use Larder\Lab\Plan\Need;
use Larder\Lab\Service\Account;
use Larder\Lab\Service\Command;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\PhpFpmServer;
use Larder\Lab\Service\ServiceFailure;

/**
 * Instructions that a process has the processor run, by valgrind's callgrind: nearly the same in every run, however busy the
 * machine is.
 *
 * This folder counts them: InstructionsTask has each of the scenario's calls counted, by lab/instructions.php, and Kept
 * compares them with those of docs/instructions.json.
 */
final class Count
{
    /** Seconds. */
    private const PATIENCE = 300.0;

    /** Noise only adds: a busy machine asks for the time and waits more often. */
    private const ROUNDS = 2;

    public static function need(): Need
    {
        return Need::program(['valgrind'], 'valgrind');
    }

    /**
     * What so many more calls add to a process, divided by them.
     *
     * @param \Closure(int): int $process the instructions of one that does so many more calls
     */
    public static function ofCall(\Closure $process, int $calls): float
    {
        $with = $without = \PHP_INT_MAX;
        for ($round = 0; $round < self::ROUNDS; $round++) {
            $with = \min($with, $process($calls));
            $without = \min($without, $process(0));
        }

        return \round(($with - $without) / $calls);
    }

    /** @param non-empty-list<string> $command */
    public static function ofProcess(array $command): int
    {
        $run = Command::run([...self::words(), ...$command], self::PATIENCE);
        if (!$run->succeeded || \preg_match('/Collected : (\d+)/', $run->errors, $found) !== 1) {
            throw new ServiceFailure('A process whose instructions are counted has failed: ' . \substr("$run->output $run->errors", -500));
        }

        return (int) $found[1];
    }

    /**
     * Of a worker of php-fpm that answers so many requests and ends. One before it has answered as many: all is compiled.
     *
     * @param array<string, string|int> $ini
     */
    public static function ofWorker(Directory $directory, string $script, string $answer, int $requests, array $ini): int
    {
        $log = $directory->file('valgrind-' . \bin2hex(\random_bytes(4)));
        $fpm = new PhpFpmServer($directory, Account::own(), 1, $ini, 1, [...self::words(), "--log-file=$log"], ["pm.max_requests = $requests"]);
        $fpm->start();
        try {
            $first = $fpm->workers();
            while ($first === $fpm->workers()) {
                $fpm->request($script);
            }
            $fpm->awaitOthers($first);
            [$worker] = $fpm->workers();
            for ($i = 0; $i < $requests; $i++) {
                \str_ends_with($said = $fpm->request($script), $answer) || throw new ServiceFailure("php-fpm answers \"$said\" in the place of \"$answer\".");
            }
            $fpm->awaitOthers([$worker]);
            $told = (string) \file_get_contents($log);
        } finally {
            $fpm->stop();
        }

        return \preg_match("/^==$worker== Collected : (\\d+)/m", $told, $found) === 1 ? (int) $found[1] : throw new ServiceFailure('valgrind has counted nothing: ' . \substr($told, -500));
    }

    /** @return non-empty-list<string> */
    private static function words(): array
    {
        return ['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null'];
    }
}
