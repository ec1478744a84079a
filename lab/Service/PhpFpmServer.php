<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

use Larder\Lab\Plan\Need;

/** A php-fpm master of the running PHP's version, with one pool of a fixed number of workers, on a unix socket. */
final class PhpFpmServer extends Server
{
    protected const LOG = 'error.log';

    // Of the FastCGI Specification 1.0, section 8.
    private const BEGIN_REQUEST = 1;
    private const PARAMS = 4;
    private const STDIN = 5;
    private const STDOUT = 6;

    /** Seconds: valgrind makes a request last long. */
    private const PATIENCE = 60.0;

    /**
     * @param int<1, max>                     $workers
     * @param array<string, string|int|float> $ini     also settings that only count when PHP starts
     * @param int                             $grace   seconds that requests under way have at a reload
     *                                                 (process_control_timeout)
     * @param list<string>                    $prefix  words before its command
     * @param list<string>                    $pool    further lines of the pool's configuration
     */
    public function __construct(
        Directory $directory,
        private readonly Account $account,
        private readonly int $workers = 4,
        private readonly array $ini = [],
        private readonly int $grace = 1,
        array $prefix = [],
        private readonly array $pool = [],
    ) {
        $versioned = \sprintf('php-fpm%d.%d', \PHP_MAJOR_VERSION, \PHP_MINOR_VERSION);
        parent::__construct($directory, 'php-fpm', Need::find([$versioned]) === null ? 'php-fpm' : $versioned, $versioned, $prefix, isMaster: true);
    }

    public function socket(): string
    {
        return $this->home->socket('socket');
    }

    /**
     * The workers' process ids (proc(5)).
     *
     * @return list<int>
     */
    public function workers(): array
    {
        return \array_slice(Processes::of($this->pid()), 1);
    }

    /** What `systemctl reload php-fpm` does: the master starts itself anew, with new workers and new shared memory. */
    public function reload(): void
    {
        $old = $this->workers();
        \posix_kill($this->pid(), \SIGUSR2);
        $this->awaitOthers($old);
    }

    /**
     * Waits until there are as many workers as there shall be, and none of these.
     *
     * @param list<int> $old
     */
    public function awaitOthers(array $old): void
    {
        for ($end = \hrtime(true) + 30_000_000_000; \count($now = $this->workers()) !== $this->workers || \array_intersect($old, $now) !== [];) {
            $this->isAlive() && \hrtime(true) < $end || throw new ServiceFailure('php-fpm has no new workers' . $this->lastWords());
            \usleep(2_000);
        }
    }

    protected function arguments(int $port): array
    {
        $this->home->open();
        $root = \posix_geteuid() === 0;
        \file_put_contents($this->home->file('fpm.conf'), \implode("\n", [
            '[global]',
            'error_log = ' . $this->home->file('error.log'),
            'log_level = warning',
            'daemonize = no',
            "process_control_timeout = $this->grace",
            '[lab]',
            'listen = ' . $this->socket(),
            'listen.mode = 0600',
            'listen.backlog = 511',
            ...($root ? ["user = {$this->account->name}", "group = {$this->account->group}", "listen.owner = {$this->account->name}"] : []),
            'pm = static',
            "pm.max_children = $this->workers",
            'clear_env = no',
            'catch_workers_output = yes',
            'decorate_workers_output = no',
            ...$this->pool,
            '',
        ]));
        \file_put_contents($this->script(), '<?php echo "PHP-FPM ", PHP_VERSION, " of ", posix_getppid(), ".";');
        $settings = [];
        foreach ($this->ini + ['error_reporting' => \E_ALL] as $name => $value) {
            \array_push($settings, '-d', "$name=$value");
        }

        return ['--nodaemonize', '--fpm-config', $this->home->file('fpm.conf'), ...($root ? ['--allow-to-run-as-root'] : []), ...$settings];
    }

    protected function reachedBy(int $port): array
    {
        return ['socket' => $this->socket()];
    }

    /**
     * The whole answer of a script, by a connection of its own, however long it takes.
     *
     * @throws ServiceFailure
     */
    public function request(string $script): string
    {
        $message = '';
        $socket = Silence::of(fn() => \stream_socket_client('unix://' . $this->socket(), timeout: self::PATIENCE), $message);
        $socket !== false || throw new ServiceFailure("php-fpm does not answer: $message");
        \stream_set_timeout($socket, (int) self::PATIENCE);
        \fwrite($socket, self::packets($script));
        $answer = (string) \stream_get_contents($socket);
        $out = '';
        while (\strlen($answer) >= 8) {
            $length = \ord($answer[4]) << 8 | \ord($answer[5]);
            $out .= \ord($answer[1]) === self::STDOUT ? \substr($answer, 8, $length) : '';
            $answer = \substr($answer, 8 + $length + \ord($answer[6]));
        }

        return \explode("\r\n\r\n", $out, 2)[1] ?? throw new ServiceFailure('php-fpm gives no answer' . $this->lastWords());
    }

    protected function question(): string
    {
        return self::packets($this->script());
    }

    /** A FastCGI request (sections 3 and 5) for a script; the connection is not kept. */
    private static function packets(string $script): string
    {
        $pairs = '';
        foreach (['REQUEST_METHOD' => 'GET', 'SCRIPT_NAME' => '/' . \basename($script), 'SCRIPT_FILENAME' => $script] as $name => $value) {
            $pairs .= \pack('NN', \strlen($name) | 0x8000_0000, \strlen($value) | 0x8000_0000) . $name . $value;
        }
        $packets = '';
        foreach ([[self::BEGIN_REQUEST, \pack('nCx5', 1, 0)], [self::PARAMS, $pairs], [self::PARAMS, ''], [self::STDIN, '']] as [$type, $content]) {
            $packets .= \pack('CCnnxx', 1, $type, 1, \strlen($content)) . $content;
        }

        return $packets;
    }

    protected function understand(string $answer): ?array
    {
        return \preg_match('/(PHP-FPM \S+) of (\d+)\./', $answer, $found) === 1 ? [(int) $found[2], $found[1]] : null;
    }

    private function script(): string
    {
        return $this->home->file('version.php');
    }
}
