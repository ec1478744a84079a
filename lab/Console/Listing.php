<?php

declare(strict_types=1);

namespace Larder\Lab\Console;

use Larder\Lab\Plan\Need;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Scenario\Scenarios;
use Symfony\Component\Console\Formatter\OutputFormatter;
use Symfony\Component\Console\Output\OutputInterface;

/** `bench --list`: what there is, and what this machine lacks. */
final class Listing
{
    public function print(OutputInterface $output): void
    {
        foreach (Scenarios::all() as $scenario) {
            $output->writeln("<info>{$scenario->presentation()->name}</info>  " . OutputFormatter::escape($scenario->presentation()->about));
            $lines = [];
            /** @var array<string, array<string, Need>> $advice */
            $advice = [];
            foreach ($scenario->subjects() as $subject) {
                $missing = $subject->missing();
                $line = self::stem($subject);
                $lines[$line] ??= [];
                if ($missing === []) {
                    $lines[$line][] = \substr(\strrchr($subject->name, ':') ?: '', 1);
                } else {
                    $lines[$line][] = '(' . \substr(\strrchr($subject->name, ':') ?: '', 1) . ')';
                    foreach ($missing as $need) {
                        $advice[$line][$need->what] = $need;
                    }
                }
            }
            foreach ($lines as $line => $last) {
                $output->writeln(OutputFormatter::escape(\sprintf('  %-28s %s', $line, \implode(', ', $last))));
                foreach ($advice[$line] ?? [] as $need) {
                    $output->writeln('      <comment>' . OutputFormatter::escape("needs $need->what: $need->advice") . '</comment>');
                }
            }
            $output->writeln('');
        }
        $output->writeln('In brackets: this machine cannot measure it. A subject\'s name is its words joined by colons, for example redis:socket:igbinary.');
    }

    /** All of the name but its last word. */
    private static function stem(Subject $subject): string
    {
        return \substr($subject->name, 0, (int) \strrpos($subject->name, ':'));
    }
}
