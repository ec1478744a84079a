<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Console\Command;
use Larder\Config\InvalidConfiguration;
use Larder\Console\Application;
use Larder\Request\InvalidKey;
use Larder\System\WrongUser;
use Symfony\Component\Console\Command\Command as Inner;
use Symfony\Component\Console\Input\ArrayInput;

/** A command of bin/larder, as php artisan larder:…: with the application's cache where no --dsn is given. */
final class LarderCommand extends Command
{
    /** @param \Closure(): Settings $settings */
    public function __construct(private readonly Inner $inner, private readonly \Closure $settings)
    {
        $this->name = 'larder:' . $inner->getName();
        $this->description = $inner->getDescription();
        parent::__construct();
        $this->setHelp($inner->getHelp());
        $this->setDefinition($inner->getDefinition());
    }

    public function handle(): int
    {
        try {
            $given = ['--dsn' => $this->option('dsn')];
            if ($given['--dsn'] === null) {
                $settings = ($this->settings)();
                $given['--dsn'] = $settings->dsn();
                $settings->prefix === '' || !$this->inner->getDefinition()->hasOption('group') || $given['--group'] = $settings->prefix;
            }
            foreach ($this->inner->getDefinition()->getOptions() as $name => $option) {
                $value = $this->option($name);
                $value === $option->getDefault() || $given["--$name"] = $value;
            }
            foreach ($this->inner->getDefinition()->getArguments() as $name => $_) {
                $given[$name] = $this->argument($name);
            }

            return $this->inner->run(new ArrayInput($given), $this->output);
        } catch (WrongUser|InvalidConfiguration|InvalidKey $e) {
            $this->output->getErrorStyle()->writeln($e->getMessage());

            return $e instanceof WrongUser ? Application::WRONG_USER : Application::USAGE;
        }
    }
}
