<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Contracts\Foundation\Application;
use Larder\Config\Dsn;
use Larder\Config\InvalidConfiguration;
use Larder\Config\Options;
use Larder\System\Ownership;
use Larder\System\PrivateDirectory;
use Larder\System\WrongUser;

/** What config/larder.php and a store's own configuration say, as Cache::open(), Locks::open() and SessionHandler::over() take it. */
final readonly class Settings
{
    /** Of a store's configuration: these are Laravel's. */
    private const LARAVELS = ['driver', 'store', 'name', 'prefix', 'events', 'locks', 'dsn'];

    /**
     * Seconds to wait for other processes that write to the same files. Callers of increment() and put(), the rate limiter among
     * them, seldom look at the answer.
     */
    private const PATIENCE = 5.0;

    /** @param array<string, mixed> $options of Cache::open() */
    private function __construct(
        private string $storage,
        #[\SensitiveParameter]
        private ?string $dsn,
        #[\SensitiveParameter]
        public array $options,
        #[\SensitiveParameter]
        private ?string $locks,
        #[\SensitiveParameter]
        private ?string $sessions,
        public bool $sessionLock,
        /** Of the application's keys: what config/cache.php calls so. */
        public string $prefix,
    ) {}

    /** @param array<array-key, mixed> $store its configuration in config/cache.php */
    public static function of(Application $app, array $store = []): self
    {
        $config = $app->make('config');
        $common = $config->get('larder.options');
        $options = [];
        foreach (\array_diff_key($store, \array_flip(self::LARAVELS)) + (\is_array($common) ? $common : []) as $name => $value) {
            $options[(string) $name] = $value;
        }
        // Laravel's own word for it: null allows all.
        $classes = $config->get('cache.serializable_classes');
        $options += $classes === null ? [] : ['classes' => $classes];
        $prefix = $store['prefix'] ?? $config->get('cache.prefix');

        return new self(
            $app->storagePath(),
            self::text($store['dsn'] ?? $config->get('larder.dsn')),
            $options,
            self::text($store['locks'] ?? $config->get('larder.locks')),
            self::text($config->get('larder.sessions')),
            $config->get('larder.session_lock') === true,
            \is_string($prefix) ? $prefix : '',
        );
    }

    /**
     * For Cache::open(). Laravel's users expect the last put() to win, so the cache counts as one without a database behind it.
     *
     * @return array<string, mixed>
     */
    public function cache(): array
    {
        $dsn = $this->place($this->dsn, 'cache/larder');
        $isOfFiles = \preg_match('~^(sqlite|file):(?!.*[?&]timeout=)~', $dsn) === 1;

        return ['dsn' => $dsn] + $this->options + ($isOfFiles ? ['timeout' => self::PATIENCE] : []) + ['cacheOnly' => true];
    }

    /**
     * For Locks::open().
     *
     * @return array<string, mixed>
     */
    public function locks(): array
    {
        return $this->keeping('locks', $this->locks, 'cache/larder/locks', '/locks');
    }

    /**
     * For SessionHandler::over().
     *
     * @param int $minutes that a session lives after its last use
     *
     * @return array<string, mixed>
     */
    public function sessions(int $minutes): array
    {
        return $this->keeping('sessions', $this->sessions, 'sessions/larder', '/sessions') + ['ttl' => \max(1, $minutes) * 60, 'lock' => $this->sessionLock];
    }

    /** For bin/larder: the DSN with those options that can be written in one. */
    public function dsn(): string
    {
        $source = $this->cache();
        $dsn = $source['dsn'];
        \assert(\is_string($dsn));
        unset($source['dsn']);
        \is_array($source['classes'] ?? null) && $source['classes'] = \implode(',', \array_filter($source['classes'], \is_string(...))) ?: false;

        $secrets = \is_array($source['secret'] ?? null) ? ['secret' => Options::secrets($source['secret'])] : [];

        return Dsn::with($dsn, $secrets + \array_filter($source, \is_scalar(...)));
    }

    /**
     * Opens one of them.
     *
     * @template T
     *
     * @param \Closure(): T $open
     *
     * @return T
     *
     * @throws InvalidConfiguration also where everybody may write to storage/, with the command that mends all of it
     */
    public function open(\Closure $open): mixed
    {
        try {
            return $open();
        } catch (InvalidConfiguration $e) {
            if (Ownership::exposure("$this->storage/framework/cache/larder") === null || !\str_contains($e->getMessage(), $this->storage)) {
                throw $e;
            }
            $storage = WrongUser::quoted($this->storage);
            $isOurs = \fileowner($this->storage) === Ownership::user();
            $command = ($isOurs ? ': ' : ' as root: chown -R ' . WrongUser::quoted(Ownership::name(Ownership::user()) . ':') . " $storage && ") . "chmod -R o-w $storage";
            throw new InvalidConfiguration("Larder keeps its files below $storage, where every user can write: another directory could be put in their place. To fix it, type$command", 0, $e);
        }
    }

    /**
     * Where something lies that must not be forgotten.
     *
     * @param ?string $own    DSN in config/larder.php
     * @param string  $folder in storage/framework
     * @param string  $within the cache's directory
     *
     * @return array<string, mixed>
     *
     * @throws InvalidConfiguration|WrongUser
     */
    private function keeping(string $what, #[\SensitiveParameter] ?string $own, string $folder, string $within): array
    {
        if ($own !== null || $this->dsn === null) {
            return ['dsn' => $this->place($own, $folder)];
        }
        $dsn = Dsn::parse($this->dsn);
        if ($dsn->scheme === 'sqlite' && $dsn->path !== '') {
            return ['dsn' => self::sqlite($dsn->path . $within)];
        }
        if ($dsn->scheme === 'memcached') {
            throw new InvalidConfiguration("LARDER_DSN names Memcached, which may forget, and $what must not be forgotten. Name another place in config/larder.php, as '$what' => 'redis://127.0.0.1:6379/0'.");
        }
        if ($dsn->scheme === 'sqlite' || !\in_array($dsn->scheme, Dsn::KEEPING, true)) {
            // Of this machine alone, as that cache is.
            return ['dsn' => $this->place(null, $folder)];
        }
        // The cache's options are not theirs; these belong to the address.
        [$address, $options] = Dsn::split($this->dsn);

        return ['dsn' => Dsn::with($address, \array_intersect_key($options, ['db' => 0, 'sentinel_user' => 0, 'sentinel_password' => 0, 'cafile' => 0, 'peer_name' => 0]))] + \array_intersect_key($this->options, ['credentials' => true]);
    }

    /**
     * @param string $folder in storage/framework, where no DSN is given
     *
     * @throws WrongUser
     */
    private function place(#[\SensitiveParameter] ?string $dsn, string $folder): string
    {
        if ($dsn !== null) {
            return $dsn;
        }
        $directory = "$this->storage/framework/$folder";
        if (\PHP_SAPI === 'cli' && Ownership::user() === 0 && !\is_dir($directory)) {
            // Made by root it would be root's, and the web could not use it. In a container the owner may be a number without
            // an account, and all of the application root's.
            $owner = PrivateDirectory::owner($directory);
            if ($owner !== 0 && \function_exists('posix_getpwuid') && \posix_getpwuid($owner) !== false) {
                throw WrongUser::of(PrivateDirectory::nearest($directory), $owner);
            }
        }

        return self::sqlite($directory);
    }

    private static function sqlite(string $directory): string
    {
        return (\extension_loaded('pdo_sqlite') ? 'sqlite' : 'file') . '://' . \implode('/', \array_map(\rawurlencode(...), \explode('/', $directory)));
    }

    private static function text(mixed $value): ?string
    {
        return \is_string($value) && $value !== '' ? $value : null;
    }
}
