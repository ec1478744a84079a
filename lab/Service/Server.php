<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

use Larder\Lab\Plan\Need;

/**
 * What all servers have in common: a directory, a free port, a program, and the wait until it answers.
 *
 * It answers when the process that answers is the one that was started: on a port that another has taken
 * meanwhile, that other one answers.
 */
abstract class Server implements Service
{
    /** @var non-empty-string the file that log() reads */
    protected const LOG = 'log';

    private const ATTEMPTS = 5;

    /** Its own; there from its start on. */
    protected Directory $home;

    private ?Program $program = null;
    private int $port = 0;
    private string $version = '';

    /** @var \Closure(): int */
    private readonly \Closure $ports;

    /**
     * @param Directory        $directory the lab's; the server gets one of its own in it
     * @param string           $name      short, in small letters; the name of its directory too
     * @param string           $command   the program, which has to be there
     * @param ?string          $package   the Debian package that has it; of the program's name by default
     * @param list<string>     $prefix    words before its command
     * @param ?\Closure(): int $ports     gives a port that is free; any by default
     * @param bool             $isMaster  whether it has workers, which only itself can end: killed, it would leave them behind
     */
    public function __construct(
        private readonly Directory $directory,
        private readonly string $name,
        private readonly string $command,
        private readonly ?string $package = null,
        private readonly array $prefix = [],
        ?\Closure $ports = null,
        private readonly bool $isMaster = false,
    ) {
        $this->ports = $ports ?? Place::freePort(...);
    }

    final public function start(): void
    {
        if ($this->isAlive()) {
            return;
        }
        $this->stop();
        for ($attempt = 1; ; $attempt++) {
            try {
                $this->launch(($this->ports)());

                return;
            } catch (ServiceFailure $failure) {
                $this->stop();
                if ($attempt === self::ATTEMPTS || \stripos($failure->getMessage(), 'already in use') === false) {
                    throw $failure;
                }
            }
        }
    }

    final public function stop(): void
    {
        if ($this->directory->isOwned()) {
            // In no time: nothing of theirs outlives them, and memcached takes a second to end in order.
            $this->program?->stop($this->isMaster ? 30.0 : 0.05);
            $this->program = null;
            isset($this->home) && $this->home->remove();
        }
    }

    final public function isAlive(): bool
    {
        return $this->program !== null && $this->program->isAlive();
    }

    final public function lastWords(): string
    {
        return $this->program?->lastWords() ?? '';
    }

    /** 0 if it does not run. */
    final public function pid(): int
    {
        return $this->program?->pid() ?? 0;
    }

    final public function pids(): array
    {
        return $this->program === null ? [] : [$this->program->pid()];
    }

    final public function address(): array
    {
        $this->port > 0 || throw new \LogicException($this->name . ' has no address before its start.');

        return $this->reachedBy($this->port);
    }

    /** What it said, or, of one with a log for that, complained of: warnings and worse. */
    final public function log(): string
    {
        return (string) Silence::of(fn(): string|false => \file_get_contents($this->home->file(static::LOG)));
    }

    /** Without a version before its first start. */
    final public function version(): string
    {
        return $this->version === '' ? \ucfirst($this->name) : $this->version;
    }

    /** @return list<string> the command's arguments */
    abstract protected function arguments(int $port): array;

    /** @return array<string, string|int> as address() */
    protected function reachedBy(int $port): array
    {
        return ['host' => '127.0.0.1', 'port' => $port];
    }

    /** To be sent to it, for an answer with its process id and its version, after which it closes the connection. */
    abstract protected function question(): string;

    /** @return ?array{int, string} process id, and name with version; null if that is no answer */
    abstract protected function understand(string $answer): ?array;

    private function launch(int $port): void
    {
        $file = Need::find([$this->command])
            ?? throw new ServiceFailure("There is no $this->command on this machine: apt-get install " . ($this->package ?? $this->command));
        // The one before, if any, was removed; there may be another of the kind, behind a network.
        $this->home = $this->directory->sub($this->name);
        $this->port = $port;
        // Kept twice: a signal handler that stops everything takes it away.
        $this->program = $program = new Program($this->command, [...$this->prefix, $file, ...$this->arguments($port)], $this->home->path, $this->isMaster ? \SIGTERM : \SIGKILL);
        $program->start();
        $program->await($this->answers(...));
    }

    private function answers(): bool
    {
        $address = $this->address();
        $found = $this->understand(Place::answer(
            isset($address['port']) ? "tcp://{$address['host']}:{$address['port']}" : "unix://{$address['socket']}",
            $this->question(),
        ));
        if ($found === null || $found[0] !== $this->pid()) {
            return false;
        }
        $this->version = $found[1];

        return true;
    }
}
