<?php

declare(strict_types=1);

namespace Larder\Lab\Console;

use Larder\Console\Application;
use Larder\Lab\Compare\Comparison;
use Larder\Lab\Compare\Destination;
use Larder\Lab\Compare\Document;
use Larder\Lab\Compare\Findings;
use Larder\Lab\Compare\Limit;
use Larder\Lab\Compare\Markdown;
use Larder\Lab\Compare\NotComparable;
use Larder\Lab\Compare\Source;
use Larder\Lab\Compare\Terminal;
use Larder\Lab\Report\ReportUnreadable;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Command\Command;
use Symfony\Component\Console\Formatter\OutputFormatter;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\ConsoleOutputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('bench:compare', 'Compare two reports of the laboratory')]
final class CompareCommand extends Command
{
    public function __construct(private readonly Source $source = new Source())
    {
        parent::__construct();
    }

    protected function configure(): void
    {
        $this
            ->addArgument('old', InputArgument::REQUIRED, 'The older report, written with --json')
            ->addArgument('new', InputArgument::REQUIRED, 'The newer report')
            ->addOption('limit', null, InputOption::VALUE_REQUIRED, 'How much worse a cell may get: 5%, 5 or 0.05', '10%')
            ->addOption('relative', null, InputOption::VALUE_NONE, 'Judge each cell against the change of all cells')
            ->addOption('json', null, InputOption::VALUE_REQUIRED, 'Write every cell to this file')
            ->addOption('markdown', null, InputOption::VALUE_REQUIRED, 'Write the findings to this file')
            ->setHelp(<<<'HELP'
                Compares two reports cell by cell: the ratio of new to old with its 95 % interval. A cell is lost if the whole
                interval is beyond the limit and chance does not explain it, given the number of cells. So two runs of the
                same thing pass at least 19 times in 20. Sizes are exact: any growth beyond the limit counts.
                A subject that was measured before and returns wrong values now is lost as well.

                The exit status is 0 if nothing was lost, 1 if something was, 2 if the two cannot be compared.

                  <info>bin/larder bench compare old.json new.json</info>
                  <info>bin/larder bench compare old.json new.json --limit=5% --markdown=changes.md</info>
                  <info>bin/larder bench compare old.json new.json --relative -v</info>
                HELP);
    }

    protected function execute(InputInterface $input, OutputInterface $output): int
    {
        try {
            return $this->compare($input, $output);
        } catch (NotComparable|ReportUnreadable $e) {
            $errors = $output instanceof ConsoleOutputInterface ? $output->getErrorOutput() : $output;
            $errors->writeln('<error>' . OutputFormatter::escape($e->getMessage()) . '</error>', OutputInterface::VERBOSITY_QUIET);

            return Application::USAGE;
        }
    }

    private function compare(InputInterface $input, OutputInterface $output): int
    {
        $oldFile = self::text($input->getArgument('old')) ?? '';
        $newFile = self::text($input->getArgument('new')) ?? '';
        $limit = Limit::of(self::text($input->getOption('limit')) ?? '');
        $json = self::text($input->getOption('json'));
        $markdown = self::text($input->getOption('markdown'));
        $jsonFile = $json === null ? null : new Destination('json', $json, [$oldFile, $newFile]);
        $markdownFile = $markdown === null ? null : new Destination('markdown', $markdown, [$oldFile, $newFile, ...$json === null ? [] : [$json]]);

        $comparison = new Comparison(
            $this->source->read($oldFile),
            $this->source->read($newFile),
            $limit,
            $input->getOption('relative') === true,
        );
        $findings = new Findings($comparison);
        $jsonFile?->write(Document::of($findings, $oldFile, $newFile));
        $markdownFile?->write(Markdown::of($findings));
        (new Terminal($output))->show($findings);

        return $comparison->fails() ? Application::NOT_DONE : Application::OK;
    }

    private static function text(mixed $value): ?string
    {
        return \is_string($value) ? $value : null;
    }
}
