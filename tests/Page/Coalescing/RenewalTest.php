<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Coalescing;

use Larder\Cache;
use Larder\Lab\Service\Account;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\NginxServer;
use Larder\Lab\Service\Place;
use Larder\Page\PageCache;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\Process;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** A stale page is renewed by a request to the own server, however that one listens, while all visitors get the stale one. */
#[CoversNothing]
#[Group('web')]
final class RenewalTest extends TestCase
{
    private const VISITORS = 200;

    private Directory $directory;
    private ?FpmServer $fpm = null;
    private ?NginxServer $nginx = null;

    protected function setUp(): void
    {
        $this->directory = Directory::temporary()->open();
    }

    protected function tearDown(): void
    {
        $this->nginx?->stop();
        $this->fpm?->stop();
        $this->directory->remove();
    }

    public function testNobodyWaitsForAnExpiredPage(): void
    {
        $address = $this->start('');
        self::assertSame('page 1', $this->get($address));
        $this->expire();
        $visitors = [];
        for ($visitor = 0; $visitor < self::VISITORS; $visitor++) {
            $visitors[] = $this->send($address);
        }
        foreach ($visitors as $visitor) {
            self::assertSame('page 1', $this->receive($visitor));
        }
        // All have been answered while the one renewal still waits for this.
        self::assertSame(2, $this->awaitRuns(2));
        \file_put_contents($this->directory->file('go'), '');
        self::assertSame('page 2', $this->awaitNew($address));
        self::assertSame(2, $this->runs());
    }

    /** @param string $listen what nginx listens to: ADDRESS and DIRECTORY are put in */
    #[TestWith(['listen ADDRESS;', 'tcp'])]
    #[TestWith(['listen ADDRESS ssl; ssl_certificate DIRECTORY/certificate; ssl_certificate_key DIRECTORY/key;', 'ssl'])]
    #[TestWith(['listen unix:DIRECTORY/nginx.socket;', 'unix'])]
    public function testARenewalWhereTheServerListens(string $listen, string $scheme): void
    {
        \file_put_contents($this->directory->file('go'), '');
        if ($scheme === 'ssl') {
            $key = \openssl_pkey_new(['private_key_bits' => 2048]);
            \assert($key !== false);
            $request = \openssl_csr_new(['commonName' => 'another name'], $key);
            \assert($request instanceof \OpenSSLCertificateSigningRequest);
            $certificate = \openssl_csr_sign($request, null, $key, 1);
            \assert($certificate !== false);
            \openssl_x509_export_to_file($certificate, $this->directory->file('certificate'));
            \openssl_pkey_export_to_file($key, $this->directory->file('key'));
        }
        $address = '127.0.0.1:' . Place::freePort();
        $this->start(\strtr($listen, ['ADDRESS' => $address, 'DIRECTORY' => $this->directory->path]));
        $address = $scheme === 'unix' ? 'unix://' . $this->directory->file('nginx.socket') : "$scheme://$address";
        self::assertSame('page 1', $this->get($address));
        $this->expire();
        self::assertSame('page 1', $this->get($address));
        // Nobody else asks: the page is renewed all the same.
        self::assertSame(2, $this->awaitRuns(2));
        self::assertSame('page 2', $this->awaitNew($address));
        self::assertSame(2, $this->runs());
    }

    /** A page that turns private while it is renewed is gone, and the cookie is nobody's. */
    public function testAPageThatTurnsPrivate(): void
    {
        \file_put_contents($this->directory->file('go'), '');
        $address = $this->start('');
        $this->get($address);
        \file_put_contents($this->directory->file('private'), '');
        $this->expire();
        self::assertSame('page 1', $this->get($address));
        self::assertSame(2, $this->awaitRuns(2));
        // Who asks between the run and its end gets the stale page once more, and another run renews it.
        self::assertNotSame('page 2', $this->awaitNew($address));
        self::assertStringContainsString('session=', $this->answer($this->send($address)));
    }

    /** What listens where the server says it does is another one, or nobody: the next visitor renews the page himself. */
    #[TestWith(['another'])]
    #[TestWith(['nobody'])]
    public function testAServerThatCannotBeAsked(string $who): void
    {
        \file_put_contents($this->directory->file('go'), '');
        $port = Place::freePort();
        $address = '127.0.0.1:' . Place::freePort();
        $this->start("listen $address; fastcgi_param SERVER_PORT $port;", $who === 'another' ? ["server { listen 127.0.0.1:$port; return 200 another; }"] : []);
        self::assertSame('page 1', $this->get("tcp://$address"));
        $this->expire();
        self::assertSame('page 1', $this->get("tcp://$address"));
        self::assertSame('page 2', $this->awaitNew("tcp://$address"));
        self::assertSame(2, $this->runs());
    }

    /** PHP's own server has one process, which renews when it has answered. */
    public function testPhpsOwnServer(): void
    {
        \file_put_contents($this->directory->file('go'), '');
        $port = Place::freePort();
        \file_put_contents($this->directory->file('index.php'), '<?php require ' . \var_export(\dirname(__DIR__, 3) . '/vendor/autoload.php', true) . ';' . $this->code());
        $server = new Process([\PHP_BINARY, '-d', 'display_errors=0', '-S', "127.0.0.1:$port", '-t', $this->directory->path, $this->directory->file('index.php')]);
        for ($end = \hrtime(true) + 10_000_000_000; \hrtime(true) < $end && ($socket = @\stream_socket_client("tcp://127.0.0.1:$port")) === false; \usleep(10_000));
        isset($socket) && \is_resource($socket) && \fclose($socket);
        $address = "tcp://127.0.0.1:$port";
        self::assertSame('page 1', $this->get($address));
        $this->expire();
        self::assertSame('page 1', $this->get($address));
        self::assertSame(2, $this->awaitRuns(2));
        self::assertSame('page 2', $this->awaitNew($address));
        $server->kill();
    }

    /** @param list<string> $http */
    private function start(string $server, array $http = []): string
    {
        if (!FpmServer::isAvailable()) {
            self::markTestSkipped('There is no php-fpm.');
        }
        $this->fpm = new FpmServer(16, ini: ['display_errors' => 0]);
        $script = $this->fpm->script('index.php', $this->code());
        $blocks = $server === '' ? [] : ["server { root /; $server location / { include /etc/nginx/fastcgi_params; fastcgi_param HTTP_HOST \$http_host; fastcgi_param SCRIPT_FILENAME $script; fastcgi_pass unix:{$this->fpm->socket}; } }"];
        \preg_match('/fastcgi_param SERVER_PORT (\d+);/', $server, $port);
        if (isset($port[1])) {
            $blocks = [\str_replace(["fastcgi_param SERVER_PORT $port[1];", 'fastcgi_param HTTP_HOST'], ['', "fastcgi_param SERVER_PORT $port[1]; fastcgi_param HTTP_HOST"], $blocks[0])];
        }
        $this->nginx = new NginxServer($this->directory, Account::own(), \dirname($script), $this->fpm->socket, [], [...$blocks, ...$http]);
        $this->nginx->start();

        return 'tcp://' . \implode(':', $this->nginx->address());
    }

    private function dsn(): string
    {
        return 'sqlite://' . $this->directory->file('store');
    }

    private function code(): string
    {
        [$dsn, $directory] = \array_map(static fn(string $value): string => \var_export($value, true), [$this->dsn(), $this->directory->path]);

        return <<<PHP

            (new Larder\\Page\\PageCache(Larder\\Cache::open($dsn)))->start();
            \$directory = $directory;
            file_put_contents("\$directory/runs", '.', FILE_APPEND);
            clearstatcache();
            \$runs = filesize("\$directory/runs");
            header('Cache-Control: max-age=60, stale-while-revalidate=60');
            while (\$runs > 1 && !file_exists("\$directory/go")) { usleep(2_000); clearstatcache(); }
            file_exists("\$directory/private") && setcookie('session', (string) \$runs);
            echo "page \$runs";
            PHP;
    }

    private function expire(): void
    {
        self::assertTrue((new PageCache(Cache::open($this->dsn())))->expire('/'));
    }

    private function runs(): int
    {
        \clearstatcache();

        return (int) \filesize($this->directory->file('runs'));
    }

    private function awaitRuns(int $runs): int
    {
        for ($end = \hrtime(true) + 10_000_000_000; $this->runs() < $runs && \hrtime(true) < $end; \usleep(5_000));

        return $this->runs();
    }

    /** The first answer that is not the first page. */
    private function awaitNew(string $address): string
    {
        for ($end = \hrtime(true) + 10_000_000_000; ($page = $this->get($address)) === 'page 1' && \hrtime(true) < $end; \usleep(5_000));

        return $page;
    }

    private function get(string $address): string
    {
        return $this->receive($this->send($address));
    }

    /** @return resource */
    private function send(string $address)
    {
        $context = \stream_context_create(['ssl' => ['verify_peer' => false, 'verify_peer_name' => false]]);
        $socket = \stream_socket_client($address, $code, $message, 30.0, \STREAM_CLIENT_CONNECT, $context);
        self::assertIsResource($socket);
        \fwrite($socket, "GET / HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n");

        return $socket;
    }

    /** @param resource $socket */
    private function answer($socket): string
    {
        \stream_set_timeout($socket, 30);
        $answer = (string) \stream_get_contents($socket);
        \fclose($socket);

        return $answer;
    }

    /** @param resource $socket */
    private function receive($socket): string
    {
        $answer = $this->answer($socket);

        return \preg_match('/page \d+/', $answer, $page) === 1 ? $page[0] : $answer;
    }
}
