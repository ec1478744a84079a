<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

use Larder\Lab\Payload\MemoryPayloads;
use Larder\Lab\Payload\Payloads;
use Larder\Lab\Payload\Recording;
use Larder\Lab\Subject\Afresh;
use Larder\Lab\Subject\Driver;
use Larder\Lab\Subject\FreshDriver;
use Larder\Lab\Subject\Sized;

/**
 * The process that measures: a job in, samples out.
 *
 * Ten at once are ten forks of it, which agree on the moment to start with at every cell: so APCu's memory, which
 * belongs to a process and its children, is one to them, as it is to the workers of php-fpm.
 *
 * @phpstan-type Found array{samples?: list<float>, perSecond?: float, wrong?: string}
 */
final readonly class Worker
{
    /** Operations of processes at once that are counted by the second, and how many write beside them. */
    private const WRITERS = ['gets' => 0, 'gets-written' => 1];

    /**
     * @param list<array{driver: class-string<Driver>, parameters: array<string, string|int>, payload: string, operation: string, request: int<1, max>}> $sides
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
            /** @var array{sides: list<array{driver: class-string<Driver>, parameters: array<string, string|int>, payload: string, operation: string, request: int<1, max>}>, concurrency: int, inTurn: bool, effort: array{samples: int<1, max>, milliseconds: float, window: float, operations: int<0, max>, least: int<1, max>}, seed: int} $job */
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
            if (\is_subclass_of($class, Afresh::class)) {
                $class::clear($parameters);
            }
        }
        if (isset(self::WRITERS[$this->sides[0]['operation'] ?? ''])) {
            return $this->rates();
        }
        if ($this->inTurn) {
            return $this->takeTurns();
        }
        if ($this->concurrency > 1) {
            return (new Crew($this->concurrency))->work(\count($this->sides), fn(int $side, int $member): Measurable => $this->bench($side, $member), $this->effort);
        }
        $found = [];
        foreach (\array_keys($this->sides) as $side) {
            try {
                $bench = $this->bench($side, 0);
                $wrong = $bench->prepare();
                $one = $wrong !== null ? ['wrong' => $wrong] : self::alone($bench, $this->effort);
                // It may find that all of this was something else.
                $bench->close();
                $found[] = $one;
            } catch (\Exception $e) {
                $found[] = ['wrong' => self::say($e)];
            }
        }

        return $found;
    }

    /**
     * Operations a second of all processes together, with or without one that writes beside them.
     *
     * @return list<Found>
     */
    private function rates(): array
    {
        $found = [];
        foreach ($this->sides as $side => ['operation' => $operation]) {
            [$one] = (new Crew($this->concurrency, self::WRITERS[$operation] ?? 0))->work(1, fn(int $_, int $member): Measurable => $this->bench($side, $member), $this->effort);
            $found[] = isset($one['perSecond']) ? ['samples' => [$one['perSecond']], 'perSecond' => $one['perSecond']] : $one;
        }

        return $found;
    }

    /** @return Found */
    private static function alone(Measurable $bench, Effort $effort): array
    {
        $samples = [];
        $end = \hrtime(true) + $effort->milliseconds * 1e6;
        do {
            $samples[] = $bench->sample();
            $taken = \count($samples);
        } while ($taken < $effort->least || ($taken < $effort->samples && \hrtime(true) < $end));

        return ['samples' => $samples] + ($bench->rate() > 0.0 ? ['perSecond' => $bench->rate()] : []);
    }

    /**
     * All sides in an order drawn anew for each sample, so that whatever the machine does meanwhile happens to all.
     *
     * @return list<Found>
     */
    private function takeTurns(): array
    {
        $random = new \Random\Randomizer(new \Random\Engine\Xoshiro256StarStar($this->seed));
        $benches = $found = [];
        foreach (\array_keys($this->sides) as $side) {
            $benches[] = $bench = $this->bench($side, $side);
            $wrong = $bench->prepare();
            $found[] = $wrong === null ? ['samples' => []] : ['wrong' => $wrong];
        }
        foreach ($found as $one) {
            if (isset($one['wrong'])) {
                return $found;
            }
        }
        $end = \hrtime(true) + $this->effort->milliseconds * 1e6 * \count($benches);
        for ($taken = 0; $taken < $this->effort->least || ($taken < $this->effort->samples && \hrtime(true) < $end); ++$taken) {
            /** @var list<int> $order */
            $order = $random->shuffleArray(\array_keys($benches));
            foreach ($order as $side) {
                $found[$side]['samples'][] = $benches[$side]->sample();
            }
        }
        foreach ($benches as $bench) {
            $bench->close();
        }

        return $found;
    }

    /** @param int $member of the processes at once: each has its own keys, and its own connection */
    private function bench(int $side, int $member): Measurable
    {
        ['driver' => $class, 'parameters' => $parameters, 'payload' => $payload, 'operation' => $operation, 'request' => $request] = $this->sides[$side];
        $directory = (string) ($parameters['directory'] ?? '');
        if ($directory !== '' && !\is_dir($directory)) {
            // Ten come here at once; the one that does not make it finds it made.
            try {
                \mkdir($directory, 0o700, true);
            } catch (\RuntimeException $e) {
                \clearstatcache();
                \is_dir($directory) || throw $e;
            }
        }
        $driver = new $class($parameters);
        if ($payload === Population::NAME && $driver instanceof Sized) {
            return new Population($driver);
        }
        $value = match (true) {
            \in_array($payload, Payloads::names(), true) => Payloads::get($payload),
            \in_array($payload, MemoryPayloads::names(), true) => MemoryPayloads::get($payload),
            $payload === 'integer' => 0,
            default => Recording::get($payload),
        };
        if (($parameters['work'] ?? '') === MemoryBench::NAME && $driver instanceof FreshDriver) {
            $own = isset(self::WRITERS[$operation]) ? ($member < $this->concurrency ? 'gets' : 'sets') : $operation;

            return new MemoryBench($driver, $own, $payload, $value, "lab:$side:$member:", "lab:$side:", $this->seed + $member, isset($parameters['begins']) ? $request : \PHP_INT_MAX);
        }

        return new Bench($driver, $operation, $value, "lab:$side:$member:", $this->effort->operations, $request, isset($parameters['begins']), \max(1, (int) ($parameters['distinct'] ?? \PHP_INT_MAX)));
    }

    public static function say(\Exception $e): string
    {
        return \sprintf('%s (%s)', $e->getMessage() === '' ? 'failed' : $e->getMessage(), (new \ReflectionClass($e))->getShortName());
    }
}
