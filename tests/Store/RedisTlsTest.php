<?php

declare(strict_types=1);

namespace Larder\Tests\Store;

use Larder\Cache;
use Larder\Counter;
use Larder\Counter\CounterFailure;
use Larder\Driver\Redis\Endpoint;
use Larder\Lab\Service\Place;
use Larder\Lab\Service\Program;
use Larder\Tests\Support\Certificate;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\StrictEndpoint;
use Larder\Tests\Support\TemporaryDirectory;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use Psr\Log\NullLogger;

/** A server that speaks TLS, by a certificate for redis.internal, whose authority PHP does not know. */
#[CoversClass(Endpoint::class)]
#[Group('slow')]
final class RedisTlsTest extends TestCase
{
    private const NAME = 'redis.internal';

    private TemporaryDirectory $directory;
    private RedisServer $server;
    private ?Program $sentinel = null;

    private int $port;

    private string $authority;

    private static ?string $certificate = null;

    /** @var array<string, string> the server's directives */
    private array $tls;

    protected function setUp(): void
    {
        RedisServer::demand();
        $this->directory = new TemporaryDirectory('larder-tls');
        $this->authority = $this->directory->write('ca.pem', self::$certificate ??= Certificate::for(self::NAME, $this->directory));
        $this->port = Place::freePort();
        $this->tls = ['tls-cert-file' => $this->authority, 'tls-key-file' => $this->authority, 'tls-ca-cert-file' => $this->authority, 'tls-auth-clients' => 'no'];
        $this->server = new RedisServer(config: $this->tls + ['tls-port' => (string) $this->port, 'requirepass' => 'secret']);
    }

    protected function tearDown(): void
    {
        $this->sentinel?->stop();
    }

    /** @return iterable<string, array{string}> */
    public static function schemes(): iterable
    {
        foreach (['rediss', 'predis+tls', 'rediss+single', 'rediss+cluster', 'rediss+sentinel'] as $scheme) {
            yield $scheme => [$scheme];
        }
    }

    #[DataProvider('schemes')]
    public function testWhoNamesAuthorityAndNameIsServed(string $scheme): void
    {
        $address = $this->address($scheme);
        $dsn = "$address?cafile=$this->authority&peer_name=" . self::NAME . $this->further($scheme);
        self::assertTrue(Cache::open(['dsn' => $dsn, 'timeout' => 2.0])->set('k', 'v'));
        self::assertSame('v', Cache::open(['dsn' => $dsn, 'timeout' => 2.0])->get('k'));
        self::assertSame(1, Counter::open($dsn, 'c')->add());
    }

    /**
     * PHP ends the TLS session when a forked child ends, though the child has not used it.
     *
     * Seen to fail: no set after such a child arrived, and for two seconds the server was not asked again.
     */
    #[DataProvider('schemes')]
    public function testAForkedChildThatEndsBreaksNoCallOfItsParent(string $scheme): void
    {
        $dsn = $this->address($scheme) . "?cafile=$this->authority&peer_name=" . self::NAME . $this->further($scheme);
        for ($round = 1; $round <= 3; $round++) {
            $script = new Process([\PHP_BINARY, '-r', <<<'PHP'
                require $argv[1];
                $cache = Larder\Cache::open(['dsn' => $argv[2], 'timeout' => 2.0]);
                $counter = Larder\Counter::open($argv[2], 'forked');
                $done = [];
                foreach (['idle', 'using', 'idle'] as $child) {
                    $cache->set('before', 1);
                    $counter->add();
                    $pid = pcntl_fork();
                    if ($pid === 0) {
                        $child === 'using' && $cache->set('by the child', 1);
                        exit(0);
                    }
                    pcntl_waitpid($pid, $status);
                    $done[] = [$cache->set('after', $child), in_array($cache->get('after'), $argv[3] === 'new' ? [$child, null] : [$child], true), $cache->add("new $child " . hrtime(true), 1), $counter->add() > 0];
                }
                echo json_encode($done);
                PHP, \dirname(__DIR__, 2) . '/vendor/autoload.php', $dsn, \in_array($scheme, ['rediss+cluster', 'rediss+sentinel'], true) ? 'new' : 'same']);
            // Of a cluster and of Sentinel a new connection may be to a server that has lost changes: what is older counts as lost.
            self::assertSame('[[true,true,true,true],[true,true,true,true],[true,true,true,true]]', $script->output(), $script->errors());
            $script->wait();
        }
    }

    /** For another name, for the host where no name is given, and by an authority that PHP does not know. */
    #[DataProvider('schemes')]
    public function testACertificateThatIsNotValidIsRefused(string $scheme): void
    {
        $address = $this->address($scheme);
        foreach (["cafile=$this->authority&peer_name=other.example" => 'other.example', "cafile=$this->authority" => '127.0.0.1', 'peer_name=' . self::NAME => self::NAME] as $query => $named) {
            $dsn = "$address?$query" . $this->further($scheme);
            self::assertFalse(Cache::open(['dsn' => $dsn, 'logger' => new NullLogger()])->set('k', 'v'));
            try {
                Counter::open($dsn, 'c')->add();
                self::fail('It counts.');
            } catch (CounterFailure $e) {
                self::assertStringContainsString("is its certificate valid for $named?", $e->getMessage());
                self::assertStringNotContainsString('secret', $e->getMessage());
            }
        }
    }

    private function further(string $scheme): string
    {
        return $scheme === 'rediss+sentinel' ? '&sentinel_password=secret' : '';
    }

    private function address(string $scheme): string
    {
        if ($scheme === 'rediss+sentinel') {
            return "$scheme://:secret@127.0.0.1:{$this->sentinel()}/shop";
        }
        if ($scheme === 'rediss+single' || $scheme === 'rediss+cluster') {
            // A cluster of one.
            $this->port = Place::freePort();
            $this->server = StrictEndpoint::server($this->tls + ['tls-port' => (string) $this->port, 'tls-cluster' => 'yes', 'requirepass' => 'secret']);
        }

        return "$scheme://:secret@127.0.0.1:$this->port";
    }

    private function sentinel(): int
    {
        $port = Place::freePort();
        $lines = ['port 0', "tls-port $port", 'bind 127.0.0.1', "dir {$this->directory->path}", 'tls-replication yes', 'requirepass secret', "sentinel monitor shop 127.0.0.1 $this->port 1", 'sentinel auth-pass shop secret'];
        foreach ($this->tls as $name => $value) {
            $lines[] = "$name $value";
        }
        $file = $this->directory->write('sentinel.conf', \implode("\n", $lines) . "\n");
        $this->sentinel = new Program('sentinel', [(string) RedisServer::program(), $file, '--sentinel'], $this->directory->path);
        $this->sentinel->start();
        Wait::until(static fn(): bool => @\stream_socket_client("tcp://127.0.0.1:$port") !== false, 'the sentinel');

        return $port;
    }
}
