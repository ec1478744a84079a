<?php

declare(strict_types=1);

namespace Larder\Lab\CacheTests;

/** Scores as text. */
final class Table
{
    private const LINE = '%-58s';
    /** Bytes of a message: some have a long address in them. */
    private const LONGEST = 200;

    private const CELLS = ' |%5s%6s%5s%8s%8s';

    /** @param array<string, Score> $published by the name of the cache */
    public static function of(string $name, Score $score, array $published): string
    {
        $lines = [
            self::line('', \array_map(static fn(Kind $kind): array => [$kind->value, '', '', '', ''], Kind::cases())),
            self::line('', \array_fill(0, 3, ['of', 'pass', 'fail', 'unready', 'skipped'])),
        ];
        foreach ($score->groups() as $group) {
            $lines[] = self::row($group, $score, $group);
        }
        $lines[] = '';
        foreach ([$name => $score] + $published as $who => $other) {
            $lines[] = self::row($who, $other, null);
        }

        return \implode("\n", $lines) . "\n";
    }

    /** What did not pass, with the reason; of what was skipped, the ids and what they depend on. */
    public static function failures(Score $score): string
    {
        $text = '';
        foreach (Kind::cases() as $kind) {
            $text .= "\n" . \ucfirst($kind->value) . ($kind === Kind::Check ? ", answered by no:\n" : ", not passed:\n");
            foreach ($score->tests($kind, Outcome::Failed, Outcome::Unready) as $test) {
                $text .= \sprintf("  %s%s\n    %s\n    %s\n", $test->id, $score->outcome($test) === Outcome::Unready ? ' (unready)' : '', $test->name, \substr($score->message($test), 0, self::LONGEST));
            }
            foreach ($score->tests($kind, Outcome::Skipped) as $test) {
                $text .= \sprintf("  %s (skipped, for it depends on %s)\n", $test->id, \implode(', ', $score->obstacles($test)));
            }
        }

        return $text;
    }

    private static function row(string $name, Score $score, ?string $group): string
    {
        return self::line($name, \array_map(static fn(Kind $kind): array => [
            (string) $score->count($kind, null, $group),
            ...\array_map(
                static fn(Outcome $outcome): string => (string) $score->count($kind, $outcome, $group),
                [Outcome::Passed, Outcome::Failed, Outcome::Unready, Outcome::Skipped],
            ),
        ], Kind::cases()));
    }

    /** @param array<list<string>> $cells */
    private static function line(string $name, array $cells): string
    {
        return \rtrim(\sprintf(self::LINE, $name) . \implode('', \array_map(static fn(array $cell): string => \vsprintf(self::CELLS, $cell), $cells)));
    }
}
