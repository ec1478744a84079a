<?php

declare(strict_types=1);

namespace Larder\Lab\Console;

use Larder\Lab\Installation;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Run\Plan;
use Larder\Lab\Scenario\Catalog;
use Larder\Lab\Scenario\Scenarios;
use Larder\Lab\Scenario\Transients;
use Larder\Lab\WordPress\Choice;
use Symfony\Component\Console\Input\InputInterface;

/** What `bench` was asked for. */
final readonly class Request
{
    /** The scenarios that --wordpress and --dropin are about. */
    private const WORDPRESS = [Transients::NAME, Catalog::NAME];

    /**
     * @param array<string, Scenario> $scenarios by name
     * @param array<string, string>   $files     that were named for json, markdown and html
     * @param list<string>            $typed     the words that say what is measured
     */
    private function __construct(
        public array $scenarios,
        public Scope $scope,
        public ?int $rounds,
        public ?int $seed,
        public array $files,
        private array $typed,
    ) {}

    /** @throws \InvalidArgumentException which is for the user */
    public static function from(InputInterface $input): self
    {
        $words = $input->getArgument('scenario');
        \assert(\is_array($words));
        $directory = $input->getOption('wordpress');
        $dropIns = $input->getOption('dropin');
        $wordpress = Choice::of(\is_string($directory) ? $directory : null, \array_values(\array_filter(\is_array($dropIns) ? $dropIns : [], \is_string(...))));
        $all = Scenarios::all($wordpress);
        $chosen = [];
        $typed = [];
        foreach ($words as $word) {
            \assert(\is_string($word));
            $typed[] = $word;
            if ($word !== 'all' && !isset($all[$word])) {
                throw new \InvalidArgumentException(\sprintf('There is no scenario "%s". There are: %s, and all.', $word, \implode(', ', \array_keys($all))));
            }
            $chosen += $word === 'all' ? $all : [$word => $all[$word]];
        }
        if (\array_intersect_key($chosen, \array_flip(self::WORDPRESS)) === [] && ($dropIns !== [] || $directory !== null)) {
            throw new \InvalidArgumentException(\sprintf('--dropin and --wordpress say how WordPress is measured, and no scenario that was asked for measures it. Type: bin/larder bench %s', \implode(' ', [...$typed, ...self::WORDPRESS, ...$wordpress->words()])));
        }
        $quick = $input->getOption('quick') === true;
        $level = $quick ? Scope::QUICK : ($chosen === [] ? Scope::PART : Scope::EVERY);
        // In the order in which they are reported, not typed.
        $chosen = $chosen === [] ? \array_diff_key($all, \array_flip(Scenarios::LARGE)) : \array_intersect_key($all, $chosen);

        $subjects = [];
        $option = $input->getOption('subjects');
        if (\is_string($option)) {
            $subjects = \array_values(\array_filter(\array_map(\trim(...), \explode(',', $option)), static fn(string $word): bool => $word !== ''));
            $unknown = Plan::unknown($chosen, $subjects);
            if ($unknown !== [] || $subjects === []) {
                throw new \InvalidArgumentException(\sprintf(
                    "%s The first words of subjects are: %s. Type `bench --list` for all.",
                    $subjects === [] ? '--subjects names none.' : \sprintf('There is no subject "%s" in %s.', \implode('" and no "', $unknown), \implode(', ', \array_keys($chosen))),
                    \implode(', ', self::engines($chosen)),
                ));
            }
        }
        $files = [];
        foreach (['json', 'markdown', 'html'] as $form) {
            $file = $input->getOption($form);
            if (\is_string($file)) {
                $files[$form] = $file === '' ? throw new \InvalidArgumentException("--$form needs the name of a file.") : $file;
            }
        }

        return new self(
            $chosen,
            new Scope($level, $subjects),
            self::number($input, 'rounds', 1, 1000),
            self::number($input, 'seed', 0, \PHP_INT_MAX),
            $files,
            [...$typed, ...$quick ? ['--quick'] : [], ...$subjects === [] ? [] : ['--subjects=' . \implode(',', $subjects)], ...$wordpress->words()],
        );
    }

    /** What makes two runs one, so that the second goes on where the first was stopped. */
    public function identity(int $rounds): string
    {
        return \implode(' ', [$this->command($rounds, $this->seed), \PHP_VERSION]);
    }

    /** What to type to have it again: in a checkout there, elsewhere where Composer has installed Larder. */
    public function command(int $rounds, ?int $seed): string
    {
        // ext/with brings the extension into every PHP, those of php-fpm too; the one that LARDER_MODULE names the laboratory loads itself.
        $words = match (true) {
            !Installation::isCheckout() => ['vendor/bin/larder'],
            \getenv('LARDER_EXT') === '0' => ['LARDER_EXT=0', 'ext/with', 'bin/larder'],
            (\getenv('LARDER_MODULE') ?: '') !== '' => ['LARDER_MODULE=' . self::quoted((string) \realpath((string) \getenv('LARDER_MODULE'))), 'bin/larder'],
            default => ['ext/with', 'bin/larder'],
        };
        \array_push($words, 'bench', ...\array_map(self::quoted(...), $this->typed), ...["--rounds=$rounds"]);

        return \implode(' ', $seed === null ? $words : [...$words, "--seed=$seed"]);
    }

    private static function quoted(string $word): string
    {
        return \preg_match('~^[\w.,:=/@%+-]+$~D', $word) === 1 ? $word : \escapeshellarg($word);
    }

    private static function number(InputInterface $input, string $option, int $least, int $most): ?int
    {
        $value = $input->getOption($option);
        if (!\is_string($value)) {
            return null;
        }
        $number = \filter_var($value, \FILTER_VALIDATE_INT, ['options' => ['min_range' => $least, 'max_range' => $most]]);

        return \is_int($number) ? $number : throw new \InvalidArgumentException("--$option=$value is not a whole number from $least to $most.");
    }

    /**
     * @param array<string, Scenario> $scenarios
     *
     * @return list<string>
     */
    private static function engines(array $scenarios): array
    {
        $engines = [];
        foreach ($scenarios as $scenario) {
            foreach ($scenario->subjects() as $subject) {
                $engines[\explode(':', $subject->name)[0]] = true;
            }
        }

        return \array_keys($engines);
    }
}
