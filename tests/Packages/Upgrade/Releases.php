<?php

declare(strict_types=1);

namespace Larder\Tests\Packages\Upgrade;

use Larder\Tests\Support\FastCgi;
use Larder\Tests\Support\FastCgiResponse;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Assert;

/**
 * Web servers in the middle of an update: each runs requests of two releases, which share all that a server's processes
 * share: directories, APCu, the segment.
 */
final class Releases
{
    /** The release before this one. */
    public const OLD = 'old';

    /** What is checked out. */
    public const NEW = 'new';

    /** Workers of each server, which is how many requests run at once. */
    public const WORKERS = 4;

    /** See Store\Sqlite\Schema::isCurrent(). */
    private const REFUSAL = ', this Larder knows ';

    private static ?PreviousRelease $previous = null;

    /** @var array<string, list<FpmServer>> by release; one and the same for both, or one for each that share a machine */
    private array $servers = [];
    private readonly TemporaryDirectory $directory;

    /** @param bool $haveExtensions whether each release has the extension of its own, in a php-fpm of its own */
    public function __construct(int $servers = 1, bool $haveExtensions = false)
    {
        Assert::assertTrue(FpmServer::isAvailable(), 'There is no php-fpm of this PHP version: bin/setup installs it.');
        $previous = self::$previous ??= new PreviousRelease(self::root(self::NEW));
        $this->directory = new TemporaryDirectory('larder-up');
        for ($i = 0; $i < $servers; $i++) {
            // Whoever complains has written it before his request ends. Each server has a state directory and a segment of its own.
            $start = fn(): FpmServer => new FpmServer(self::WORKERS, ini: ['error_log' => $this->directory->file('complaints'), 'larder.state' => $this->directory->file("state$i-%u"), 'larder.segment' => "/dev/shm/{$this->name()}-$i/segment"]);
            $this->servers[self::NEW][] = $start();
            $this->servers[self::OLD][] = $haveExtensions ? $this->withExtension($previous->extension(), $start) : $this->servers[self::NEW][$i];
        }
        foreach ([self::OLD, self::NEW] as $release) {
            $this->directory->write("$release.php", "<?php\nrequire " . \var_export(self::autoload($release), true) . ";\n" . <<<'PHP'
                [$code, $a] = unserialize(file_get_contents('php://input'));
                try {
                    $result = eval($code);
                } catch (Throwable $failure) {
                    $result = $failure::class . ': ' . $failure->getMessage();
                }
                echo serialize([(new ReflectionClass(Larder\Cache::class))->getFileName(), $result]);
                PHP);
        }
    }

    public function __destruct()
    {
        foreach (\array_merge(...\array_values($this->servers)) as $server) {
            $server->stop();
        }
        foreach (\array_keys($this->servers[self::NEW]) as $i) {
            TemporaryDirectory::clear("/dev/shm/{$this->name()}-$i");
        }
    }

    /**
     * Starts a server with another build of the extension than what PHP_INI_SCAN_DIR names (ext/with).
     *
     * @param \Closure(): FpmServer $start
     */
    private function withExtension(string $module, \Closure $start): FpmServer
    {
        $before = (string) \getenv('PHP_INI_SCAN_DIR');
        $others = \array_filter(\explode(':', $before), static fn(string $directory): bool => !\is_file("$directory/larder.ini") || !\str_contains((string) \file_get_contents("$directory/larder.ini"), 'extension='));
        $own = $this->directory->file('settings');
        \is_dir($own) || \mkdir($own);
        \file_put_contents("$own/larder.ini", "extension=\"$module\"\n");
        \putenv('PHP_INI_SCAN_DIR=' . \implode(':', [...$others, $own]));
        try {
            $server = $start();
        } finally {
            \putenv("PHP_INI_SCAN_DIR=$before");
        }
        $loaded = $server->request($server->script('loaded.php', '<?php echo file_get_contents("/proc/self/maps");'))->body;
        Assert::assertSame([$module], \array_values(\array_unique(\preg_match_all('~/\S+/larder\.so~', $loaded, $found) > 0 ? $found[0] : [])));

        return $server;
    }

    private function name(): string
    {
        return \basename($this->directory->path);
    }

    public static function forget(): void
    {
        self::$previous = null;
    }

    public static function root(string $release): string
    {
        return $release === self::NEW ? \dirname(__DIR__, 3) : (self::$previous?->root() ?? throw new \LogicException('It is not unpacked.'));
    }

    public static function autoload(string $release): string
    {
        return self::root($release) . ($release === self::NEW ? '/vendor/autoload.php' : '/autoload.php');
    }

    public static function other(string $release): string
    {
        return $release === self::NEW ? self::OLD : self::NEW;
    }

    /** A file that all servers can reach. */
    public function file(string $name): string
    {
        return $this->directory->file($name);
    }

    /**
     * What PHP code returns in a request of a release.
     *
     * @param mixed $a what the code has as $a
     */
    public function run(string $release, string $code, mixed $a = null, int $server = 0): mixed
    {
        $connection = $this->begin($release, $code, $a, $server);
        try {
            return $this->end($release, $connection);
        } finally {
            $connection->close();
        }
    }

    /** A request that has begun. */
    public function begin(string $release, string $code, mixed $a = null, int $server = 0): FastCgi
    {
        $connection = $this->servers[$release][$server]->connect();
        $connection->send($this->file("$release.php"), [], \serialize([$code, $a]));

        return $connection;
    }

    public function end(string $release, FastCgi $request): mixed
    {
        $answer = $request->receive();
        $result = \str_starts_with($answer->body, 'a:2:') ? \unserialize($answer->body) : null;
        Assert::assertIsArray($result, "$answer->body\n$answer->errors");
        Assert::assertIsString($result[0]);
        Assert::assertStringStartsWith(self::root($release) . '/', $result[0], 'that release has answered');

        return $result[1];
    }

    /**
     * The answer to a visit of a script.
     *
     * @param array<string, string> $parameters further ones of the web server
     */
    public function visit(string $script, string $path, int $server, array $parameters): FastCgiResponse
    {
        $connection = $this->servers[self::NEW][$server]->connect();
        try {
            return $connection->request($script, parameters: $parameters + ['HTTP_HOST' => 'example.org', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => $path]);
        } finally {
            $connection->close();
        }
    }

    /** A process of the command line that lives on. */
    public function process(string $release, string $code): Process
    {
        return Process::php($this->directory->write("$release-process.php", '<?php require ' . \var_export(self::autoload($release), true) . ";\n$code"));
    }

    /** Whether a release leaves a newer one's store alone, and says so: it goes on without the store. */
    public function isRefused(string $release): bool
    {
        return $release === self::OLD && \str_contains($this->log(), self::REFUSAL);
    }

    /** What Larder or PHP complained of, but for a newer release's store. */
    public function complaints(): string
    {
        return \implode("\n", \array_filter(\explode("\n", $this->log()), static fn(string $line): bool => $line !== '' && !\str_contains($line, self::REFUSAL)));
    }

    private function log(): string
    {
        $file = $this->directory->file('complaints');

        return (\is_file($file) ? (string) \file_get_contents($file) : '') . \implode("\n", \array_map(static fn(FpmServer $server): string => $server->log(), \array_merge(...\array_values($this->servers))));
    }
}
