<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Console\Fleet\Accounts;
use Larder\Console\Fleet\ActingUser;
use Larder\Console\Fleet\FileNames;
use Larder\Console\Fleet\Files;
use Larder\Console\Fleet\Found;
use Larder\Console\Fleet\Orphans;
use Larder\Console\Fleet\Survey;
use Larder\Console\Fleet\Trim;
use Larder\Console\Support\Text;
use Larder\System\Failure;
use Larder\System\Quiet;
use Larder\System\ServerPolicy;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Command\Command;
use Symfony\Component\Console\Exception\InvalidArgumentException;
use Symfony\Component\Console\Helper\Table;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\ConsoleOutputInterface;
use Symfony\Component\Console\Output\OutputInterface;
use Symfony\Component\Console\Style\SymfonyStyle;

#[AsCommand('fleet', 'Show what all users of this server have, and what is wrong with it')]
final class FleetCommand extends Command
{
    /** Of the document that --json prints: a number that changes when a field goes or means something else. */
    private const SCHEMA = 1;

    private const WIDTH = 200;

    /**
     * For tests, other places than the server's.
     *
     * @param ?list<string> $shared see Survey
     */
    public function __construct(
        private readonly ServerPolicy $policy = new ServerPolicy(),
        private readonly string $passwd = '/etc/passwd',
        private readonly string $memory = '/dev/shm',
        private readonly ?array $shared = null,
    ) {
        parent::__construct();
    }

    protected function configure(): void
    {
        $this
            ->addOption('in', null, InputOption::VALUE_REQUIRED, 'Search below these directories too, joined by commas')
            ->addOption('json', null, InputOption::VALUE_NONE, 'Print JSON')
            ->addOption('trim', null, InputOption::VALUE_REQUIRED, 'Give back the memory of segments that were not used for so many seconds')
            ->addOption('remove-orphans', null, InputOption::VALUE_NONE, 'Remove the files of users who do not exist any more')
            ->addOption('yes', 'y', InputOption::VALUE_NONE, 'Remove them without a question')
            ->setHelp(<<<'HELP'
                Lists the caches, queues and segments of all users, those with most bytes first; a user other than root sees only his own.
                It opens none of them.

                  <info>%command.full_name%</info>
                  <info>%command.full_name% --in=/home,/srv --json</info>
                  <info>%command.full_name% --trim=3600</info>       # from cron, say every ten minutes
                  <info>%command.full_name% --remove-orphans</info>
                HELP);
    }

    protected function execute(InputInterface $input, OutputInterface $output): int
    {
        $seconds = $input->getOption('trim');
        if ($seconds !== null && (!\is_string($seconds) || !\ctype_digit($seconds) || \strlen($seconds) > 9)) {
            throw new InvalidArgumentException('Write the seconds as --trim=3600.');
        }
        if ($seconds !== null && $input->getOption('remove-orphans') === true) {
            throw new InvalidArgumentException('Write --trim or --remove-orphans, not both.');
        }
        $within = $input->getOption('in');
        $within = \is_string($within) && $within !== '' ? \explode(',', $within) : [];
        foreach ($within as $path) {
            \str_starts_with($path, '/') && \is_dir($path) || throw new InvalidArgumentException("\"$path\" in --in is no directory. Write absolute paths, as --in=/home,/srv.");
        }
        try {
            $acting = new ActingUser();
            $accounts = new Accounts($this->passwd);
            [$limits, $wrong] = $this->policy->read();
            foreach ($wrong as $line) {
                ($output instanceof ConsoleOutputInterface ? $output->getErrorOutput() : $output)->writeln('<comment>!</comment> ' . self::escaped($line));
            }
            $survey = new Survey($acting, $accounts, $limits, $this->memory, ...($this->shared === null ? [] : [$this->shared]));
            $all = $survey->take($within);

            return match (true) {
                $input->getOption('remove-orphans') === true => $this->remove(new Orphans($acting, $accounts), $all, $input, $output),
                $seconds !== null => $this->trim(new Trim($acting, $accounts, \time()), $acting, $all, (int) $seconds, $input, $output),
                default => $this->show($all, $limits, $acting, $input, $output),
            };
        } catch (Failure $failure) {
            ($output instanceof ConsoleOutputInterface ? $output->getErrorOutput() : $output)->writeln('<error>' . Text::escaped($failure->getMessage()) . '</error>', OutputInterface::VERBOSITY_QUIET);

            return Application::UNREACHABLE;
        }
    }

    /**
     * @param list<Found>        $all
     * @param array<string, int> $limits
     */
    private function show(array $all, array $limits, ActingUser $acting, InputInterface $input, OutputInterface $output): int
    {
        $memory = (int) \min(\PHP_INT_MAX, \array_sum(\array_map(static fn(Found $found): int => $found->memory, $all)));
        $disk = (int) \min(\PHP_INT_MAX, \array_sum(\array_map(static fn(Found $found): int => $found->disk, $all)));
        $wrong = \array_filter($all, static fn(Found $found): bool => $found->problems !== []);
        [$total, $free] = Quiet::call(fn(): array => \function_exists('disk_total_space') ? [\disk_total_space($this->memory), \disk_free_space($this->memory)] : [false, false]);
        $shared = $total === false || $free === false ? null : [
            'path' => $this->memory, 'total_bytes' => (int) $total, 'used_bytes' => (int) ($total - $free), 'free_bytes' => (int) $free, 'tenth_bytes' => (int) ($total / 10), 'larder_bytes' => $memory,
        ];
        if ($input->getOption('json') === true) {
            Text::json($output, [
                'schema' => self::SCHEMA,
                'time' => \time(),
                'all_users' => $acting->isRoot,
                'caches' => \array_map(static fn(Found $found): array => $found->document(), $all),
                'totals' => ['caches' => \count($all), 'memory_bytes' => $memory, 'disk_bytes' => $disk, 'with_problems' => \count($wrong)],
                'shared_memory' => $shared,
                'policy' => (object) $limits,
            ]);

            return Application::OK;
        }
        $table = (new Table($output))->setHeaders(['user', 'kind', 'memory', 'disk', 'hits', 'used', 'path']);
        foreach ($all as $found) {
            $ratio = $found->ratio();
            $table->addRow([
                self::escaped($found->user ?? "#$found->uid"),
                $found->kind . ($found->name === '' ? '' : " $found->name"),
                $found->memory === 0 ? '' : Text::bytes($found->memory),
                $found->disk === 0 ? '' : Text::bytes($found->disk),
                $ratio === null ? '' : \sprintf('%.1f %%', 100 * $ratio),
                $found->usedAt === 0 ? '' : \gmdate('Y-m-d H:i', $found->usedAt),
                ($found->problems === [] ? '' : '! ') . self::escaped($found->path),
            ]);
        }
        $all === [] || $table->render();
        foreach ($wrong as $found) {
            foreach ($found->problems as $text) {
                $output->writeln('<comment>!</comment> ' . self::escaped($found->path) . ($found->name === '' ? '' : " ($found->name)") . ': ' . Text::escaped($text));
            }
        }
        $output->writeln(\sprintf('%d in all: %s in memory%s, %s on disk; %d with problems', \count($all), Text::bytes($memory), isset($limits['segment_total']) ? ' of ' . Text::bytes($limits['segment_total']) . ' that the policy allows' : '', Text::bytes($disk), \count($wrong)));
        $shared === null || $output->writeln(\sprintf('%s: %s used of %s, %s free; a tenth, which segments leave free, is %s; Larder has %s', $this->memory, Text::bytes($shared['used_bytes']), Text::bytes($shared['total_bytes']), Text::bytes($shared['free_bytes']), Text::bytes($shared['tenth_bytes']), Text::bytes($memory)));

        return Application::OK;
    }

    /** @param list<Found> $all */
    private function trim(Trim $trim, ActingUser $acting, array $all, int $seconds, InputInterface $input, OutputInterface $output): int
    {
        $trimmed = $done = $failed = [];
        $given = 0;
        foreach ($trim->idle($all, $seconds) as $found) {
            $reason = $trim->trim($found);
            if ($reason !== null) {
                $failed[] = ['path' => Text::key($found->path), 'reason' => $reason];
                continue;
            }
            $stat = Quiet::call(static fn(): ?array => $acting->as($found->uid, static fn(): ?array => Files::stat($found->path)));
            $bytes = \max(0, $found->memory - ($stat === null ? 0 : Files::taken($stat)));
            $trimmed[] = ['uid' => $found->uid, 'path' => Text::key($found->path), 'given_back_bytes' => $bytes];
            $given += $bytes;
            $done[] = $found;
        }
        $done === [] || $trim->done($done);
        if ($input->getOption('json') === true) {
            Text::json($output, ['schema' => self::SCHEMA, 'trimmed' => $trimmed, 'failed' => $failed, 'given_back_bytes' => $given]);
        } else {
            foreach ($failed as ['path' => $path, 'reason' => $reason]) {
                $output->writeln('<comment>!</comment> ' . self::escaped(\is_string($path) ? $path : $path['value']) . ': ' . self::escaped($reason));
            }
            $output->writeln(\sprintf('%d %s not used for %s: %s given back', \count($trimmed), \count($trimmed) === 1 ? 'segment was' : 'segments were', Text::seconds($seconds), Text::bytes($given)));
        }

        return $failed === [] ? Application::OK : Application::NOT_DONE;
    }

    /** @param list<Found> $all */
    private function remove(Orphans $orphans, array $all, InputInterface $input, OutputInterface $output): int
    {
        $gone = $orphans->among($all);
        $isJson = $input->getOption('json') === true;
        foreach ($isJson ? [] : $gone as $found) {
            $output->writeln("#$found->uid  $found->kind  " . Text::bytes($found->bytes()) . '  ' . self::escaped($found->path));
        }
        if ($gone !== [] && $input->getOption('yes') !== true) {
            if (!$input->isInteractive()) {
                throw new InvalidArgumentException('There is no terminal to ask on: add --yes to remove these files.');
            }
            $queues = \count(\array_filter($gone, static fn(Found $found): bool => $found->kind === FileNames::QUEUE));
            if (!(new SymfonyStyle($input, $output))->confirm('Remove what Larder made there?' . ($queues === 0 ? '' : " The messages of $queues queues go too."), false)) {
                return Application::NOT_DONE;
            }
        }
        $bytes = $orphans->remove($gone);
        if ($isJson) {
            Text::json($output, ['schema' => self::SCHEMA, 'removed' => $orphans->removed, 'removed_bytes' => $bytes, 'left' => \array_map(static fn(string $path, string $why): array => ['path' => Text::key($path), 'reason' => $why], \array_keys($orphans->left), $orphans->left)]);
        } else {
            foreach ($orphans->left as $path => $why) {
                $output->writeln('<comment>!</comment> ' . self::escaped($path) . ': the directory stays: ' . self::escaped($why));
            }
            $output->writeln(\sprintf('Removed %d of %d that belonged to users who do not exist: %s', $orphans->removed, \count($gone), Text::bytes($bytes)));
        }

        return $orphans->left === [] ? Application::OK : Application::NOT_DONE;
    }

    /** What a user has chosen: nothing in it reaches the terminal but text. */
    private static function escaped(string $text): string
    {
        return Text::shown($text, self::WIDTH);
    }
}
