<?php

declare(strict_types=1);

namespace Larder\Tests\Docs;

use Larder\Tests\Support\MemcachedServer;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\StrictEndpoint;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\After;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** Every example of the pages runs, without a warning, and gives what the page says. */
#[CoversNothing]
final class ExamplesTest extends TestCase
{
    private const PAGES = ['README.md', 'docs/php.md', 'docs/psr.md', 'docs/page-cache.md', 'docs/queue.md', 'docs/workers.md', 'docs/migrate.md', 'docs/choose.md'];

    private ?RedisServer $redis = null;
    private ?MemcachedServer $memcached = null;
    private ?TemporaryDirectory $shared = null;
    private ?StrictEndpoint $endpoint = null;

    #[After]
    protected function stop(): void
    {
        $this->redis?->stop();
        $this->memcached?->end();
        $this->redis = $this->memcached = $this->shared = $this->endpoint = null;
    }

    /** @return iterable<string, array{Example}> */
    public static function examples(): iterable
    {
        foreach (self::PAGES as $page) {
            foreach (Example::of($page) as $example) {
                yield $page . ' line ' . $example->line => [$example];
            }
        }
    }

    public function testEveryPageHasExamples(): void
    {
        foreach (self::PAGES as $page) {
            self::assertGreaterThan(3, \count(Example::of($page)), $page);
        }
    }

    #[DataProvider('examples')]
    public function testItRunsAndGivesWhatThePageSays(Example $example): void
    {
        $directory = new TemporaryDirectory();
        $places = ['/var/lib/app' => $directory->file('lib'), '/var/cache/app' => $directory->file('app'), '/dev/shm/app' => $directory->file('memory')];
        foreach ($example->needs as $need) {
            $places += $this->start($need);
        }
        $file = $directory->write('example.php', $example->script($places));
        $process = Process::php(__DIR__ . '/prelude.php', [$file], [], ['LARDER_DSN' => 'sqlite://' . $directory->file('default'), 'CACHE_TOKEN' => 'for a quarter of an hour', 'CACHE_SECRET' => \str_repeat('s', 32)]);
        $process->closeInput();
        $output = $process->output(60.0);
        self::assertSame([0, ''], [$process->wait(60.0), $process->errors()], $example->code);
        self::assertStringEndsWith("\nchecked " . $example->expectations() . "\n", $output);
    }

    /** @return array<string, string> what the pages call the server, to what it is here */
    private function start(string $need): array
    {
        if ($need === 'redis') {
            if (RedisServer::program() === null) {
                self::markTestSkipped('No redis-server: bin/setup installs it.');
            }
            $this->redis = new RedisServer();

            // A quarter of a second is little for a machine on which many tests run.
            $places = ['/run/redis.sock' => $this->redis->socket];
            foreach (['127.0.0.1:6379', '10.0.0.5:6379'] as $name) {
                $places += ["'far' => 'redis://$name" => "'timeout' => 5.0, 'far' => 'redis://127.0.0.1:{$this->redis->port}", "$name/0?" => "127.0.0.1:{$this->redis->port}/0?timeout=5&", "$name/0'" => "127.0.0.1:{$this->redis->port}/0?timeout=5'", $name => "127.0.0.1:{$this->redis->port}"];
            }

            return $places;
        }
        if ($need === 'ext') {
            if (!\extension_loaded('larder')) {
                self::markTestSkipped('No extension: make ext builds it.');
            }

            return ['/dev/shm/shop' => ($this->shared = new TemporaryDirectory(parent: '/dev/shm'))->path];
        }
        if ($need === 'endpoint') {
            RedisServer::demand();
            $this->redis = StrictEndpoint::server();
            // Whose password is any.
            $this->redis->command('ACL', 'SETUSER', 'user', 'on', 'nopass', '~*', '&*', '+@all');
            $this->endpoint = new StrictEndpoint($this->redis);

            return ['rediss+single://cache.example.org:6379' => \rtrim($this->endpoint->dsn(), '?')];
        }
        self::assertSame('memcached', $need, 'a page asks for a server that is not known here');
        if (!MemcachedServer::installed()) {
            self::markTestSkipped('No memcached: bin/setup installs it.');
        }
        $this->memcached = new MemcachedServer(tcp: true);

        return ['127.0.0.1:11211' => '127.0.0.1:' . $this->memcached->address[1]];
    }
}
