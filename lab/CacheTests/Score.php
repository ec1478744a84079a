<?php

declare(strict_types=1);

namespace Larder\Lab\CacheTests;

/**
 * The results of one cache, counted as the suite's own page does (lib/display.mjs, determineTestResult), and as text.
 *
 * A test's kind says what it means not to pass it: "required" breaks the specification; "optimal" asks the origin where
 * the cache could have answered; "check" only looks how caches behave. Results are by the test's id; of a failure they
 * have its kind and its message.
 *
 * @phpstan-type Test array{id: string, name: string, kind: string, depends_on: list<string>}
 * @phpstan-type Results array<string, true|array{string, string}>
 */
final readonly class Score
{
    public const REQUIRED = 'required';
    public const OPTIMAL = 'optimal';
    public const PASSED = 'pass';
    public const FAILED = 'fail';
    /** Something else than what the test is about went wrong first, or the cache sent a request twice. */
    public const UNREADY = 'unready';
    /** It depends on a test that did not pass. */
    public const SKIPPED = 'skipped';
    public const NOT_RUN = 'not run';
    private const KINDS = [self::REQUIRED, self::OPTIMAL, 'check'];
    /** Bytes of a message: some have a long address in them. */
    private const LONGEST = 200;

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

    public function outcome(string $id): string
    {
        $result = $this->results[$id] ?? null;

        return match (true) {
            $result === null => self::NOT_RUN,
            $this->obstacles($id) !== [] => self::SKIPPED,
            $result === true => self::PASSED,
            $result[0] === 'Setup' => self::UNREADY,
            default => self::FAILED,
        };
    }

    /** @return list<string> ids of a kind; of those outcomes, if any is named */
    public function ids(string $kind, string ...$outcomes): array
    {
        return \array_values(\array_filter(\array_keys($this->tests), fn(string $id): bool => $this->tests[$id]['kind'] === $kind
            && ($outcomes === [] || \in_array($this->outcome($id), $outcomes, true))));
    }

    /**
     * A line of figures for each cache.
     *
     * @param array<string, self> $caches by name
     */
    public static function table(array $caches): string
    {
        $outcomes = [self::PASSED, self::FAILED, self::UNREADY, self::SKIPPED];
        $lines = [\sprintf('%-40s', '') . \implode('', \array_map(static fn(string $kind): string => \sprintf(' | %-30s', $kind), self::KINDS))];
        $lines[] = \sprintf('%-40s', '') . \str_repeat(' |' . \vsprintf('%5s%6s%5s%8s%8s', ['of', ...$outcomes]), \count(self::KINDS));
        foreach ($caches as $name => $score) {
            $count = static fn(string $kind): string => ' |' . \vsprintf('%5d%6d%5d%8d%8d', [\count($score->ids($kind)), ...\array_map(static fn(string $outcome): int => \count($score->ids($kind, $outcome)), $outcomes)]);
            $lines[] = \sprintf('%-40s', $name) . \implode('', \array_map($count, self::KINDS));
        }

        return \implode("\n", $lines) . "\n";
    }

    /** What did not pass, with the reason; of what was skipped, the ids and what they depend on. */
    public function failures(): string
    {
        $text = '';
        foreach (self::KINDS as $kind) {
            $text .= "\n$kind:\n";
            foreach ($this->ids($kind, self::FAILED, self::UNREADY) as $id) {
                $result = $this->results[$id] ?? true;
                $text .= \sprintf("  %s (%s)\n    %s\n    %s\n", $id, $this->outcome($id), $this->tests[$id]['name'], \substr($result === true ? '' : $result[1], 0, self::LONGEST));
            }
            foreach ($this->ids($kind, self::SKIPPED) as $id) {
                $text .= "  $id (skipped, for it depends on " . \implode(', ', $this->obstacles($id)) . ")\n";
            }
        }

        return $text;
    }

    /** @return list<string> the tests that it depends on and that did not pass */
    private function obstacles(string $id): array
    {
        return \array_values(\array_filter($this->tests[$id]['depends_on'], fn(string $other): bool => !isset($this->tests[$other]) || $this->outcome($other) !== self::PASSED));
    }
}
