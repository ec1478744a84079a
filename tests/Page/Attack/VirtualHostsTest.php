<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Attack;

use Larder\Lab\Service\Account;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\NginxServer;
use Larder\Lab\Service\PhpFpmServer;
use Larder\Page\PageCache;
use Larder\Tests\Page\Files\Site;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** Two sites of one nginx share a cache and a directory of files. Each page says which site made it. */
#[CoversNothing]
#[Group('web')]
final class VirtualHostsTest extends TestCase
{
    private Directory $directory;
    private PhpFpmServer $fpm;
    private NginxServer $nginx;
    private string $store;

    protected function setUp(): void
    {
        $this->directory = Directory::temporary()->open();
        $this->store = 'sqlite://' . $this->directory->file('store');
        $root = $this->directory->sub('www')->open();
        \chmod($root->path, 0o755);
        $static = $this->directory->file('static');
        $larder = \dirname(__DIR__, 3);
        \file_put_contents($root->file('index.php'), \strtr(<<<'PHP'
            <?php
            require 'LARDER/larder-serve.php';
            require 'LARDER/vendor/autoload.php';
            (new Larder\Page\PageCache(Larder\Cache::open(STORE), ['ttl' => 60, 'static' => STATIC]))->start();
            header('Content-Type: text/html; charset=utf-8');
            echo $_SERVER['SITE'];
            PHP, ['LARDER' => $larder, 'STORE' => \var_export($this->store, true), 'STATIC' => \var_export($static, true)]));
        $this->fpm = new PhpFpmServer($this->directory, Account::own(), 2, ['display_errors' => 0]);
        $this->fpm->start();
        \chmod($this->fpm->socket(), 0o666);
        \chmod(\dirname($this->fpm->socket()), 0o711);
        // As many have it in their own configurations.
        $site = static fn(string $name): string => Site::printed('nginx', $root->path, $static) . "\nlocation @php {\n{php}\nfastcgi_param HTTP_HOST \$http_host;\nfastcgi_param SITE $name;\nfastcgi_param SCRIPT_FILENAME $root->path/index.php;\n}\n";
        $others = "server {\nlisten 127.0.0.1:{port};\nserver_name other.test *.wild.test;\n{$site('other')}}\n";
        $this->nginx = new NginxServer($this->directory, Account::ofServers(), $root->path, $this->fpm->socket(), [], [$others], $site('first'));
        $this->nginx->start();
    }

    protected function tearDown(): void
    {
        $this->nginx->stop();
        $this->fpm->stop();
        foreach (\glob('/dev/shm/larder-serve-' . \posix_geteuid() . '-*/constants.php') ?: [] as $file) {
            if (\str_contains((string) \file_get_contents($file), $this->directory->path)) {
                \array_map(\unlink(...), \glob(\dirname($file) . '/*') ?: []);
                \rmdir(\dirname($file));
            }
        }
        $this->directory->remove();
    }

    /** nginx goes by the target's host, and tells PHP the field's. */
    public function testAnAbsoluteTargetPutsNoSitesPageInAnothersPlace(): void
    {
        foreach (['127.0.0.1' => 'first', 'other.test' => 'other', 'a.wild.test' => 'other'] as $host => $site) {
            foreach (['127.0.0.1', 'other.test', 'a.wild.test', '127.0.0.1', 'other.test', 'a.wild.test'] as $target) {
                $expected = $target === '127.0.0.1' ? 'first' : 'other';
                self::assertStringEndsWith("\r\n\r\n$expected", $this->ask("http://$target/$site", $host), "target $target, Host $host");
            }
            for ($time = 0; $time < 3; $time++) {
                self::assertStringEndsWith("\r\n\r\n$site", $answer = $this->ask("/$site", $host), "Host $host");
            }
            self::assertStringContainsString('detail="file"', $answer);
        }
    }

    public function testAPurgeByAHostReachesWhateverSiteMadeItsPages(): void
    {
        $this->ask('http://other.test/x', '127.0.0.1');
        $this->ask('http://other.test/x', 'a.wild.test');
        $this->ask('/x', '127.0.0.1');
        $pages = new PageCache(\Larder\Cache::open($this->store));
        $pages->purge('http://127.0.0.1/x', 'http://a.wild.test/x');
        foreach ([['http://other.test/x', '127.0.0.1'], ['http://other.test/x', 'a.wild.test'], ['/x', '127.0.0.1']] as [$target, $host]) {
            self::assertStringContainsString('uri-miss', $this->ask($target, $host), "$target $host");
        }
    }

    private function ask(string $target, string $host): string
    {
        $socket = \stream_socket_client('tcp://' . \implode(':', $this->nginx->address()), timeout: 20.0);
        self::assertIsResource($socket);
        \stream_set_timeout($socket, 20);
        \fwrite($socket, "GET $target HTTP/1.0\r\nHost: $host\r\n\r\n");

        return (string) \stream_get_contents($socket);
    }
}
