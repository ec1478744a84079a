<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle\Console;

use Larder\Config\Dsn;
use Larder\Console\Support\PassesOn;
use Symfony\Component\Console\Command\Command;
use Symfony\Component\Console\Input\ArrayInput;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\ConsoleOutputInterface;
use Symfony\Component\Console\Output\OutputInterface;

/** A command of bin/larder in bin/console: it works on the application's cache, or on a pool's part of it. */
final class LarderCommand extends Command
{
    use PassesOn;

    /**
     * @param string                               $dsn     of the application's cache
     * @param array<string, scalar|list<string>>   $options of it, beside those in the DSN
     * @param array<string, array{string, string}> $pools   DSN and group of each pool, by its name
     */
    public function __construct(
        Command $inner,
        #[\SensitiveParameter]
        private readonly string $dsn,
        #[\SensitiveParameter]
        private readonly array $options = [],
        #[\SensitiveParameter]
        private readonly array $pools = [],
    ) {
        $this->inner = $inner;
        parent::__construct('larder:' . $inner->getName());
    }

    protected function configure(): void
    {
        $this->setDescription($this->inner->getDescription());
        $this->setHelp($this->inner->getHelp());
        $this->getDefinition()->setArguments($this->inner->getDefinition()->getArguments());
        $this->getDefinition()->setOptions($this->inner->getDefinition()->getOptions());
        if ($this->inner->getDefinition()->hasOption('group')) {
            $this->addOption('pool', 'p', InputOption::VALUE_REQUIRED, 'Use this pool, as cache.app', null, \array_keys($this->pools));
        }
    }

    protected function execute(InputInterface $input, OutputInterface $output): int
    {
        $given = $this->given($input);
        $pool = $input->hasOption('pool') ? $input->getOption('pool') : null;
        if ($pool !== null) {
            if (!\is_string($pool) || !isset($this->pools[$pool])) {
                $errors = $output instanceof ConsoleOutputInterface ? $output->getErrorOutput() : $output;
                $errors->writeln('<error>No pool of Larder has this name. There are: ' . \implode(', ', \array_keys($this->pools)) . '.</error>');

                return self::INVALID;
            }
            [$dsn, $group] = $this->pools[$pool];
            $given += ['--dsn' => $this->whole($dsn), '--group' => $group];
        }

        return $this->inner->run(new ArrayInput($given + ['--dsn' => $this->whole($this->dsn)]), $output);
    }

    private function whole(#[\SensitiveParameter] string $dsn): string
    {
        return $dsn !== $this->dsn ? $dsn : Dsn::with($dsn, $this->options);
    }
}
