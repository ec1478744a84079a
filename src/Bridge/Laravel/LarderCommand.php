<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Console\Command;
use Larder\Config\InvalidConfiguration;
use Larder\Console\Application;
use Larder\Console\Support\PassesOn;
use Larder\Request\InvalidKey;
use Larder\System\WrongUser;
use Symfony\Component\Console\Command\Command as Inner;
use Symfony\Component\Console\Input\ArrayInput;

/** A command of bin/larder, as php artisan larder:…: with the application's cache where no --dsn is given. */
final class LarderCommand extends Command
{
    use PassesOn;

    /** @param \Closure(): Settings $settings */
    public function __construct(Inner $inner, private readonly \Closure $settings)
    {
        $this->inner = $inner;
        $this->name = 'larder:' . $inner->getName();
        $this->description = $inner->getDescription();
        parent::__construct();
        $this->setHelp($inner->getHelp());
        $this->setDefinition($inner->getDefinition());
    }

    public function handle(): int
    {
        try {
            $given = $this->given($this->input);
            if (!isset($given['--dsn'])) {
                $settings = ($this->settings)();
                $given['--dsn'] = $settings->dsn();
                $settings->prefix === '' || !$this->inner->getDefinition()->hasOption('group') || $given += ['--group' => $settings->prefix];
            }

            return $this->inner->run(new ArrayInput($given), $this->output);
        } catch (WrongUser|InvalidConfiguration|InvalidKey $e) {
            $this->output->getErrorStyle()->writeln($e->getMessage());

            return $e instanceof WrongUser ? Application::WRONG_USER : Application::USAGE;
        }
    }
}
