<?php

declare(strict_types=1);

namespace Larder\Lab\Console;

use Larder\Lab\Plan\Scope;
use Larder\Lab\Report\Terminal;
use Larder\Lab\Run\Collection;
use Larder\Lab\Run\Ledger;
use Larder\Lab\Run\NotWritable;
use Larder\Lab\Run\Plan;
use Larder\Lab\Run\Reporting;
use Larder\Lab\Run\Runner;
use Larder\Lab\Run\Stop;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\ServiceFailure;
use Larder\Lab\Service\Services;
use Larder\Lab\Service\Silence;
use Larder\Lab\Subject\LarderExtension;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Command\Command;
use Symfony\Component\Console\Exception\InvalidArgumentException;
use Symfony\Component\Console\Formatter\OutputFormatter;
use Symfony\Component\Console\Helper\ProgressBar;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\ConsoleOutputInterface;
use Symfony\Component\Console\Output\OutputInterface;
use Symfony\Component\Process\Process;

/**
 * `bench`: re-runs the published comparisons on this machine.
 *
 * This folder holds what the lab adds to the command line.
 */
#[AsCommand('bench', 'Re-run the published comparisons of PHP caches on this machine')]
final class BenchCommand extends Command
{
    private const OK = 0;
    /** Nothing could be measured, or a subject was disqualified. */
    private const FAILED = 1;
    private const USAGE = 2;
    private const INTERRUPTED = 130;

    private const MOST_ROUNDS = 10;
    private const QUICK_ROUNDS = 5;

    /** Seconds: a run without arguments is to end, with its report, in under ten minutes. */
    private const BUDGET = 540.0;

    protected function configure(): void
    {
        $this
            ->addArgument('scenario', InputArgument::IS_ARRAY, 'Scenarios, or "all"; without any: a representative part, in under ten minutes')
            ->addOption('subjects', null, InputOption::VALUE_REQUIRED, 'Only these, separated by commas: redis, redis:socket, larder-sqlite:process:igbinary …')
            ->addOption('quick', null, InputOption::VALUE_NONE, 'Every combination with few samples; each serializer only on the array')
            ->addOption('rounds', null, InputOption::VALUE_REQUIRED, \sprintf('Fresh processes per subject (%d; with --quick %d)', self::MOST_ROUNDS, self::QUICK_ROUNDS))
            ->addOption('seed', null, InputOption::VALUE_REQUIRED, 'For the random order of everything (default: random; the report prints it)')
            ->addOption('json', null, InputOption::VALUE_REQUIRED, 'Write the report as JSON to this file')
            ->addOption('markdown', null, InputOption::VALUE_REQUIRED, 'Write the report as Markdown to this file')
            ->addOption('html', null, InputOption::VALUE_REQUIRED, 'Write the report as HTML to this file')
            ->addOption('wordpress', null, InputOption::VALUE_REQUIRED, 'The WordPress for transients and catalog: its directory, or a version (default: Debian\'s)')
            ->addOption('dropin', null, InputOption::VALUE_REQUIRED | InputOption::VALUE_IS_ARRAY, 'NAME=FILE: also measure this object-cache.php there; if it is a plugin\'s directory, the plugin is installed and activated')
            ->addOption('list', null, InputOption::VALUE_NONE, 'List the scenarios and their subjects, and what is missing on this machine')
            ->setHelp(<<<'HELP'
                Starts private servers, measures, stops the servers, and reports. Without --json, --markdown or --html it writes
                all three reports into the directory larder-bench; where that has a report already, or another run is to write
                one, into larder-bench-2, and so on.

                  <info>%command.full_name%</info>                     a representative part, in under ten minutes
                  <info>%command.full_name% engines --quick</info>     every combination of one scenario, few samples
                  <info>%command.full_name% all</info>                 every cell; resumes where it was stopped
                  <info>%command.full_name% transients catalog --dropin=redis=plugins/redis-cache</info>
                                                    WordPress with its own object cache, Larder's and another one
                  <info>%command.full_name% --list</info>              lists the scenarios
                  <info>%command.full_name% compare OLD.json NEW.json</info>
                                                    what changed between two reports; exit status 1 on a loss
                                                    (%command.full_name% compare --help)

                The exit status is 0 if all was measured, 1 if a subject was disqualified or nothing could be measured,
                2 if it was asked for something that cannot be, and 130 if it was stopped.
                HELP);
    }

    protected function execute(InputInterface $input, OutputInterface $output): int
    {
        $errors = $output instanceof ConsoleOutputInterface ? $output->getErrorOutput() : $output;
        if ($input->getOption('list') === true) {
            (new Listing())->print($output);

            return self::OK;
        }
        if (!\class_exists(Process::class)) {
            $errors->writeln('<error>The laboratory needs Symfony Process. Type: composer require --dev symfony/process:^7.0</error>');

            return self::USAGE;
        }
        $mistake = LarderExtension::mistake();
        try {
            $request = $mistake === null ? Request::from($input) : throw new \InvalidArgumentException($mistake);
        } catch (\InvalidArgumentException $e) {
            throw new InvalidArgumentException($e->getMessage());
        }
        try {
            return $this->measure($request, $output, $errors);
        } catch (NotWritable|ServiceFailure $e) {
            $errors->writeln('<error>' . OutputFormatter::escape($e->getMessage()) . '</error>');

            return self::USAGE;
        }
    }

    private function measure(Request $request, OutputInterface $output, OutputInterface $errors): int
    {
        $state = self::state();
        $plan = Plan::make($request->scenarios, $request->scope);
        if ($plan->tasks === []) {
            $errors->writeln('<error>This machine cannot measure any of that:</error>');
            foreach ($plan->missing as $missing) {
                $errors->writeln(OutputFormatter::escape("  $missing[subject] needs $missing[what]: $missing[advice]"));
            }

            return self::FAILED;
        }
        $rounds = $request->rounds ?? ($request->scope->level === Scope::QUICK ? self::QUICK_ROUNDS : self::MOST_ROUNDS);
        $ledger = new Ledger(
            $request->scope->level === Scope::EVERY ? $state : null,
            $request->identity($rounds),
            $request->seed ?? \random_int(1, 999_999_999),
        );
        $files = Files::of($request->files, $ledger->seed);
        if ($ledger->kept() !== []) {
            $errors->writeln('Resuming where the last run was stopped. ' . $ledger->keeps());
        }
        $scratch = Directory::temporary($state);
        $traces = self::apart($scratch);
        $services = new Services();
        $stop = new Stop();
        $stop->listen(static fn(bool $atOnce) => $errors->writeln($atOnce
            ? "\nStopped at once, without a report. " . $ledger->keeps()
            : "\nStopping after this measurement, with a report of what there is. Ctrl-C again stops at once, without one."));
        $budget = $request->scope->level === Scope::PART && $request->rounds === null ? self::BUDGET : null;
        $reporting = new Reporting($request->command($rounds, $ledger->seed));
        $collection = new Collection($plan->tasks, $plan->scenarios);
        try {
            (new Runner($plan->tasks, $services, $scratch->path, $rounds, $ledger, $stop, self::progress($errors), $budget))->run($collection);
            $errors->isDecorated() || $errors->writeln('');
            $report = $reporting->report($plan, $collection, $services, $ledger->seed, $stop->isAsked());
        } finally {
            $services->stopAll();
            $scratch->remove();
            \array_map(Directory::clear(...), \glob($traces) ?: []);
            \array_map(\rmdir(...), \glob($traces) ?: []);
            $stop->ignore();
        }
        $files->write($report);
        (new Terminal($output))->print($report, $files->files);
        if ($report->disqualified !== []) {
            $errors->writeln(\sprintf('<error>%d disqualified for a wrong value or a failure: the report says which and why.</error>', \count($report->disqualified)));
        }
        if ($report->partial) {
            $errors->writeln('Stopped. The report has what was measured so far, marked as partial. ' . $ledger->keeps());

            return self::INTERRUPTED;
        }
        $ledger->remove();

        return $report->disqualified !== [] || ($report->results === [] && $report->ratios === []) ? self::FAILED : self::OK;
    }

    /** A bar with the time left; without a terminal, a line now and then. */
    private static function progress(OutputInterface $output): ProgressBar
    {
        $bar = new ProgressBar($output, 0, $output->isDecorated() ? 0.1 : 30.0);
        $bar->setFormat($output->isDecorated() ? ' %bar% %percent:3s% %  %remaining:-10s% left  %message%' : '%current% of %max% measured in %elapsed%');
        $bar->setMessage('');

        return $bar;
    }

    /** Where the lab keeps what outlives a process, and where engines with files get theirs: on a disk, not in /tmp. */
    private static function state(): string
    {
        $home = \getenv('XDG_CACHE_HOME') ?: (\getenv('HOME') ?: \sys_get_temp_dir()) . '/.cache';
        $directory = "$home/larder/lab";
        if (!Silence::of(static fn(): bool => \is_dir($directory) || \mkdir($directory, 0o700, true) || \is_dir($directory))) {
            throw new NotWritable("Cannot create $directory: set XDG_CACHE_HOME to a writable directory on the disk that you want to measure.");
        }

        return $directory;
    }

    /**
     * Gives the processes that measure a state of their own, whatever user they run as: the user's would keep a file for each
     * private server.
     *
     * @return string pattern of the directories that they may make
     */
    private static function apart(Directory $scratch): string
    {
        $state = '/tmp/larder-bench-' . \getmypid() . '-state-';
        $settings = $scratch->path . '/settings';
        \mkdir($settings);
        \file_put_contents("$settings/larder.ini", "larder.state=\"$state%u\"\n");
        \putenv('PHP_INI_SCAN_DIR=' . \getenv('PHP_INI_SCAN_DIR') . ':' . $settings);

        return "$state*";
    }
}
