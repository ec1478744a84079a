<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Config\InvalidConfiguration;
use Larder\Console\Support\Text;
use Larder\Queue\Link;
use Larder\Queue\Queue;
use Larder\Queue\QueueDatabase;
use Larder\Queue\QueueFailure;
use Larder\System\Ownership;
use Larder\System\PrivateDirectory;
use Symfony\Component\Console\Command\Command;
use Symfony\Component\Console\Exception\InvalidArgumentException;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\ConsoleOutputInterface;
use Symfony\Component\Console\Output\OutputInterface;

/** Shared by the commands of the queue: opens it, as the right user, and turns failures into exit statuses. */
abstract class QueueCommand extends Command
{
    /** Whether it makes the queue where there is none. */
    protected const MAKES = false;

    protected function configure(): void
    {
        $this
            ->addArgument('name', InputArgument::OPTIONAL, 'The queue\'s name', 'default')
            ->addOption('dsn', 'd', InputOption::VALUE_REQUIRED, 'The queue\'s DSN, as in Queue::open() (default: LARDER_QUEUE; a secret is read from LARDER_QUEUE_SECRET, former ones from LARDER_QUEUE_PREVIOUS_SECRETS)')
            ->addOption('json', null, InputOption::VALUE_NONE, 'Print JSON');
    }

    /**
     * Does the command's work.
     *
     * @return int one of Application's exit statuses
     *
     * @throws QueueFailure
     */
    abstract protected function work(Queue $queue, string $name, InputInterface $input, OutputInterface $output): int;

    final protected function execute(InputInterface $input, OutputInterface $output): int
    {
        $errors = self::errors($output);
        $dsn = self::text($input, 'dsn') ?? self::environment('LARDER_QUEUE');
        if ($dsn === '') {
            throw new InvalidArgumentException('Say where the queue is: --dsn=sqlite:///var/lib/app/queue, or LARDER_QUEUE in the environment.');
        }
        $name = $input->getArgument('name');
        $name = \is_string($name) ? $name : '';
        if (\preg_match('~^sqlite://(/[^?]*)~', $dsn, $match) === 1) {
            $directory = \rawurldecode($match[1]);
            PrivateDirectory::become($directory);
            // A mistyped name would be an empty queue, and in order for ever. What lies in another user's directory, or where
            // open_basedir does not lead, opening it tells.
            if (!static::MAKES && \preg_match('/^[\w-]+$/D', $name) === 1 && !QueueDatabase::mayBe($directory, $name)) {
                $errors->writeln('<error>' . Text::shown("There is no queue $name in $directory: the first message makes it. Look at the name and the DSN.") . '</error>', OutputInterface::VERBOSITY_QUIET);

                return Application::UNREACHABLE;
            }
        }
        if ($errors !== $output && !Link::isWanted()) {
            $errors->writeln('<comment>larder: ' . Text::shown("queue $name in " . InvalidConfiguration::redacted($dsn) . ', as ' . Ownership::name(Ownership::user())) . '</comment>');
        }
        $secret = self::environment('LARDER_QUEUE_SECRET');
        $former = \array_filter(\array_map(\trim(...), \explode(',', self::environment('LARDER_QUEUE_PREVIOUS_SECRETS'))), static fn(string $text): bool => $text !== '');
        if ($secret === '' && $former !== []) {
            throw new InvalidArgumentException('LARDER_QUEUE_PREVIOUS_SECRETS is set, and LARDER_QUEUE_SECRET is not. Set that to the secret of today.');
        }
        try {
            return $this->work(Queue::open(['dsn' => $dsn] + ($secret === '' ? [] : ['secret' => [$secret, ...$former]]), $name), $name, $input, $output);
        } catch (QueueFailure $failure) {
            $errors->writeln('<error>' . Text::shown($failure->getMessage()) . '</error>', OutputInterface::VERBOSITY_QUIET);

            return Application::UNREACHABLE;
        }
    }

    final protected static function errors(OutputInterface $output): OutputInterface
    {
        return $output instanceof ConsoleOutputInterface ? $output->getErrorOutput() : $output;
    }

    final protected static function text(InputInterface $input, string $option): ?string
    {
        $value = $input->getOption($option);

        return \is_string($value) ? $value : null;
    }

    /**
     * Says what was done: as JSON where that is asked for.
     *
     * @param array<string, mixed> $figures
     */
    final protected static function say(InputInterface $input, OutputInterface $output, string $name, array $figures, string $line): void
    {
        self::isJson($input) ? Text::json($output, ['queue' => $name] + $figures) : $output->writeln($line);
    }

    /** @param list<array{body: mixed, ...}> $messages */
    final protected static function list(OutputInterface $output, array $messages): void
    {
        Text::json($output, \array_map(static fn(array $message): array => ['body' => Text::document($message['body'])] + $message, $messages));
    }

    /** @return list<string> of the messages that are named */
    final protected static function ids(InputInterface $input): array
    {
        $ids = $input->getArgument('id');

        return \is_array($ids) ? \array_values(\array_filter($ids, \is_string(...))) : [];
    }

    final protected static function isJson(InputInterface $input): bool
    {
        return $input->getOption('json') === true;
    }

    final protected static function number(InputInterface $input, string $option, int $least): int
    {
        $text = self::text($input, $option) ?? '';
        $number = \filter_var($text, \FILTER_VALIDATE_INT, ['options' => ['min_range' => $least]]);

        return \is_int($number) ? $number : throw new InvalidArgumentException("--$option=$text must be a whole number from $least on.");
    }

    private static function environment(string $name): string
    {
        $text = \getenv($name);
        if ($text === false || $text === '') {
            $text = $_SERVER[$name] ?? $_ENV[$name] ?? '';
        }

        return \is_string($text) ? $text : '';
    }
}
