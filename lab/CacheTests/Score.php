<?php

declare(strict_types=1);

namespace Larder\Lab\CacheTests;

/**
 * The results of one cache, counted as the suite's own page does (lib/display.mjs, determineTestResult).
 *
 * Results are by the test's id; of a failure they have its kind and its message.
 *
 * @phpstan-type Results array<string, true|array{string, string}>
 */
final readonly class Score
{
    /** @var array<string, Test> */
    private array $tests;

    /**
     * @param list<Test> $tests
     * @param Results    $results
     */
    public function __construct(array $tests, private array $results)
    {
        $this->tests = \array_column($tests, null, 'id');
    }

    public function outcome(Test $test): Outcome
    {
        $result = $this->results[$test->id] ?? null;

        return match (true) {
            $result === null => Outcome::NotRun,
            $this->obstacles($test) !== [] => Outcome::Skipped,
            $result === true => Outcome::Passed,
            $result[0] === 'Setup' => Outcome::Unready,
            default => Outcome::Failed,
        };
    }

    /**
     * The tests that it depends on and that did not pass.
     *
     * @return list<string> ids
     */
    public function obstacles(Test $test): array
    {
        return \array_values(\array_filter(
            $test->dependsOn,
            fn(string $id): bool => !isset($this->tests[$id]) || $this->outcome($this->tests[$id]) !== Outcome::Passed,
        ));
    }

    /** What went wrong, in the suite's words; '' where nothing did. */
    public function message(Test $test): string
    {
        $result = $this->results[$test->id] ?? true;

        return $result === true ? '' : $result[1];
    }

    /** @param ?string $group all by default */
    public function count(Kind $kind, ?Outcome $outcome = null, ?string $group = null): int
    {
        return \count(\array_filter($this->tests, fn(Test $test): bool => $test->kind === $kind
            && ($group === null || $test->group === $group)
            && ($outcome === null || $this->outcome($test) === $outcome)));
    }

    /** @return list<Test> */
    public function tests(Kind $kind, Outcome ...$outcomes): array
    {
        return \array_values(\array_filter($this->tests, fn(Test $test): bool => $test->kind === $kind && \in_array($this->outcome($test), $outcomes, true)));
    }

    /** @return list<string> */
    public function groups(): array
    {
        return \array_values(\array_unique(\array_column($this->tests, 'group')));
    }
}
