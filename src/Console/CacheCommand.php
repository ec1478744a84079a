<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Symfony\Component\Console\Command\Command;
use Symfony\Component\Console\Exception\InvalidArgumentException;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\ConsoleOutputInterface;
use Symfony\Component\Console\Output\OutputInterface;

/** Shared by all commands that open the cache: chooses the cache and the user, and turns failures into exit statuses. */
abstract class CacheCommand extends Command
{
    /** Whether it makes the cache where there is none. What removes something does: after a change of the DSN it counts for what the web still has from the former cache. */
    protected const MAKES = false;

    protected function configure(): void
    {
        $this
            ->addOption('dsn', 'd', InputOption::VALUE_REQUIRED, 'The cache\'s DSN, as in Cache::open() (default: LARDER_DSN, else the user\'s own directory)')
            ->addOption('group', 'g', InputOption::VALUE_REQUIRED, 'Use this group')
            ->addOption('json', null, InputOption::VALUE_NONE, 'Print JSON');
    }

    /**
     * Does the command's work.
     *
     * @return int one of Application's exit statuses
     */
    abstract protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int;

    final protected function execute(InputInterface $input, OutputInterface $output): int
    {
        $errors = $output instanceof ConsoleOutputInterface ? $output->getErrorOutput() : $output;
        $place = Place::choose(self::text($input, 'dsn'));
        $group = self::text($input, 'group');
        $place->become();
        // A mistyped directory would be an empty cache. As root, it would keep the web's processes out, too.
        if (!static::MAKES && $place->directory !== null && !\is_dir($place->directory)) {
            $errors->writeln('<error>' . Text::shown("There is no cache in $place->directory: what is stored first makes it. Look at the DSN, and at the user.") . '</error>', OutputInterface::VERBOSITY_QUIET);

            return Application::NOT_DONE;
        }
        if ($errors !== $output) {
            $errors->writeln('<comment>larder: ' . Text::shown($place->describe() . ($group === null ? '' : ', group ' . $group)) . '</comment>');
        }
        $status = $this->work(self::in($group, $place->open()), $place, $input, $output);
        $complaints = $place->complaints->take();
        foreach ($complaints as $line) {
            $errors->writeln('<error>' . Text::shown($line) . '</error>', OutputInterface::VERBOSITY_QUIET);
        }

        return $complaints === [] ? $status : Application::UNREACHABLE;
    }

    /** The truth tier alone: what looks through everything does not fill the near tier with it. */
    final protected static function truth(Place $place, InputInterface $input): Cache
    {
        return self::in(self::text($input, 'group'), $place->openTruth());
    }

    /**
     * Says what was done: as JSON where that is asked for.
     *
     * @param array<string, mixed> $document
     */
    final protected static function say(InputInterface $input, OutputInterface $output, array $document, bool $done, string $line): int
    {
        $input->getOption('json') === true ? Text::json($output, $document + ['done' => $done]) : $output->writeln($done ? $line : "not $line");

        return $done ? Application::OK : Application::NOT_DONE;
    }

    private static function in(?string $group, Cache $cache): Cache
    {
        return $group === null ? $cache : $cache->group($group);
    }

    final protected static function text(InputInterface $input, string $option): ?string
    {
        $value = $input->getOption($option);

        return \is_string($value) ? $value : null;
    }

    final protected static function number(InputInterface $input, string $option, float $least): float
    {
        $text = self::text($input, $option) ?? '';
        if (!\is_numeric($text) || (float) $text < $least || (float) $text > 1e6) {
            throw new InvalidArgumentException('The ' . $option . ' "' . $text . '" must be a number from ' . $least . ' to 1000000.');
        }

        return (float) $text;
    }

    final protected static function argument(InputInterface $input, string $name): string
    {
        $value = $input->getArgument($name);

        return \is_string($value) ? $value : '';
    }

    /** @return list<string> */
    final protected static function words(mixed $value): array
    {
        return \is_array($value) ? \array_values(\array_filter($value, \is_string(...))) : [];
    }
}
