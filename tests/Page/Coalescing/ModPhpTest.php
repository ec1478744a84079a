<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Coalescing;

use Larder\Lab\Service\Account;
use Larder\Lab\Service\Place;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** PHP inside Apache: no response can be ended before its script, and the server's port is what the visitor says it is. */
#[CoversNothing]
#[Group('web')]
final class ModPhpTest extends TestCase
{
    private const MODULES = '/usr/lib/apache2/modules';

    private TemporaryDirectory $directory;
    private Process $apache;
    private int $port;

    protected function setUp(): void
    {
        $php = self::MODULES . '/libphp' . \PHP_MAJOR_VERSION . '.' . \PHP_MINOR_VERSION . '.so';
        if (!\is_file($php) || !\is_file(self::MODULES . '/mod_mpm_prefork.so')) {
            self::markTestSkipped('There is no mod_php.');
        }
        $this->directory = new TemporaryDirectory();
        $this->port = Place::freePort();
        $account = Account::ofServers();
        $path = $this->directory->path;
        $root = \dirname(__DIR__, 3);
        $this->directory->write('index.php', <<<PHP
            <?php
            // Not Composer's: not every library is readable for the account of web servers.
            spl_autoload_register(static fn(string \$class) => str_starts_with(\$class, 'Larder\\\\') && require '$root/src/' . strtr(substr(\$class, 7), '\\\\', '/') . '.php');
            isset(\$_GET['expire']) && exit((new Larder\\Page\\PageCache(Larder\\Cache::open('file://$path/store')))->expire('/') ? 'expired' : 'no');
            (new Larder\\Page\\PageCache(Larder\\Cache::open('file://$path/store')))->start();
            file_put_contents('$path/runs', '.', FILE_APPEND);
            header('Cache-Control: max-age=60, stale-while-revalidate=60');
            echo 'page ', filesize('$path/runs');
            PHP);
        $this->directory->write('apache.conf', <<<CONF
            ServerRoot /usr/lib/apache2/modules
            LoadModule mpm_prefork_module mod_mpm_prefork.so
            LoadModule authz_core_module mod_authz_core.so
            LoadModule dir_module mod_dir.so
            LoadModule mime_module mod_mime.so
            LoadModule php_module $php
            PidFile $path/pid
            Listen 127.0.0.1:$this->port
            ServerName shop.example:$this->port
            User $account->name
            Group #$account->group
            DocumentRoot $path
            DirectoryIndex index.php
            TypesConfig /etc/mime.types
            AddHandler application/x-httpd-php .php
            ErrorLog $path/error.log
            StartServers 3
            CONF);
        $account->receive($path);
        // In a group of its own: at its end it ends its group. With the extensions that PHP has here.
        $this->apache = new Process(['setsid', 'apache2', '-f', "$path/apache.conf", '-DFOREGROUND'], ['PHP_INI_SCAN_DIR' => \dirname(\trim(\explode(',', (string) \php_ini_scanned_files())[0]))]);
        for ($end = \hrtime(true) + 10_000_000_000; ($socket = @\stream_socket_client("tcp://127.0.0.1:$this->port")) === false; \usleep(10_000)) {
            self::assertLessThan($end, \hrtime(true), $this->apache->errors() . @\file_get_contents("$path/error.log"));
        }
        \fclose($socket);
    }

    protected function tearDown(): void
    {
        if (isset($this->apache)) {
            $this->apache->signal(\SIGTERM);
            Process::ends($this->apache->pid, 5.0);
            $this->apache->kill();
        }
    }

    public function testAStalePageIsRenewedByARequestToApache(): void
    {
        self::assertSame(['page 1', 'page 1'], [$this->get('shop.example'), $this->get('shop.example')]);
        self::assertSame('expired', $this->get('shop.example', '/?expire'));
        self::assertSame('page 1', $this->get('shop.example'));
        for ($end = \hrtime(true) + 10_000_000_000; ($page = $this->get('shop.example')) === 'page 1' && \hrtime(true) < $end; \usleep(5_000));
        self::assertSame('page 2', $page);
        self::assertSame(2, (int) \filesize($this->directory->file('runs')));
    }

    /** The port of the Host field is SERVER_PORT here: whoever sends it must not make the server knock at it. */
    public function testAVisitorDoesNotChooseThePortThatIsAsked(): void
    {
        $victim = \stream_socket_server('tcp://127.0.0.1:0');
        self::assertIsResource($victim);
        $host = 'shop.example:' . \explode(':', (string) \stream_socket_get_name($victim, false))[1];
        $this->get($host);
        self::assertSame('expired', $this->get('shop.example', '/?expire'));
        $this->get($host);
        $this->get($host);
        $waiting = [$victim];
        $none = null;
        self::assertSame(0, \stream_select($waiting, $none, $none, 0, 200_000));
    }

    private function get(string $host, string $target = '/'): string
    {
        $socket = \stream_socket_client("tcp://127.0.0.1:$this->port", $code, $message, 10.0);
        self::assertIsResource($socket, $message . $this->apache->errors() . @\file_get_contents($this->directory->file('error.log')));
        \fwrite($socket, "GET $target HTTP/1.1\r\nHost: $host\r\nConnection: close\r\n\r\n");
        $answer = (string) \stream_get_contents($socket);
        \fclose($socket);

        return \explode("\r\n\r\n", $answer, 2)[1] ?? $answer;
    }
}
