<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Queue\Handler;
use Larder\Console\Queue\Progress;
use Larder\Queue\Link;
use Larder\Queue\Queue;
use Larder\Queue\Supervisor;
use Larder\Queue\Worker;
use Larder\Queue\WorkerLimits;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Command\SignalableCommandInterface;
use Symfony\Component\Console\Exception\InvalidArgumentException;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\OutputInterface;

/** The supervisor, and in the processes that it starts, the worker. */
#[AsCommand('queue:work', 'Handle the messages of a queue')]
final class QueueWorkCommand extends QueueCommand implements SignalableCommandInterface
{
    protected const MAKES = true;

    private ?Supervisor $supervisor = null;
    private ?Worker $worker = null;

    protected function configure(): void
    {
        parent::configure();
        $this
            ->addOption('handler', null, InputOption::VALUE_REQUIRED, 'What is called with each body and message: a PHP file that returns a callable, Class::method, or a class with __invoke()')
            ->addOption('schedule', null, InputOption::VALUE_REQUIRED, 'A PHP file that returns a function, which gets a Larder\Queue\Schedule and adds what is to be pushed regularly')
            ->addOption('processes', 'p', InputOption::VALUE_REQUIRED, 'Workers; one that has reached a limit is replaced (default: one, and the command ends with it)')
            ->addOption('rate', null, InputOption::VALUE_REQUIRED, 'At most so many messages in so many seconds, of all workers with this rate on all servers together: 100/60')
            ->addOption('max-jobs', null, InputOption::VALUE_REQUIRED, 'A worker ends after so many messages', '0')
            ->addOption('max-time', null, InputOption::VALUE_REQUIRED, 'A worker ends after so many seconds', '0')
            ->addOption('memory', null, InputOption::VALUE_REQUIRED, 'A worker ends when it holds so many MiB', '0')
            ->addOption('visibility', null, InputOption::VALUE_REQUIRED, 'Seconds after which a message is another worker\'s if this machine dies; extended while a handler runs', '60')
            ->addOption('timeout', null, InputOption::VALUE_REQUIRED, 'Kill a worker whose handler takes longer than so many seconds (0: never)', '0')
            ->addOption('stop-when-empty', null, InputOption::VALUE_NONE, 'End when no message is due, or when the queue cannot be reached (exit status 4)')
            ->setHelp(<<<'HELP'
                Starts workers, each a process. A worker gives each message to the handler, which gets the body and the message. A handler
                that throws, exits or dies gets the message again, after a pause that grows; after the last attempt the message is dead
                (<info>queue:dead</info>), with the error.

                  <info>%command.full_name% mail --dsn=sqlite:///var/lib/app/queue --handler=mail.php</info>
                  <info>%command.full_name% mail --handler="App\Mailer::send" --processes=4 --memory=256 --max-time=3600</info>

                To change the queue's secret, move the old one to <info>LARDER_QUEUE_PREVIOUS_SECRETS</info>, a list with commas: what was signed with
                it is still read. <info>LARDER_QUEUE_SECRET</info> is the one that signs.

                SIGTERM and Ctrl-C end it after the messages being handled, a second one at once. SIGHUP replaces the workers one after
                the other: new code is in use then.

                Standard output is a line of JSON for each message; on a terminal, the progress.
                HELP);
    }

    /** @return list<int> */
    public function getSubscribedSignals(): array
    {
        return \extension_loaded('pcntl') ? [\SIGINT, \SIGTERM, \SIGHUP] : [];
    }

    public function handleSignal(int $signal, int|false $previousExitCode = 0): int|false
    {
        if ($signal === \SIGHUP) {
            $this->supervisor?->renew();
        } else {
            $this->supervisor?->stop();
            $this->worker?->stop();
        }

        return false;
    }

    protected function work(Queue $queue, string $name, InputInterface $input, OutputInterface $output): int
    {
        $visibility = self::number($input, 'visibility', 1);
        $queue = self::atRate($queue, self::text($input, 'rate'));
        $limits = new WorkerLimits(self::number($input, 'max-jobs', 0), self::number($input, 'max-time', 0), self::number($input, 'memory', 0) * 1024 ** 2, $input->getOption('stop-when-empty') === true);
        $link = Link::toSupervisor();
        if ($link !== null) {
            return $this->beWorker($queue, $link, $limits, $visibility, self::text($input, 'handler') ?? '', self::text($input, 'schedule'));
        }
        $processes = $input->getOption('processes') === null ? 1 : self::number($input, 'processes', 1);
        $progress = new Progress($output, self::errors($output), $queue, $name, self::isJson($input));
        $this->supervisor = new Supervisor($queue, Supervisor::commandLine(), $processes, $visibility, (float) self::number($input, 'timeout', 0), $input->getOption('processes') !== null && !$limits->whileEmpty, $progress->tell(...));
        try {
            $problem = $this->supervisor->run();
        } finally {
            $progress->finish();
        }

        return $problem === null ? Application::OK : throw new InvalidArgumentException($problem);
    }

    private static function atRate(Queue $queue, ?string $rate): Queue
    {
        if ($rate === null) {
            return $queue;
        }
        if (\preg_match('~^(\d{1,9})/(\d{1,9}(?:\.\d{1,3})?)$~D', $rate, $found) !== 1) {
            throw new InvalidArgumentException("--rate is \"$rate\", but must be a number of messages, a slash and seconds. Write for example --rate=100/60.");
        }
        try {
            return $queue->atMost((int) $found[1], (float) $found[2]);
        } catch (\InvalidArgumentException $wrong) {
            throw new InvalidArgumentException($wrong->getMessage(), 0, $wrong);
        }
    }

    private function beWorker(Queue $queue, Link $link, WorkerLimits $limits, int $visibility, string $handler, ?string $schedule): int
    {
        try {
            $loaded = Handler::load($handler);
            $scheduled = $schedule === null ? null : Handler::schedule($schedule, $queue);
        } catch (\Throwable $error) {
            $link->write(Link::line(['event' => 'unusable', 'error' => $error instanceof InvalidArgumentException ? $error->getMessage() : $error::class . ': ' . $error->getMessage() . ' in ' . $error->getFile() . ':' . $error->getLine()]));

            return Application::USAGE;
        }
        $this->worker = new Worker($queue, $loaded, $limits, $visibility, $link, Cache::refreshAll(...), $scheduled);
        $this->worker->run();

        return Application::OK;
    }
}
