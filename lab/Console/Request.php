<?php

declare(strict_types=1);

namespace Larder\Lab\Console;

use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Report\Html;
use Larder\Lab\Report\Json;
use Larder\Lab\Report\Markdown;
use Larder\Lab\Report\Terminal;
use Larder\Lab\Run\NotWritable;
use Larder\Lab\Run\Plan;
use Larder\Lab\Run\Report;
use Larder\Lab\Scenario\Scenarios;
use Larder\Lab\WordPress\Choice;
use Symfony\Component\Console\Exception\InvalidArgumentException;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;

/** What `bench` was asked for. */
final readonly class Request
{
    /**
     * @param array<string, Scenario> $scenarios by name
     * @param array<string, string>   $files     json, markdown, html: where they go
     * @param bool                    $named     the files were named by the user
     * @param list<string>            $typed     the words that say what is measured
     */
    private function __construct(
        public array $scenarios,
        public Scope $scope,
        public ?int $rounds,
        public ?int $seed,
        private array $files,
        private bool $named,
        private array $typed,
    ) {}

    /** @param string $directory for reports without a name */
    public static function from(InputInterface $input, string $directory): self
    {
        $words = $input->getArgument('scenario');
        \assert(\is_array($words));
        $wordpress = self::wordpress($input);
        $all = Scenarios::all($wordpress);
        $chosen = [];
        $typed = [];
        foreach ($words as $word) {
            \assert(\is_string($word));
            $typed[] = $word;
            if ($word !== 'all' && !isset($all[$word])) {
                throw new InvalidArgumentException(\sprintf('There is no scenario "%s". There are: %s, and all.', $word, \implode(', ', \array_keys($all))));
            }
            $chosen += $word === 'all' ? $all : [$word => $all[$word]];
        }
        if (\array_intersect_key($chosen, \array_flip(Scenarios::LARGE)) === [] && ($input->getOption('dropin') !== [] || $input->getOption('wordpress') !== null)) {
            throw new InvalidArgumentException(\sprintf('--dropin and --wordpress say how WordPress is measured, and no scenario that was asked for measures it. Type: bin/larder bench %s', \implode(' ', [...$typed, ...Scenarios::LARGE, ...$wordpress->words()])));
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
                throw new InvalidArgumentException(\sprintf(
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
                $files[$form] = $file === '' ? throw new InvalidArgumentException("--$form needs the name of a file.") : $file;
            }
        }

        return new self(
            $chosen,
            new Scope($level, $subjects),
            self::number($input, 'rounds', 1, 1000),
            self::number($input, 'seed', 0, \PHP_INT_MAX),
            $files === [] ? ['json' => "$directory/report.json", 'markdown' => "$directory/report.md", 'html' => "$directory/report.html"] : $files,
            $files !== [],
            [...$typed, ...$quick ? ['--quick'] : [], ...$subjects === [] ? [] : ['--subjects=' . \implode(',', $subjects)], ...$wordpress->words()],
        );
    }

    /**
     * Before the run: whether its reports can be written.
     *
     * @throws NotWritable
     */
    public function checkFiles(): void
    {
        if (\array_unique($this->files) !== $this->files) {
            throw new NotWritable('Two forms of the report cannot go to one file: name another one for each.');
        }
        foreach ($this->files as $file) {
            $directory = \dirname($file);
            if (!$this->named && !\is_dir($directory)) {
                \set_error_handler(static fn(): bool => true);
                $made = \mkdir($directory);
                \restore_error_handler();
                if (!$made) {
                    throw new NotWritable("Cannot create the directory $directory for the reports here. Change to a directory that you may write to, or name files: --html=FILE --json=FILE");
                }
            }
            NotWritable::check($file);
        }
    }

    public function write(Report $report, OutputInterface $output): void
    {
        foreach ($this->files as $form => $file) {
            NotWritable::write($file, match ($form) {
                'json' => (new Json())->encode($report),
                'markdown' => (new Markdown())->render($report),
                default => (new Html())->render($report),
            });
        }
        (new Terminal($output))->print($report, $this->files);
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
            !\is_file(\dirname(__DIR__, 2) . '/vendor/autoload.php') => ['vendor/bin/larder'],
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

    private static function wordpress(InputInterface $input): Choice
    {
        $directory = $input->getOption('wordpress');
        $dropIns = $input->getOption('dropin');
        try {
            return Choice::of(\is_string($directory) ? $directory : null, \array_values(\array_filter(\is_array($dropIns) ? $dropIns : [], \is_string(...))));
        } catch (\InvalidArgumentException $e) {
            throw new InvalidArgumentException($e->getMessage());
        }
    }

    private static function number(InputInterface $input, string $option, int $least, int $most): ?int
    {
        $value = $input->getOption($option);
        if (!\is_string($value)) {
            return null;
        }
        $number = \filter_var($value, \FILTER_VALIDATE_INT, ['options' => ['min_range' => $least, 'max_range' => $most]]);

        return \is_int($number) ? $number : throw new InvalidArgumentException("--$option=$value is not a whole number from $least to $most.");
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
