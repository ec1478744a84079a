<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Files;

use Larder\Cache;
use Larder\Page\Middleware;
use Larder\Tests\Support\TemporaryDirectory;
use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\Response;
use Nyholm\Psr7\ServerRequest;
use PHPUnit\Framework\TestCase;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;

/** An application behind the page cache over SQLite, with a directory for the web server. */
abstract class FilesCase extends TestCase implements RequestHandlerInterface
{
    protected const HTML = ['Content-Type' => 'text/html; charset=UTF-8', 'Cache-Control' => 'max-age=3600'];

    protected TemporaryDirectory $directory;
    protected string $static;
    protected Cache $cache;
    protected int $runs = 0;

    /** @var \Closure(ServerRequestInterface): ResponseInterface */
    protected \Closure $application;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory('files');
        $this->static = $this->directory->file('static');
        $this->cache = $this->other();
        $this->application = static fn(): ResponseInterface => new Response(200, self::HTML, \str_repeat('page ', 100));
    }

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        $this->runs++;

        return ($this->application)($request);
    }

    /** The cache as another process has it. */
    protected function other(): Cache
    {
        return Cache::open('sqlite://' . $this->directory->file('store'));
    }

    /**
     * @param array<string, string> $fields
     * @param array<string, mixed>  $options
     */
    protected function get(string $url, array $fields = [], array $options = []): ResponseInterface
    {
        $factory = new Psr17Factory();
        $url = \str_starts_with($url, '/') ? "http://shop.example$url" : $url;
        $target = (string) \preg_replace('~^\w+://[^/]+~', '', $url);
        $request = (new ServerRequest('GET', $url, $fields))->withRequestTarget($target);

        return (new Middleware($this->cache, $options + ['static' => $this->static], $factory, $factory))->process($request, $this);
    }

    /** @return list<string> of all files in buckets, without the buckets, each once */
    protected function files(): array
    {
        $files = [];
        foreach ($this->all() as $file) {
            $files[(string) \preg_replace('~^\d+/~', '', $file)] = true;
        }
        \ksort($files);

        return \array_keys($files);
    }

    /** @return list<string> of all files in buckets */
    protected function all(): array
    {
        $files = [];
        // Others remove directories meanwhile, and what was in them counts as gone.
        $tree = fn(): \Iterator => new \RecursiveIteratorIterator(
            new \RecursiveDirectoryIterator($this->static, \FilesystemIterator::SKIP_DOTS),
            \RecursiveIteratorIterator::LEAVES_ONLY,
            \RecursiveIteratorIterator::CATCH_GET_CHILD,
        );
        foreach (\is_dir($this->static) ? $tree() : [] as $file) {
            \assert($file instanceof \SplFileInfo);
            $path = \substr($file->getPathname(), \strlen($this->static) + 1);
            \str_starts_with($path, 'state/') || $files[] = $path;
        }
        \sort($files);

        return $files;
    }
}
