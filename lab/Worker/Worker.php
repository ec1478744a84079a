<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

use Larder\Lab\Payload\Payloads;
use Larder\Lab\Subject\Driver;
use Larder\Lab\Subject\SharedFile;
use Random\Engine\Xoshiro256StarStar;
use Random\Randomizer;

/**
 * The process that measures: a job in, samples out.
 *
 * Ten at once are ten forks of it, which agree on the moment to start with at every cell: so APCu's memory, which
 * belongs to a process and its children, is one to them, as it is to the workers of php-fpm.
 *
 * @phpstan-type Found array{samples?: list<float>, perSecond?: float, operations?: int, spent?: array{int, float, float}, wrong?: string}
 */
final readonly class Worker
{
    /** Operations of processes at once that are counted by the second, and how many write beside them. */
    private const WRITERS = ['gets' => 0, 'gets-written' => 1];

    /**
     * @param list<array{driver: class-string<Driver>, parameters: array<string, string|int>, payload: string, operation: string, request: int<1, max>, operations: int<1, max>}> $sides
     * @param int<1, max> $concurrency
     */
    private function __construct(
        private array $sides,
        private int $concurrency,
        private bool $inTurn,
        private Effort $effort,
        private int $seed,
    ) {}

    /** @return int exit status */
    public static function main(): int
    {
        // A worker's answer is JSON: what PHP has to say goes elsewhere.
        \ini_set('display_errors', 'stderr');
        \set_error_handler(static function (int $level, string $message): bool {
            if ((\error_reporting() & $level) === 0) {
                return false;
            }
            throw new \RuntimeException($message);
        }, \E_ALL & ~\E_DEPRECATED & ~\E_USER_DEPRECATED);
        try {
            /** @var array{sides: list<array{driver: class-string<Driver>, parameters: array<string, string|int>, payload: string, operation: string, request: int<1, max>, operations: int<1, max>}>, concurrency: int<1, max>, inTurn: bool, effort: array{samples: int<1, max>, milliseconds: float, window: float, operations: int<1, max>, least: int<1, max>, warm: bool}, seed: int} $job */
            $job = \json_decode((string) \stream_get_contents(\STDIN), true, 512, \JSON_THROW_ON_ERROR);
            $worker = new self($job['sides'], $job['concurrency'], $job['inTurn'], new Effort(...$job['effort']), $job['seed']);
            echo \json_encode($worker->work(), \JSON_THROW_ON_ERROR | \JSON_PRESERVE_ZERO_FRACTION), "\n";
        } catch (\Throwable $e) {
            \fwrite(\STDERR, \get_class($e) . ': ' . $e->getMessage() . ' (' . \basename($e->getFile()) . ':' . $e->getLine() . ")\n");

            return 1;
        }

        return 0;
    }

    /** @return list<Found> */
    private function work(): array
    {
        foreach ($this->sides as ['driver' => $class, 'parameters' => $parameters]) {
            $class::clear($parameters);
        }
        if ($this->inTurn) {
            return $this->takeTurns();
        }

        $found = [];
        $before = null;
        foreach (\array_keys($this->sides) as $side) {
            $found[] = $this->cell($side, $before);
        }

        return $found;
    }

    /**
     * @param ?Bench $before of the side before, then of this one
     *
     * @return Found
     */
    private function cell(int $side, ?Bench &$before): array
    {
        $beside = self::WRITERS[$this->sides[$side]['operation']] ?? null;
        if ($beside !== null || $this->concurrency > 1) {
            $found = (new Crew($this->concurrency, $beside ?? 0, $this->effort->window))->work(fn(int $member): Bench => $this->bench($side, $member));

            // What is counted by the second is that.
            return $beside !== null && isset($found['perSecond']) ? ['samples' => [$found['perSecond']]] + $found : $found;
        }
        try {
            if ($this->sides[$side]['payload'] === Population::NAME) {
                // Of one object each, so that their percentiles mean something.
                return ['samples' => Population::sizes($this->driver($side)), 'operations' => 1];
            }
            $bench = $this->bench($side, 0);
            [$there, $before] = [$before, null];
            $bench->prepare($there);
            $samples = [];
            $end = \hrtime(true) + $this->effort->milliseconds * 1e6;
            do {
                $samples[] = $bench->sample();
            } while ($this->goesOn(\count($samples), $end));
            $found = self::found($bench, $samples);
            $before = $bench;

            return $found;
        } catch (\Exception $e) {
            return ['wrong' => self::say($e)];
        }
    }

    private function goesOn(int $taken, float $end): bool
    {
        return $taken < $this->effort->least || ($taken < $this->effort->samples && \hrtime(true) < $end);
    }

    /**
     * @param list<float> $samples
     *
     * @return Found
     */
    private static function found(Bench $bench, array $samples): array
    {
        // It may find that all of this was something else.
        $bench->finish();
        $spent = $bench->spent;
        if ($spent->operations === 0) {
            return ['samples' => $samples];
        }

        return [
            'samples' => $samples,
            'perSecond' => $spent->operations / $spent->time * 1e9,
            'operations' => \intdiv($spent->operations, \count($samples)),
            'spent' => [$spent->operations, $spent->time / 1e9, $spent->processor],
        ];
    }

    /**
     * All sides in an order drawn anew for each sample, so that whatever the machine does meanwhile happens to all.
     *
     * @return list<Found>
     */
    private function takeTurns(): array
    {
        $random = new Randomizer(new Xoshiro256StarStar($this->seed));
        $benches = $found = $samples = [];
        foreach (\array_keys($this->sides) as $side) {
            try {
                $benches[] = $bench = $this->bench($side, $side);
                $bench->prepare();
                $found[] = ['samples' => []];
            } catch (\Exception $e) {
                $found[] = ['wrong' => self::say($e)];
            }
        }
        if (\array_column($found, 'wrong') !== []) {
            return $found;
        }
        $end = \hrtime(true) + $this->effort->milliseconds * 1e6 * \count($benches);
        for ($taken = 0; $this->goesOn($taken, $end); ++$taken) {
            /** @var list<int> $order */
            $order = $random->shuffleArray(\array_keys($benches));
            foreach ($order as $side) {
                $samples[$side][] = $benches[$side]->sample();
            }
        }

        return \array_map(static function (int $side) use ($benches, $samples): array {
            try {
                return self::found($benches[$side], $samples[$side] ?? []);
            } catch (\Exception $e) {
                return ['wrong' => self::say($e)];
            }
        }, \array_keys($benches));
    }

    private function driver(int $side): Driver
    {
        ['driver' => $class, 'parameters' => $parameters] = $this->sides[$side];
        $directory = (string) ($parameters['directory'] ?? '');
        $directory === '' || SharedFile::makeRoom($directory);

        return new $class($parameters);
    }

    /** @param int $member of the processes at once: each has its own keys, and its own connection */
    private function bench(int $side, int $member): Bench
    {
        ['parameters' => $parameters, 'payload' => $payload, 'operation' => $operation, 'request' => $request, 'operations' => $operations] = $this->sides[$side];
        $driver = $this->driver($side);
        $seed = $this->seed + $member;
        $memory = ($parameters['work'] ?? '') === Keys::MEMORY;
        // All that is done to a payload is done to the same keys.
        $place = $this->inTurn || $memory ? $side : (int) \array_search($payload, \array_column($this->sides, 'payload'), true);
        $own = "lab:$place:$member:";
        // Where nothing begins with a request a sample is one; but at once with others it must be seen which keys were in time.
        $request = isset($parameters['begins']) || ($this->concurrency > 1 && !$memory) ? $request : \PHP_INT_MAX;
        if ($memory) {
            $random = new Randomizer(new Xoshiro256StarStar($seed));
            if (isset(self::WRITERS[$operation])) {
                // All write the same values.
                $seed = $this->seed;
                $operation = $member < $this->concurrency ? 'gets' : 'sets';
            }
            $keys = Keys::inMemory($operation, $payload, $own, "lab:$side:", $operations, $request, $random);
        } else {
            // A request never has one key twice, unless that is what is measured.
            $distinct = $operation === 'repeat' ? 1 : $parameters['distinct'] ?? \max(\intdiv($operations, $this->concurrency), \min($request, $operations));
            $keys = Keys::inOrder($own, $operations, \max(1, (int) $distinct), $request);
        }

        return new Bench($driver, $operation, new Values(Payloads::get($payload)), $keys, $this->effort->warm, $seed);
    }

    public static function say(\Throwable $e): string
    {
        return $e instanceof \Error ? $e->getMessage() : \sprintf('%s (%s)', $e->getMessage() === '' ? 'failed' : $e->getMessage(), (new \ReflectionClass($e))->getShortName());
    }
}
