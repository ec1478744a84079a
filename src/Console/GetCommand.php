<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('get', 'Print the value of a key')]
final class GetCommand extends CacheCommand
{
    protected function configure(): void
    {
        parent::configure();
        $this
            ->addArgument('key', InputArgument::REQUIRED, 'The key')
            ->setHelp(<<<'HELP'
                Prints the current value: strings byte for byte, other types in readable form. The exit status is 1 if there is none.

                  <info>%command.full_name% page:/about</info>
                  <info>%command.full_name% --group=users 42 --json</info>
                  <info>%command.full_name% --dsn=redis:///run/redis.sock logo > logo.png</info>
                HELP);
    }

    protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int
    {
        $key = self::argument($input, 'key');
        $none = new \stdClass();
        $value = $cache->get($key, $none);
        if ($input->getOption('json') === true) {
            Text::json($output, ['key' => Text::key($key), 'found' => $value !== $none] + ($value === $none ? [] : Text::document($value)));
        } elseif ($value !== $none) {
            // Only people get a final line break: a file gets the value's bytes and nothing else.
            $output->write(Text::printed($value), !\is_string($value) || $output->isDecorated(), OutputInterface::OUTPUT_RAW);
        }

        return $value === $none ? Application::NOT_DONE : Application::OK;
    }
}
