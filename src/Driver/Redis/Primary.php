<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

use Larder\System\Failure;
use Larder\System\Quiet;

/**
 * Finds the server that may be written to, where that changes: in a cluster, or behind Sentinel.
 *
 * It asks only on doubt: when no process on this server knows the address, or after the server there has failed, has refused a
 * command as a replica or has named another one. The answer is kept in a file, so that one process asks for all. A file that
 * cannot be written, or another user's, costs each request that question.
 *
 * A primary that was cut off may have acknowledged changes after another one had taken its place, and those are lost. So the
 * file's time is that of this server's last change. Who finds the primary elsewhere must begin anew there, unless what is
 * there began later: see since(). Only then the new address is kept, for other processes rely on it.
 */
abstract class Primary
{
    /** Seconds that each server has for its answer, at least. */
    private const LEAST = 0.02;

    /** Milliseconds by which the clocks of the servers may differ. */
    private const SKEW = 1_000;

    /** @var ?array{string, int} host and port; null: ask */
    private ?array $known = null;

    /** @var ?array{string, int} the address that was doubted last: a server that still names it may not have heard of another */
    private ?array $doubted = null;

    /** Whether the file lacks the known address. */
    private bool $isNew = false;

    /** Milliseconds of the wall clock when this process changed something there last; 0: never. */
    private int $changed = 0;

    /**
     * @param non-empty-list<array{string, int}> $servers that may be asked: host and port
     * @param ?string                            $file    in a private directory; null: none
     */
    public function __construct(protected readonly array $servers, private readonly ?string $file) {}

    /**
     * What a server is asked.
     *
     * @return non-empty-list<non-empty-list<string>> commands
     */
    abstract protected function question(): array;

    /**
     * What its replies say.
     *
     * @param list<mixed> $replies
     * @param string      $host    that was asked
     *
     * @return array{string, int}|string host and port of the primary, or why there is none
     */
    abstract protected function answer(array $replies, string $host): array|string;

    /** Credentials for those that are asked. */
    protected function asked(Endpoint $endpoint): Endpoint
    {
        return $endpoint;
    }

    /**
     * The primary's address, with everything else as in $endpoint.
     *
     * @param float                                                                               $seconds that it may take
     * @param \Closure(Endpoint, non-empty-list<non-empty-list<string>>): list<mixed> $ask     throws Failure
     *
     * @throws Failure
     */
    final public function find(Endpoint $endpoint, float $seconds, \Closure $ask): Endpoint
    {
        $this->known ??= $this->doubted === null ? $this->read() : null;
        if ($this->known !== null) {
            return $endpoint->at(...$this->known);
        }
        $servers = $this->servers;
        // None that hangs takes the time of every call.
        \shuffle($servers);
        $end = \hrtime(true) + $seconds * 1e9;
        $reason = '';
        $found = null;
        foreach ($servers as $i => [$host, $port]) {
            $left = ($end - \hrtime(true)) / 1e9 / (\count($servers) - $i);
            try {
                $answer = $this->answer($ask($this->asked($endpoint)->at($host, $port, \max(self::LEAST, $left)), $this->question()), $host);
            } catch (Failure $failure) {
                $answer = $failure->getMessage();
            }
            if (\is_array($answer)) {
                $found = $answer;
                if ($answer !== $this->doubted) {
                    break;
                }
            } else {
                $reason = $answer;
            }
        }
        if ($found !== null) {
            $this->moved(...$found);

            return $endpoint->at(...$found);
        }

        throw Failure::because('Redis', 'none of ' . $this->names() . ' tells where the primary is: ' . $reason);
    }

    /** The server at the known address may not be the primary any more: the next find() asks. */
    final public function doubt(): void
    {
        $this->doubted = $this->known ?? $this->doubted;
        $this->known = null;
    }

    /** A server has told where the primary is. */
    final public function moved(string $host, int $port): void
    {
        $this->known = [$host, $port];
        $this->isNew = true;
    }

    /** Milliseconds of the wall clock: what the primary has now counts only if it began later. 0: the primary is where it was. */
    final public function since(): int
    {
        if (!$this->isNew) {
            return 0;
        }
        // Where another process of this server has found it before, that one has seen to what the others had changed.
        $others = $this->read() === $this->known ? 0 : $this->time() * 1000 + 1_000;
        $last = \max($this->changed, $others);

        return $last === 0 ? 0 : $last + self::SKEW;
    }

    /** What the primary has now has been looked at, and begun anew where it must. */
    final public function settle(): void
    {
        if (!$this->isNew || $this->known === null) {
            return;
        }
        $this->isNew = false;
        $this->changed = 0;
        [$file, [$host, $port]] = [$this->file, $this->known];
        if ($file !== null) {
            // In one write(2): a reader finds this address, an older one, or nothing.
            $time = $this->time();
            Quiet::call(static fn(): bool => \touch($file, $time) && \chmod($file, 0o600) && \file_put_contents($file, "$host $port") !== false && \touch($file, $time));
        }
    }

    /** This process is about to change something. */
    final public function change(): void
    {
        $before = \intdiv($this->changed, 1000);
        $this->changed = (int) (\microtime(true) * 1000);
        $file = $this->file;
        if ($file !== null && \intdiv($this->changed, 1000) !== $before) {
            Quiet::call(static fn(): bool => \is_file($file) && \touch($file));
        }
    }

    /** The file's time, in seconds; 0: there is none. */
    private function time(): int
    {
        $file = $this->file;
        \clearstatcache();

        return $file !== null && \is_file($file) ? (int) Quiet::call(static fn(): int => (int) \filemtime($file)) : 0;
    }

    final public function names(): string
    {
        return \implode(', ', \array_map(static fn(array $server): string => "$server[0]:$server[1]", $this->servers));
    }

    /** @return ?array{string, int} */
    private function read(): ?array
    {
        $file = $this->file;
        if ($file === null || !\is_file($file)) {
            return null;
        }
        $text = Quiet::call(static fn(): string => (string) \file_get_contents($file));

        return \preg_match('/^(\S+) (\d{1,5})$/D', $text, $found) === 1 ? [$found[1], (int) $found[2]] : null;
    }
}
