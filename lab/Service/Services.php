<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/**
 * All the servers that a lab can have, each started when it is first asked for, and one directory for them.
 *
 * They end with stopAll(), with this object, with the process by exit, exception or fatal error, and by the kernel
 * where it is killed; only signals are for the command to catch. What a killed lab leaves in the file system goes at
 * the next one's start. A forked child may use what runs; it neither starts nor stops anything.
 */
final class Services
{
    public const NAMES = ['redis', 'valkey', 'memcached-socket', 'memcached-tcp', 'redis@network', 'valkey@network', 'memcached@network'];

    private readonly int $owner;

    private ?Directory $directory = null;

    private ?Directory $memory = null;

    /** @var array<string, Service> */
    private array $services = [];

    /** @var array<string, string> */
    private array $versions = [];

    /** @param ?string $parent where the directory is made; the system's for temporary files by default */
    public function __construct(private readonly ?string $parent = null)
    {
        $this->owner = (int) \getmypid();
        // What stopAll() needs: a signal's handler that calls it may come while PHP loads one of them, which it does not begin again.
        foreach ([Signals::class, Silence::class, Command::class, Directory::class] as $class) {
            \class_exists($class);
        }
        $itself = \WeakReference::create($this);
        // A fatal error calls no destructors.
        \register_shutdown_function(static fn() => $itself->get()?->stopAll());
    }

    public function __destruct()
    {
        $this->stopAll();
    }

    /**
     * A server, running; or, if it has died since it was first asked for, as it is.
     *
     * @param string $name one of NAMES
     *
     * @throws ServiceFailure if it cannot be started
     */
    public function get(string $name): Service
    {
        if (isset($this->services[$name])) {
            return $this->services[$name];
        }
        if ($this->owner !== \getmypid()) {
            throw new ServiceFailure("$name is not running, and only the process that made the laboratory's servers starts one.");
        }
        $service = $this->make($name);
        // Before its start, so that a signal handler that stops everything stops it too.
        $this->services[$name] = $service;
        try {
            $service->start();
        } catch (ServiceFailure $failure) {
            unset($this->services[$name]);
            throw $failure;
        }
        $this->tell(...$service instanceof Network ? [$service->server, $service] : [$service]);

        return $service;
    }

    /** Notes their versions; also of what a task has started by itself. */
    public function tell(Service ...$services): void
    {
        foreach ($services as $service) {
            $this->note(...\explode(' ', $service->version() . ' ', 2));
        }
    }

    public function note(string $program, string $version): void
    {
        $this->versions[$program] = \trim($version);
    }

    /** @return array<string, string> "Redis" => "7.0.15", of those started; "Network" => what makes its delay */
    public function versions(): array
    {
        return $this->versions;
    }

    /** The lab's private directory, which goes with stopAll(); made when it is first asked for. */
    public function directory(): Directory
    {
        if ($this->directory === null) {
            // Between its making and this property's knowing of it a handler that ends the process would leave it.
            Signals::held(fn() => $this->directory = Directory::temporary($this->parent));
        }
        \assert($this->directory !== null);

        return $this->directory;
    }

    /**
     * A private directory in shared memory (tmpfs), for engines whose processes share a file; made when it is first
     * asked for, and gone with stopAll(). Where there is no /dev/shm it is the system's for temporary files.
     *
     * @throws ServiceFailure if it cannot be made
     */
    public function memory(): Directory
    {
        if ($this->memory === null) {
            if ($this->owner !== \getmypid()) {
                throw new ServiceFailure('There is no directory in shared memory yet, and only the process that made the laboratory\'s servers makes one.');
            }
            Signals::held(fn() => $this->memory = Directory::temporary(\is_dir('/dev/shm') && \is_writable('/dev/shm') ? '/dev/shm' : null));
        }
        \assert($this->memory !== null);

        return $this->memory;
    }

    /** May be called at any time, by a signal handler too, and more than once. */
    public function stopAll(): void
    {
        if ($this->owner !== \getmypid()) {
            return;
        }
        Signals::held(function (): void {
            foreach ($this->services as $service) {
                $service->stop();
            }
            $this->services = [];
            $this->directory?->remove();
            $this->memory?->remove();
            $this->directory = $this->memory = null;
        });
    }

    private function make(string $name): Service
    {
        $kind = \explode('@', $name)[0];
        if (!\in_array($name, self::NAMES, true)) {
            throw new \InvalidArgumentException("There is no service \"$name\". There are: " . \implode(', ', self::NAMES) . '.');
        }
        $directory = $this->directory();
        $server = \str_starts_with($kind, 'memcached') ? new MemcachedServer($directory, $kind === 'memcached-socket') : new RedisServer($directory, $kind);

        return $kind === $name ? $server : new Network($directory, $server);
    }
}
