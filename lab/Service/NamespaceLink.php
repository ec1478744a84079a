<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

use Larder\Lab\Plan\Need;

/**
 * Two network namespaces joined by a pair of virtual Ethernet devices, each of which delays what it sends by netem.
 *
 * Nothing of the machine's own network is touched: both devices are made inside. Takes root, and a kernel with veth
 * (veth(4)) and sch_netem (tc-netem(8)).
 */
final class NamespaceLink implements Link
{
    /** TEST-NET-1, which nobody has (RFC 5737, section 3). */
    private const SERVER = '192.0.2.1';
    private const CLIENT = '192.0.2.2';

    private const HOME = '/run/netns';
    private const DEVICE = 'lab0';

    /** netem, with the delay and the rate of every Link. */
    public const NETEM = ['netem', 'delay', '250us', 'rate', '100mbit'];

    private readonly int $owner;

    /** @var list<string> names of namespaces, the server's first */
    private array $names = [];

    /** @param list<string> $discipline what sends the packets, as tc-qdisc(8) takes it */
    public function __construct(private readonly array $discipline = self::NETEM)
    {
        $this->owner = (int) \getmypid();
    }

    public function __destruct()
    {
        $this->close();
    }

    /** Removes the namespaces of labs that were killed. */
    public static function sweep(): void
    {
        if (\posix_geteuid() === 0 && \is_dir(self::HOME)) {
            foreach (\array_filter((array) \scandir(self::HOME), 'is_string') as $name) {
                if (Label::isLeftover($name)) {
                    Command::run(['ip', 'netns', 'delete', $name]);
                }
            }
        }
    }

    public function open(): Place
    {
        if (!$this->isOpen()) {
            $this->close();
            $this->make();
        }
        [$server, $client] = $this->names;

        return new Place(self::SERVER, self::inside($server), self::inside($client));
    }

    public function reach(array $server): array
    {
        return ['host' => (string) $server['host'], 'port' => (int) $server['port']];
    }

    public function close(): void
    {
        if ($this->owner !== \getmypid()) {
            return;
        }
        Signals::held(function (): void {
            foreach ($this->names as $name) {
                // Its device goes with it, and the device's other end.
                Command::run(['ip', 'netns', 'delete', $name]);
            }
            $this->names = [];
        });
    }

    public function isOpen(): bool
    {
        return $this->names !== [] && \array_filter($this->names, static fn(string $name): bool => !\file_exists(self::HOME . "/$name")) === [];
    }

    public function pids(): array
    {
        return [];
    }

    public function lastWords(): string
    {
        return $this->names === [] || $this->isOpen() ? '' : ' (a network namespace is gone)';
    }

    public function about(): string
    {
        return 'two network namespaces with tc ' . $this->discipline[0];
    }

    private function make(): void
    {
        \posix_geteuid() === 0 || throw new ServiceFailure('they need root');
        Signals::held(function (): void {
            $this->names = [Label::make('-server'), Label::make('-client')];
            [$server, $client] = $this->names;
            try {
                $this->run('ip', 'netns', 'add', $server);
                $this->run('ip', 'netns', 'add', $client);
                $this->run('ip', '-n', $server, 'link', 'add', self::DEVICE, 'type', 'veth', 'peer', 'name', self::DEVICE, 'netns', $client);
                foreach ([$server => self::SERVER, $client => self::CLIENT] as $name => $address) {
                    $this->run('ip', '-n', $name, 'address', 'add', "$address/30", 'dev', self::DEVICE);
                    $this->run('ip', '-n', $name, 'link', 'set', self::DEVICE, 'up');
                    $this->run('tc', '-n', $name, 'qdisc', 'add', 'dev', self::DEVICE, 'root', ...$this->discipline);
                }
            } catch (ServiceFailure $failure) {
                $this->close();
                throw $failure;
            }
        });
    }

    private function run(string ...$words): void
    {
        $words = \array_values($words);
        \assert($words !== []);
        Need::find([$words[0]]) !== null || throw new ServiceFailure("there is no $words[0]: apt-get install iproute2");
        $command = Command::run($words);
        if ($command->succeeded) {
            return;
        }
        throw new ServiceFailure(match (true) {
            \str_contains($command->errors, 'qdisc kind is unknown') => "the kernel knows no {$this->discipline[0]}",
            \str_contains($command->errors, 'Unknown device type') => 'the kernel knows no veth',
            \str_contains($command->errors, 'not permitted') => 'they are not permitted',
            default => "$words[0]: " . \strtok($command->errors, "\n"),
        });
    }

    /** @return non-empty-list<string> */
    private static function inside(string $name): array
    {
        return ['ip', 'netns', 'exec', $name];
    }
}
