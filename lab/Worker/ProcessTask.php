<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

use Larder\Lab\Plan\Pair;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Task;
use Larder\Lab\Run\Context;
use Larder\Lab\Run\Measured;
use Larder\Lab\Service\Cores;
use Larder\Lab\Service\ServiceFailure;
use Symfony\Component\Process\PhpExecutableFinder;
use Symfony\Component\Process\Process;

/**
 * Cells that a fresh PHP process measures: one after the other, or, for a pair, sample by sample in turn.
 *
 * This folder holds that process: worker.php starts Worker, which calls the drivers of Subject/. It is given a job, and
 * answers with samples, as JSON.
 */
final readonly class ProcessTask implements Task
{
    /** Seconds after which a process that measures is taken for hung. */
    private const PATIENCE = 300.0;

    /**
     * @param non-empty-list<Side> $sides
     * @param int<1, max>          $concurrency processes at once
     * @param ?Pair                $pair        the sides are measured in turn, and compared
     */
    public function __construct(
        private string $id,
        private array $sides,
        private Effort $effort,
        private int $concurrency = 1,
        private ?Pair $pair = null,
    ) {}

    /** Two sides, sample by sample in turn. */
    public static function inTurn(Side $of, Side $to, int $operations, Pair $pair, string $placement = ''): self
    {
        $id = [$of->cell->scenario, $pair->kind, $of->subject->name, $to->subject->name, $of->cell->payload, $of->cell->operation, $placement];

        return new self(\rtrim(\implode('/', $id), '/'), [$of, $to], Effort::ofPair($operations), 1, $pair);
    }

    public function id(): string
    {
        return $this->id;
    }

    public function sides(): array
    {
        return $this->sides;
    }

    public function pair(): ?Pair
    {
        return $this->pair;
    }

    public function perform(Context $context): array
    {
        $jobs = $ini = [];
        $cores = new Cores();
        foreach ($this->sides as $side) {
            $subject = $side->subject;
            $parameters = $subject->parameters + ['connection' => $subject->connection, 'serializer' => $subject->serializer];
            // Other scenarios have subjects of the same name, and other users may work for those.
            $own = \strtr("{$side->cell->scenario}-$subject->name", ':', '-');
            $parameters['directory'] = "$context->directory/$own";
            if (isset($parameters['shared'])) {
                $parameters['shared'] = $context->services->memory()->file($own);
            }
            if ($subject->service !== null) {
                $service = $context->services->get($subject->service);
                if (!$service->isAlive()) {
                    throw new ServiceFailure($subject->service . ' has ended' . $service->lastWords());
                }
                $cores->move($service, $side->cell->placement);
                $parameters = $service->address() + $parameters;
            }
            $ini = $subject->ini + $ini;
            $jobs[] = [
                'driver' => $subject->driver,
                'parameters' => $parameters,
                'payload' => $side->cell->payload,
                'operation' => $side->cell->operation,
                'request' => $side->cell->request,
                'operations' => $this->effort->operations($side->cell),
            ];
        }

        // What is counted by the second is compared with what several do: none of them is held.
        $held = $this->concurrency === 1 && !$this->sides[0]->cell->moreIsBetter() ? $cores->alone() : [];

        return $this->read($this->run([...$held, ...self::php($ini)], [
            'sides' => $jobs,
            'concurrency' => $this->concurrency,
            'inTurn' => $this->pair !== null,
            'effort' => \get_object_vars($this->effort),
            'seed' => $context->seed,
        ]));
    }

    /**
     * @param array<string, string|int> $ini
     *
     * @return list<string>
     */
    private static function php(array $ini): array
    {
        $command = [(new PhpExecutableFinder())->find(false) ?: \PHP_BINARY];
        foreach ($ini as $name => $value) {
            \array_push($command, '-d', "$name=$value");
        }
        $command[] = __DIR__ . '/../worker.php';

        return $command;
    }

    /**
     * @param list<string>         $command
     * @param array<string, mixed> $job
     */
    private function run(array $command, array $job): string
    {
        $process = new Process($command, null, null, \json_encode($job, \JSON_THROW_ON_ERROR), self::PATIENCE);
        $process->run();
        if (!$process->isSuccessful()) {
            $said = \trim($process->getErrorOutput() . ' ' . $process->getOutput());
            $how = $process->hasBeenSignaled() ? 'was ended by signal ' . $process->getTermSignal() : 'ended with status ' . $process->getExitCode();

            throw new \RuntimeException("The measuring process $how" . ($said === '' ? '' : ': ' . \substr($said, -500)));
        }

        return $process->getOutput();
    }

    /** @return list<Measured> */
    private function read(string $answer): array
    {
        $found = \json_decode($answer, true);
        if (!\is_array($found) || \count($found) !== \count($this->sides)) {
            throw new \RuntimeException('The measuring process did not answer with a measurement: ' . \substr($answer, 0, 300));
        }

        return \array_map(static fn(mixed $one): Measured => Measured::from(\is_array($one) ? $one : []), \array_values($found));
    }
}
