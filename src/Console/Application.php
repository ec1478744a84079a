<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Codec\NotStorable;
use Larder\Config\InvalidConfiguration;
use Larder\Config\Version;
use Larder\Console\Support\Text;
use Larder\Lab\Console\BenchCommand;
use Larder\Lab\Console\CompareCommand;
use Larder\Request\InvalidKey;
use Larder\System\Secret;
use Larder\System\WrongUser;
use Symfony\Component\Console\Application as Symfony;
use Symfony\Component\Console\Command\Command;
use Symfony\Component\Console\CommandLoader\FactoryCommandLoader;
use Symfony\Component\Console\Exception\ExceptionInterface;
use Symfony\Component\Console\Input\ArgvInput;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\ConsoleOutputInterface;
use Symfony\Component\Console\Output\OutputInterface;

/**
 * bin/larder: the commands, and the exit status for each kind of failure.
 *
 * This folder holds the command line, a command a file; all use only Cache, Queue and Config/. Commands write values to standard
 * output, and which cache they used, and errors, to standard error.
 */
final class Application extends Symfony
{
    public const OK = 0;
    /** Not found, or not done. */
    public const NOT_DONE = 1;
    public const USAGE = 2;
    public const WRONG_USER = 3;
    public const UNREACHABLE = 4;

    public function __construct()
    {
        parent::__construct('Larder', Version::CURRENT);
        $this->setCommandLoader(new FactoryCommandLoader([
            'doctor' => static fn(): DoctorCommand => new DoctorCommand(),
            'get' => static fn(): GetCommand => new GetCommand(),
            'set' => static fn(): SetCommand => new SetCommand(),
            'delete' => static fn(): DeleteCommand => new DeleteCommand(),
            'flush' => static fn(): FlushCommand => new FlushCommand(),
            'tags' => static fn(): TagsCommand => new TagsCommand(),
            'stats' => static fn(): StatsCommand => new StatsCommand(),
            'metrics' => static fn(): MetricsCommand => new MetricsCommand(),
            'top' => static fn(): TopCommand => new TopCommand(),
            'why' => static fn(): WhyCommand => new WhyCommand(),
            'fleet' => static fn(): FleetCommand => new FleetCommand(),
            'page:config' => static fn(): PageConfigCommand => new PageConfigCommand(),
            'page:follow' => static fn(): PageFollowCommand => new PageFollowCommand(),
            'page:why' => static fn(): PageWhyCommand => new PageWhyCommand(),
            'page:list' => static fn(): PageListCommand => new PageListCommand(),
            'page:purge' => static fn(): PagePurgeCommand => new PagePurgeCommand(),
            'page:warm' => static fn(): PageWarmCommand => new PageWarmCommand(),
            'queue:work' => static fn(): QueueWorkCommand => new QueueWorkCommand(),
            'queue:status' => static fn(): QueueStatusCommand => new QueueStatusCommand(),
            'queue:waiting' => static fn(): QueueWaitingCommand => new QueueWaitingCommand(),
            'queue:dead' => static fn(): QueueDeadCommand => new QueueDeadCommand(),
            'queue:retry' => static fn(): QueueRetryCommand => new QueueRetryCommand(),
            'queue:purge' => static fn(): QueuePurgeCommand => new QueuePurgeCommand(),
            'queue:pause' => static fn(): QueuePauseCommand => new QueuePauseCommand(),
            'queue:resume' => static fn(): QueueResumeCommand => new QueueResumeCommand(),
            'bench' => static fn(): Command => \class_exists(BenchCommand::class) ? new BenchCommand() : new LaboratoryCommand('bench'),
            'bench:compare' => static fn(): Command => \class_exists(CompareCommand::class) ? new CompareCommand() : new LaboratoryCommand('bench:compare'),
        ]));
    }

    public function doRun(InputInterface $input, OutputInterface $output): int
    {
        try {
            return self::delivered(parent::doRun($input, $output), $output);
        } catch (WrongUser $e) {
            $status = self::WRONG_USER;
        } catch (InvalidConfiguration|InvalidKey|NotStorable|ExceptionInterface $e) {
            $status = self::USAGE;
        }
        // Symfony's messages repeat what was typed.
        self::complain($output, $e instanceof ExceptionInterface ? Secret::hidden($e->getMessage()) : $e->getMessage());

        return $status;
    }

    /** What did not reach the reader is not done. */
    private static function delivered(int $status, OutputInterface $output): int
    {
        if ($status !== self::OK || !$output instanceof Output || $output->failure() === null) {
            return $status;
        }
        $output->isClosed() || self::complain($output, 'larder: standard output cannot be written: ' . $output->failure());

        return self::NOT_DONE;
    }

    private static function complain(OutputInterface $output, string $message): void
    {
        $errors = $output instanceof ConsoleOutputInterface ? $output->getErrorOutput() : $output;
        // Symfony's messages have several lines.
        foreach (\explode("\n", $message) as $line) {
            $errors->writeln('<error>' . Text::shown($line) . '</error>', OutputInterface::VERBOSITY_QUIET);
        }
    }

    /** Without a terminal no question is answered. */
    protected function configureIO(InputInterface $input, OutputInterface $output): void
    {
        parent::configureIO($input, $output);
        if (!\defined('STDIN') || !\stream_isatty(\STDIN)) {
            $input->setInteractive(false);
        }
    }

    /** `bench compare` is typed as two words, and has options and help of its own. */
    public function run(?InputInterface $input = null, ?OutputInterface $output = null): int
    {
        $words = \array_map(static fn(mixed $word): string => \is_string($word) ? $word : '', \is_array($_SERVER['argv'] ?? null) ? \array_values($_SERVER['argv']) : []);
        if ($input === null && \array_slice($words, 1, 2) === ['bench', 'compare']) {
            $input = new ArgvInput([$words[0], 'bench:compare', ...\array_slice($words, 3)]);
        }

        return parent::run($input, $output ?? new Output());
    }
}
