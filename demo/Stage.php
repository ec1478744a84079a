<?php

declare(strict_types=1);

namespace Larder\Demo;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;

/** What an act plays with: directories, processes, servers of its own, and somebody who writes down what held. */
final class Stage
{
    /** Seconds after which something that should have happened is called broken; a slow machine never needs them. */
    public const PATIENCE = 60.0;

    /** In each DSN: a machine with other things to do shall not be taken for one whose parts hang. */
    public const TIMEOUT = 'timeout=10';

    private readonly TemporaryDirectory $directory;
    private ?RedisServer $redis = null;
    private int $held = 0;
    private int $failed = 0;
    private int $skipped = 0;

    public function __construct(private readonly Terminal $terminal)
    {
        $this->directory = new TemporaryDirectory('act');
    }

    public function say(string $text): void
    {
        $this->terminal->say($text);
    }

    public function step(string $who, string $what, ?float $milliseconds = null): void
    {
        $this->terminal->step($who, $what, $milliseconds);
    }

    public function claim(bool $holds, string $text): void
    {
        $holds ? ++$this->held : ++$this->failed;
        $this->terminal->claim($holds, $text);
    }

    public function skip(Part $part, string $what): void
    {
        ++$this->skipped;
        $this->terminal->skipped(\sprintf('%s skipped: %s is not here. Type: %s', $what, $part->label(), $part->advice()));
    }

    /**
     * @param non-empty-list<string>       $head
     * @param list<non-empty-list<string>> $rows
     */
    public function table(array $head, array $rows): void
    {
        $this->terminal->table($head, $rows);
    }

    public function line(string $text = ''): void
    {
        $this->terminal->line($text);
    }

    public function file(string $name): string
    {
        return $this->directory->file($name);
    }

    /**
     * A disk tier: SQLite where it is, else files.
     *
     * @param list<string> $options as "near=apcu"
     */
    public function disk(string $name, array $options = []): string
    {
        return (Part::Sqlite->isHere() ? 'sqlite' : 'file') . '://' . $this->directory->file($name) . '?' . \implode('&', [self::TIMEOUT, ...$options]);
    }

    /** The act's Redis, with what is in memory before it. */
    public function far(string $server = ''): string
    {
        return 'redis://' . $this->redis()->socket . '?' . \implode('&', [self::TIMEOUT, ...$this->near($server)]);
    }

    /**
     * What is in memory before the cache: the segment by itself where its extension is, else APCu; or nothing.
     *
     * @param string $server of which it is, where there are several: each has a segment of its own
     *
     * @return list<string>
     */
    public function near(string $server = ''): array
    {
        return match (true) {
            Part::Segment->isHere() => $server === '' ? [] : ['near=' . \rawurlencode('segment://' . $this->file('memory-of-' . $server) . '/segment?bytes=16M')],
            Part::Apcu->isHere() => ['near=apcu'],
            default => [],
        };
    }

    /** For people; '' where there is nothing. */
    public function nearName(): string
    {
        return Part::Segment->isHere() ? 'a segment of shared memory' : (Part::Apcu->isHere() ? 'APCu' : '');
    }

    public function diskName(): string
    {
        return Part::Sqlite->isHere() ? 'SQLite' : 'files';
    }

    /** The act's Redis, on a socket. It keeps its data when it is stopped in order. */
    public function redis(): RedisServer
    {
        return $this->redis ??= new RedisServer(save: true);
    }

    public function web(string $name, int $workers = 2): Web
    {
        return new Web($name, $this->directory, $workers);
    }

    /**
     * A second php.
     *
     * @param array<string, string|int|float> $parameters
     */
    public function php(string $script, string $dsn, array $parameters = []): Process
    {
        return $this->commandLine(__DIR__ . '/scripts/' . $script, [\http_build_query($parameters)], $dsn);
    }

    /** @param list<string> $arguments */
    private function commandLine(string $file, array $arguments, string $dsn): Process
    {
        return Process::php($file, $arguments, ['apc.enable_cli' => 0, 'larder.state' => $this->file('state')], ['LARDER_DSN' => $dsn]);
    }

    /**
     * A second php, run to its end.
     *
     * @param array<string, string|int|float> $parameters
     */
    public function ask(string $script, string $dsn, array $parameters = []): Answer
    {
        $process = $this->php($script, $dsn, $parameters);
        $process->closeInput();
        $json = $process->output(self::PATIENCE);
        $process->wait(self::PATIENCE);

        return Answer::parse($json, $process->errors());
    }

    /**
     * The real command line, with APCu off as PHP's default has it.
     *
     * @return array{int, string, string, float} exit status, output, errors, milliseconds of the whole process
     */
    public function larder(string $dsn, string ...$arguments): array
    {
        $start = \hrtime(true);
        $process = $this->commandLine(\dirname(__DIR__) . '/bin/larder', \array_values($arguments), $dsn);
        $process->closeInput();
        $output = \trim($process->output(self::PATIENCE));
        $status = $process->wait(self::PATIENCE);

        return [$status, $output, \trim($process->errors()), (\hrtime(true) - $start) / 1e6];
    }

    /**
     * Waits for something to become true.
     *
     * @param \Closure(): bool $condition
     */
    public function await(\Closure $condition): void
    {
        for ($end = \hrtime(true) + (int) (self::PATIENCE * 1e9); !$condition();) {
            if (\hrtime(true) > $end) {
                throw new \RuntimeException('what was waited for did not happen');
            }
            \usleep(2_000);
        }
    }

    public function clear(): void
    {
        $this->redis = null;
        $this->directory->remove();
    }

    public function held(): int
    {
        return $this->held;
    }

    public function failed(): int
    {
        return $this->failed;
    }

    public function skipped(): int
    {
        return $this->skipped;
    }
}
