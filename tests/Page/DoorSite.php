<?php

declare(strict_types=1);

namespace Larder\Tests\Page;

use Larder\Cache;
use Larder\Lab\Service\Silence;
use Larder\Page\PageCache;
use Larder\Tests\Support\FastCgiResponse;
use Larder\Tests\Support\FpmServer;

/**
 * A site behind a php-fpm of its own that requires larder-serve.php. It prints what stands in a file, and counts the requests
 * that the fast door has left to start(), and those that the application has answered.
 */
final class DoorSite
{
    public readonly FpmServer $fpm;
    public readonly string $script;

    /** @var array<string, mixed> of the cache */
    public readonly array $tiers;

    /**
     * @param array<string, mixed>            $options of the page cache
     * @param array<string, string>           $tiers   disk: its scheme
     * @param array<string, string|int|float> $ini
     */
    public function __construct(public readonly array $options = [], array $tiers = [], int $children = 2, array $ini = [])
    {
        $this->fpm = new FpmServer($children, ini: $ini);
        $this->tiers = ['disk' => ($tiers['disk'] ?? 'sqlite') . '://' . $this->fpm->directory->file('cache')] + $tiers + ['near' => 'none'];
        $root = \dirname(__DIR__, 2);
        $this->script = $this->fpm->script('site.php', \strtr(<<<'PHP'
            <?php
            require 'ROOT/larder-serve.php';
            // Other tests' flushes and purges let this site be asked once which cache it opens (FastDoor::doubtOthers), some of them at the same time.
            while (Larder\Page\Serve::$place && @filemtime(Larder\Page\Serve::$place) === 1 && !is_file(__DIR__ . '/tiers')) {
                touch(Larder\Page\Serve::$place);
                clearstatcache();
                Larder\Page\Serve::answer() && exit;
            }
            file_put_contents(__DIR__ . '/starts', '.', FILE_APPEND);
            require 'ROOT/vendor/autoload.php';
            $cache = Larder\Cache::open(is_file(__DIR__ . '/tiers') ? json_decode(file_get_contents(__DIR__ . '/tiers'), true) : TIERS);
            (new Larder\Page\PageCache($cache, OPTIONS))->start();
            file_put_contents(__DIR__ . '/runs', '.', FILE_APPEND);
            header('Cache-Control: max-age=60');
            header('Content-Type: text/plain');
            header('Cache-Tags: menu');
            is_file(__DIR__ . '/application.php') && include __DIR__ . '/application.php';
            readfile(__DIR__ . '/content');
            PHP, ['ROOT' => $root, 'TIERS' => \var_export($this->tiers, true), 'OPTIONS' => \var_export($options, true)]));
        $this->says('first');
    }

    public function __destruct()
    {
        $this->fpm->stop();
        $place = $this->place();
        $place === null || \array_map(\unlink(...), \glob("$place/*") ?: []) === [] || \rmdir($place);
    }

    /** What the application prints from now on. */
    public function says(string $content): void
    {
        $this->fpm->directory->write('content', $content);
    }

    /** Code that the application runs before it prints. */
    public function does(string $code): void
    {
        $this->fpm->directory->write('application.php', "<?php\n$code");
    }

    /** The site opens another cache from now on. */
    public function opens(string $dsn): void
    {
        $this->fpm->directory->write('tiers', \json_encode(['dsn' => $dsn], \JSON_THROW_ON_ERROR));
    }

    /** @param array<string, string> $parameters as HTTP_COOKIE */
    public function get(string $uri = '/', array $parameters = []): FastCgiResponse
    {
        $connection = $this->fpm->connect();
        try {
            return $connection->request($this->script, parameters: $parameters + ['REQUEST_URI' => $uri, 'HTTP_HOST' => 'site.example', 'SERVER_NAME' => 'site.example', 'QUERY_STRING' => \explode('?', $uri, 2)[1] ?? '']);
        } finally {
            $connection->close();
        }
    }

    /** Asks until the fast door has the page. */
    public function warm(string $uri = '/'): void
    {
        for ($i = 0; $i < 3; $i++) {
            $this->get($uri);
        }
    }

    /** Requests that the fast door has left to start(). */
    public function starts(): int
    {
        return $this->count('starts');
    }

    /** Requests that the application has answered. */
    public function runs(): int
    {
        return $this->count('runs');
    }

    public function cache(): Cache
    {
        return Cache::open($this->tiers);
    }

    public function pages(): PageCache
    {
        return new PageCache($this->cache(), $this->options);
    }

    /** The directory of the site's constants. */
    public function place(): ?string
    {
        // Another test's may vanish meanwhile.
        foreach (\glob('/dev/shm/larder-serve-' . \posix_geteuid() . '-*/constants.php') ?: [] as $file) {
            if (\str_contains((string) Silence::of(static fn(): string|false => \file_get_contents($file)), $this->fpm->directory->path)) {
                return \dirname($file);
            }
        }

        return null;
    }

    public function counter(): string
    {
        return (\glob($this->fpm->directory->path . '/cache/local-*-purges/page.count') ?: [])[0] ?? '';
    }

    /** @return list<string> the copies' files */
    public function copies(): array
    {
        return \glob($this->fpm->directory->path . '/cache/local-*-copies-page/?/*') ?: [];
    }

    private function count(string $file): int
    {
        \clearstatcache();

        return (int) @\filesize($this->fpm->directory->file($file));
    }
}
