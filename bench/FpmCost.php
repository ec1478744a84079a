<?php

declare(strict_types=1);

namespace Larder\Bench;

use Larder\Cache;
use Larder\Tests\Support\FastCgi;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;

/**
 * What Larder adds to a php-fpm request that finds everything in APCu: `sqlite:///dir?near=apcu`, OPcache on, one
 * worker, one kept connection. strace shows what such a request asks of the kernel: the database is not opened.
 */
final readonly class FpmCost
{
    /** Microseconds that the request may cost more than an empty one. */
    private const LIMIT = 30.0;
    private const REQUESTS = 300;
    private const TRACED = 20;

    /** As Composer's optimised autoloader: no stat before a file is included. */
    private const AUTOLOADER = '
        spl_autoload_register(static function (string $class): void {
            if (strncmp($class, "Larder\\\\", 7) === 0) {
                require SOURCE . strtr(substr($class, 6), "\\\\", "/") . ".php";
            } elseif (strncmp($class, "Psr\\\\Log\\\\", 8) === 0) {
                require LOG . strtr(substr($class, 7), "\\\\", "/") . ".php";
            }
        });';

    private FpmServer $fpm;
    private FastCgi $connection;

    /** @var array<string, string> */
    private array $scripts;

    public function __construct(private Harness $harness, private TemporaryDirectory $directory)
    {
        $this->fpm = new FpmServer(1, '32M', [
            'opcache.enable' => 1,
            'opcache.jit_buffer_size' => 0,
            // OPcache leaves files alone that are younger than two seconds, as the scripts below.
            'opcache.file_update_protection' => 0,
        ]);
        $this->connection = $this->fpm->connect();
        $open = \sprintf('$cache = Larder\Cache::open(%s);', \var_export('sqlite://' . $directory->path . '?near=apcu', true));
        $autoloader = \strtr(self::AUTOLOADER, [
            'SOURCE' => \var_export(\dirname(__DIR__) . '/src', true),
            'LOG' => \var_export(\dirname((string) (new \ReflectionClass(\Psr\Log\LoggerInterface::class))->getFileName()), true),
        ]);
        $this->scripts = [
            'empty' => $this->fpm->script('empty.php', '<?php echo "ok";'),
            'autoloader' => $this->fpm->script('autoloader.php', '<?php' . $autoloader . 'echo "ok";'),
            'one' => $this->fpm->script('one.php', '<?php' . $autoloader . $open . 'echo $cache->get("key:0") === "value" ? "ok" : "miss";'),
            'fifty' => $this->fpm->script('fifty.php', '<?php' . $autoloader . $open . '
                for ($found = $i = 0; $i < 50; ++$i) {
                    $found += (int) ($cache->get("key:$i") === "value");
                }
                echo $found === 50 ? "ok" : "miss";'),
        ];
    }

    public function run(): string
    {
        $this->fillNear();
        $comparison = $this->harness->compare(
            'A php-fpm request, seen by its client over a kept connection',
            $this->side('empty script', 'empty'),
            $this->side('autoloader registered', 'autoloader'),
            $this->side('Larder opened, 1 get from APCu', 'one'),
            $this->side('Larder opened, 50 gets from APCu', 'fifty'),
        );
        $table = $comparison->table();
        foreach ([3 => 'Larder opened, 1 get', 4 => 'Larder opened, 50 gets'] as $side => $name) {
            [$more, $from, $to] = $comparison->difference($side);
            $table .= \sprintf(
                "  %s: %s more than the empty script (95 %% interval %s to %s)%s\n",
                $name,
                Comparison::time($more),
                Comparison::time($from),
                Comparison::time($to),
                $side === 3 ? \sprintf('; at most %.0f us: %s', self::LIMIT, $more <= self::LIMIT * 1_000 ? 'reached' : 'NOT REACHED') : '',
            );
        }

        return $table . "\n" . $this->traced();
    }

    /** The values are set by this process, the command line; the worker's APCu gets them when the worker reads them. */
    private function fillNear(): void
    {
        $cache = Cache::open('sqlite://' . $this->directory->path);
        for ($i = 0; $i < 50; ++$i) {
            $cache->set('key:' . $i, 'value');
        }
        for ($i = 0; $i < 3; ++$i) {
            $this->ask('fifty');
        }
    }

    private function side(string $name, string $script): Side
    {
        return new Side($name, function (int $times) use ($script): void {
            for ($i = 0; $i < $times; ++$i) {
                $this->ask($script);
            }
        }, null, null, self::REQUESTS);
    }

    private function ask(string $script): void
    {
        $answer = $this->connection->request($this->scripts[$script]);
        if ($answer->status !== 200 || $answer->body !== 'ok') {
            throw new \RuntimeException("The script $script answered $answer->status \"$answer->body\". " . $this->fpm->log());
        }
    }

    /** System calls of requests, counted by name, and the files they name. */
    private function traced(): string
    {
        $report = \sprintf("System calls of one request, by strace -f of the worker (mean of %d requests)\n", self::TRACED);
        foreach (['empty' => 'empty script', 'fifty' => 'Larder opened, 50 gets from APCu'] as $script => $name) {
            $lines = $this->trace($script);
            if ($lines === null) {
                return $report . "  left out: strace is not installed, or may not attach here (ptrace(2)).\n";
            }
            $calls = $files = [];
            foreach ($lines as $line) {
                if (\preg_match('/^(?:\d+ +)?(\w+)\((.*)$/', $line, $match) === 1) {
                    $calls[$match[1]] = ($calls[$match[1]] ?? 0) + 1;
                    if (\preg_match_all('~"(/[^"]*)"~', $match[2], $paths) > 0 && !\in_array($match[1], ['read', 'write', 'recvfrom', 'sendto'], true)) {
                        foreach ($paths[1] as $path) {
                            $files[$path] = ($files[$path] ?? 0) + 1;
                        }
                    }
                }
            }
            \arsort($calls);
            $report .= "  $name\n    calls: " . self::counted($calls) . "\n    files: " . self::counted($files) . "\n";
            if ($script === 'fifty') {
                $database = \array_filter(\array_keys($files), static fn(string $path): bool => \preg_match('/\.db(-wal|-shm|-journal)?$/D', $path) === 1);
                $report .= '    database files named: ' . ($database === [] ? "none: it was not opened\n" : \implode(', ', $database) . ": IT WAS OPENED\n");
            }
        }

        return $report;
    }

    /** @return ?list<string> */
    private function trace(string $script): ?array
    {
        $log = $this->directory->file('strace-' . $script);
        if (\trim((string) \shell_exec('command -v strace')) === '') {
            return null;
        }
        $this->ask($script);
        $strace = new Process(['strace', '-f', '-s', '4096', '-o', $log, '-p', (string) $this->fpm->workers()[0]]);
        for ($i = 0; !\str_contains($strace->errors(), 'attached'); ++$i) {
            if ($i === 500 || !$strace->isRunning()) {
                return null;
            }
            \usleep(10_000);
        }
        for ($i = 0; $i < self::TRACED; ++$i) {
            $this->ask($script);
        }
        $strace->signal(\SIGINT);
        $strace->wait();

        return \explode("\n", \trim((string) \file_get_contents($log)));
    }

    /** @param array<string, int> $counts */
    private static function counted(array $counts): string
    {
        $words = [];
        foreach ($counts as $name => $count) {
            if ($count >= self::TRACED / 2) {
                $words[] = \sprintf('%s %.3g', $name, $count / self::TRACED);
            } else {
                $words[] = \sprintf('%s (%d in all)', $name, $count);
            }
        }

        return $words === [] ? 'none' : \implode(', ', $words);
    }
}
