<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Chaos;

use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\TemporaryDirectory;

/**
 * A site whose pages say which version of their data they show. The data is a file a page; whoever changes it purges the page
 * after that, as an application does. Pages of members, failing and dying ones are among them.
 */
final class Site
{
    public const PAGES = 3;

    public readonly TemporaryDirectory $directory;

    /** @var non-empty-list<FpmServer> */
    private array $servers;

    /** What the servers have said that were replaced. */
    private string $said = '';

    private readonly string $page;
    private readonly string $purge;

    /** @var array<int, int> of each page */
    private array $versions = [];

    /** @param array<string, mixed> $cache the options of Cache::open() */
    public function __construct(array $cache, bool $hasFastDoor, int $servers)
    {
        $this->directory = new TemporaryDirectory();
        $this->servers = [self::server()];
        for ($server = 1; $server < $servers; $server++) {
            $this->servers[] = self::server();
        }
        $root = \dirname(__DIR__, 3);
        $names = ['ROOT' => $root, 'CACHE' => \var_export($cache, true), 'DATA' => $this->directory->path, 'DOOR' => $hasFastDoor ? "require '$root/larder-serve.php';" : ''];
        $this->page = $this->directory->write('page.php', \strtr(<<<'PHP'
            <?php
            DOOR
            require 'ROOT/vendor/autoload.php';
            (new Larder\Page\PageCache(Larder\Cache::open(CACHE), ['wait' => 0.05, 'overflow' => 'busy', 'waiters' => 2]))->start();
            $page = (int) substr($_SERVER['REQUEST_URI'], 2);
            Larder\Page\PageCache::tag("tag-$page");
            header('Cache-Control: max-age=600');
            if (isset($_COOKIE['member'])) {
                exit("page $page of $_COOKIE[member] end");
            }
            echo "page $page version ", file_get_contents("DATA/$page");
            usleep(random_int(0, 30_000));
            switch ($_SERVER['HTTP_X_FATE'] ?? '') {
                case 'fail': header_remove('Cache-Control'); http_response_code(500); exit(' failed');
                case 'die': no_such_function();
                case 'session': setcookie('member', 'new'); break;
            }
            echo ' ', str_repeat('.', 2_000 * ($page % 3)), ' end';
            PHP, $names));
        $this->purge = $this->directory->write('purge.php', \strtr(<<<'PHP'
            <?php
            require 'ROOT/vendor/autoload.php';
            $pages = new Larder\Page\PageCache(Larder\Cache::open(CACHE));
            echo match ($_GET['by']) {
                'tag' => $pages->purgeTags("tag-$_GET[page]"),
                'url' => $pages->purge("http://shop.example/p$_GET[page]"),
                'path' => $pages->purge("/p$_GET[page]"),
            } ? 'purged' : 'kept for later';
            PHP, $names));
        for ($page = 0; $page < self::PAGES; $page++) {
            $this->change($page);
        }
    }

    public function stop(): void
    {
        foreach ($this->servers as $server) {
            $server->stop();
        }
    }

    /** Writes new data, and returns its version. */
    public function change(int $page): int
    {
        $version = ($this->versions[$page] ?? 0) + 1;
        $this->directory->write("new-$page", (string) $version);
        \rename($this->directory->file("new-$page"), $this->directory->file((string) $page));

        return $this->versions[$page] = $version;
    }

    /** @param array<string, string> $variables */
    public function ask(int $page, array $variables): Question
    {
        return new Question($this->socket(), $this->page, [], $variables + ['HTTP_HOST' => 'shop.example', 'REQUEST_URI' => "/p$page", 'QUERY_STRING' => '']);
    }

    /** @param string $by tag, url or path */
    public function purge(int $page, string $by): Question
    {
        return new Question($this->socket(), $this->purge, ['page' => $page, 'by' => $by], []);
    }

    public function killAWorker(): void
    {
        $workers = $this->servers[\array_rand($this->servers)]->workers();
        $workers === [] || \posix_kill($workers[\array_rand($workers)], \SIGKILL);
    }

    /** Starts another php-fpm in the place of each that a killed worker has left locked; what was under way there is lost. */
    public function heal(): void
    {
        foreach ($this->servers as $i => $server) {
            if ($server->hangs()) {
                // A master that hangs obeys no other signal.
                \array_map(static fn(int $pid): bool => \posix_kill($pid, \SIGKILL), [...$server->workers(), $server->pid()]);
                $server->stop();
                $this->said .= $server->log();
                $this->servers[$i] = self::server();
            }
        }
    }

    public function log(): string
    {
        return $this->said . \implode('', \array_map(static fn(FpmServer $server): string => $server->log(), $this->servers));
    }

    private static function server(): FpmServer
    {
        return new FpmServer(6, ini: ['display_errors' => 0, 'error_reporting' => \E_ALL]);
    }

    private function socket(): string
    {
        return $this->servers[\array_rand($this->servers)]->socket;
    }
}
