<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Config\InvalidConfiguration;
use Larder\Console\Doctor\Finding;
use Larder\Console\Doctor\Folder;
use Larder\Console\Doctor\Limits;
use Larder\Console\Doctor\Machine;
use Larder\Console\Doctor\RedisServers;
use Larder\Console\Doctor\RedisUser;
use Larder\Console\Doctor\RoundTrip;
use Larder\Console\Doctor\SharedMemory;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Larder\System\Ownership;
use Larder\System\Quiet;
use Larder\System\ServerPolicy;
use Larder\System\WrongUser;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Command\Command;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('doctor', 'Say what this machine offers, what is wrong, and the fix')]
final class DoctorCommand extends Command
{
    private const ORDER = ['fail' => 0, 'warn' => 1, 'ok' => 2, 'note' => 3];

    /** @param ServerPolicy $policy another one than the server's for tests */
    public function __construct(private readonly ServerPolicy $policy = new ServerPolicy())
    {
        parent::__construct();
    }

    protected function configure(): void
    {
        $this
            ->addOption('dsn', 'd', InputOption::VALUE_REQUIRED, 'The cache\'s DSN, as in Cache::open() (default: LARDER_DSN, else the user\'s own directory)')
            ->addOption('json', null, InputOption::VALUE_NONE, 'Print JSON')
            ->setHelp(<<<'HELP'
                Checks this PHP, the directory and the servers behind a DSN. For each it says whether it works and, if not, how to fix
                it. The exit status is 1 if a check fails, 3 if the directory belongs to another user.

                Run it as the user of the web server, or as root, which becomes that user:

                  <info>sudo -u www-data %command.full_name% --dsn=sqlite:///var/cache/app</info>
                  <info>%command.full_name% --dsn=redis:///run/redis.sock</info>
                  <info>%command.full_name% --json</info>
                HELP);
    }

    protected function execute(InputInterface $input, OutputInterface $output): int
    {
        $dsn = $input->getOption('dsn');
        $place = Place::choose(\is_string($dsn) ? $dsn : null);
        $findings = [];
        $status = Application::OK;
        // A file that PHP cannot read (open_basedir, rights) becomes a finding, not a PHP warning.
        Quiet::begin();
        try {
            foreach ($this->look($place, $status) as $finding) {
                $findings[] = $finding;
                if ($finding->level === 'fail' && $status === Application::OK) {
                    $status = Application::NOT_DONE;
                }
            }
        } finally {
            Quiet::end();
        }
        // What is wrong first. The order is otherwise that of the checks (usort() is stable).
        \usort($findings, static fn(Finding $one, Finding $other): int => self::ORDER[$one->level] <=> self::ORDER[$other->level]);
        if ($input->getOption('json') === true) {
            Text::json($output, ['ok' => $status === Application::OK, 'cache' => $place->describe(), 'findings' => $findings]);
        } else {
            foreach ($findings as $finding) {
                self::show($finding, $output);
            }
        }

        return $status;
    }

    /** @return iterable<Finding> */
    private function look(Place $place, int &$status): iterable
    {
        try {
            $was = Ownership::name(Ownership::user());
            $became = $place->become();
            yield Finding::ok('cache', $place->describe() . ($became ? ' (was ' . $was . ')' : ''));
            yield from Machine::findings($place->options);
            if ($place->directory !== null) {
                yield from Folder::findings($place->directory, $place->options, $this->policy);
            }
            yield from Limits::findings($place->options, $this->policy);
            yield from SharedMemory::findings($place->options, $this->policy);
            yield RoundTrip::finding($place);
            yield from RedisServers::findings($place);
            yield from RedisUser::findings($place);
        } catch (InvalidConfiguration $e) {
            yield Finding::fail('truth tier', $e->getMessage(), 'Fix that first.');
        } catch (WrongUser $e) {
            $status = Application::WRONG_USER;
            yield Finding::fail('owner', $e->getMessage(), $e->command);
        }
    }

    private static function show(Finding $finding, OutputInterface $output): void
    {
        $mark = ['ok' => '<info> ok </info>', 'warn' => '<comment>warn</comment>', 'fail' => '<error>fail</error>'][$finding->level] ?? '  - ';
        $output->writeln($mark . ' ' . \str_pad($finding->subject, 15) . ' ' . Text::shown($finding->text));
        if ($finding->fix !== '') {
            $output->writeln(\str_repeat(' ', 21) . '-> ' . Text::shown($finding->fix));
        }
    }
}
