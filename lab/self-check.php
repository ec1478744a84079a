<?php

// Whether the lab can be believed on this machine: subjects that are the same, and subjects that are 10 % slower on
// purpose, each pair in its own rounds, judged as a run judges them.
//
// php lab/self-check.php [--pairs=100] [--rounds=10] [--seed=1]

declare(strict_types=1);

namespace Larder\Lab;

use Larder\Lab\Plan\Pair;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Run\Context;
use Larder\Lab\Run\Result;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\Services;
use Larder\Lab\Statistics\Bootstrap;
use Larder\Lab\Statistics\Interval;
use Larder\Lab\Statistics\Noise;
use Larder\Lab\Subject\EngineSubjects;
use Larder\Lab\Subject\SlowedDriver;
use Larder\Lab\Worker\ProcessTask;

require __DIR__ . '/../vendor/autoload.php';

$options = ['pairs' => 100, 'rounds' => 10, 'seed' => 1];
foreach (\array_slice($argv, 1) as $argument) {
    if (\preg_match('/^--(pairs|rounds|seed)=([1-9][0-9]{0,5})$/D', $argument, $match) !== 1) {
        \fwrite(\STDERR, "Unknown argument $argument. Possible are --pairs=100, --rounds=10 and --seed=1.\n");
        exit(2);
    }
    $options[$match[1]] = (int) $match[2];
}

// In memory, on the disk, over a socket: name, payload, operation, operations of a sample.
$kinds = [['apcu:process:php', '50x50', 'read', 20], ['larder-sqlite:process:igbinary', 'short', 'write', 100], ['redis:socket:php', 'short', 'read', 100]];
$subjects = [];
foreach (EngineSubjects::all() as $subject) {
    $subjects[$subject->name] = $subject;
}
$kinds = \array_values(\array_filter($kinds, static fn(array $kind): bool => $subjects[$kind[0]]->missing() === []));
if ($kinds === []) {
    \fwrite(\STDERR, "Neither APCu nor SQLite nor Redis is here: bin/larder bench --list says what to install.\n");
    exit(1);
}

$services = new Services();
$directory = Directory::temporary();
$bootstrap = new Bootstrap();
$compare = static function (Subject $of, Subject $to, string $payload, string $operation, int $operations, int $pair) use ($services, $directory, $bootstrap, $options): Interval {
    $sides = [Side::of('self-check', $of, $payload, $operation), Side::of('self-check', $to, $payload, $operation)];
    $task = ProcessTask::inTurn($sides[0], $sides[1], $operations, new Pair(''));
    $ofs = $tos = [];
    for ($round = 0; $round < $options['rounds']; ++$round) {
        [$one, $other] = $task->perform(new Context($services, $directory->path, \crc32("$options[seed]/$pair/$round")));
        if ($one->samples === [] || $other->samples === []) {
            throw new \RuntimeException($one->wrong ?? $other->wrong ?? 'Nothing was measured.');
        }
        $ofs[] = (new Result($sides[0]->cell, [$one->samples]))->centers()[0];
        $tos[] = (new Result($sides[1]->cell, [$other->samples]))->centers()[0];
    }

    return $bootstrap->paired($ofs, $tos);
};

$same = [];
$different = $found = 0;
for ($pair = 0; $pair < $options['pairs']; ++$pair) {
    [$name, $payload, $operation, $operations] = $kinds[$pair % \count($kinds)];
    $subject = $subjects[$name];
    $slowed = $subject->with(needs: [], driver: SlowedDriver::class, parameters: $subject->parameters + ['slowed' => $subject->driver, 'percent' => 10]);
    $same[] = $interval = $compare($subject, $subject, $payload, $operation, $operations, $pair);
    $different += $interval->excludesOne() ? 1 : 0;
    $interval = $compare($slowed, $subject, $payload, $operation, $operations, -1 - $pair);
    $found += $interval->low > 1.0 ? 1 : 0;
    if (($pair + 1) % 10 === 0) {
        \fwrite(\STDERR, \sprintf("%d of %d pairs\n", $pair + 1, $options['pairs']));
    }
}
$services->stopAll();
$directory->remove();

\printf("%d rounds a pair, %s\n", $options['rounds'], \implode(', ', \array_column($kinds, 0)));
\printf("the same subject twice: %d of %d pairs were called different (about 5 in 100 are at 95 %%)\n", $different, $options['pairs']);
\printf("slower by 10 %% on purpose: %d of %d were found\n", $found, $options['pairs']);
$quiet = \count(\array_filter(\array_chunk($same, 3), static fn(array $three): bool => (new Noise($three))->quiet));
\printf("of %d runs with three such pairs, %d would have called this machine quiet\n", (int) \ceil(\count($same) / 3), $quiet);
