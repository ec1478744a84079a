<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Attack;

use Larder\Cache;
use Larder\Page\Middleware;
use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\Response;
use Nyholm\Psr7\ServerRequest;
use PHPUnit\Framework\Attributes\After;
use PHPUnit\Framework\TestCase;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;

/**
 * What has happened to the users of other page caches, done to this one. A test's comment names the incident.
 *
 * The judge is the application: with the cache before it a visitor must get what it alone would have given him, whoever
 * asked before.
 */
abstract class AttackCase extends TestCase implements RequestHandlerInterface
{
    protected const PAGE = ['Cache-Control' => 'max-age=60', 'Content-Type' => 'text/plain'];

    protected Cache $cache;

    /** @var array<string, mixed> */
    protected array $options = [];

    protected int $runs = 0;

    /** @var \Closure(ServerRequestInterface): ResponseInterface */
    private \Closure $application;

    /** Pages, handlers and caches refer to each other: without this the files of hundreds of caches stay open. */
    #[After]
    protected function closeFiles(): void
    {
        \gc_collect_cycles();
    }

    protected function setUp(): void
    {
        $this->cache = Cache::open('memory://');
        $this->prints('page');
    }

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        $this->runs++;

        return ($this->application)($request);
    }

    /** @param \Closure(ServerRequestInterface): ResponseInterface $application */
    protected function runs(\Closure $application): void
    {
        $this->application = $application;
    }

    /**
     * @param string|\Closure(ServerRequestInterface): string $body
     * @param array<string, string|list<string>>              $fields besides those of PAGE
     */
    protected function prints(string|\Closure $body, array $fields = [], int $status = 200): void
    {
        $this->application = static fn(ServerRequestInterface $request): ResponseInterface
            => new Response($status, $fields + self::PAGE, \is_string($body) ? $body : $body($request));
    }

    /** @param array<string, string|list<string>> $fields */
    protected static function request(string $target = '/', array $fields = [], string $method = 'GET', string $body = ''): ServerRequestInterface
    {
        return (new ServerRequest($method, 'http://shop.example', $fields, $body))->withRequestTarget($target)->withQueryParams(self::query($target));
    }

    protected function ask(ServerRequestInterface $request): ResponseInterface
    {
        $factory = new Psr17Factory();

        return (new Middleware($this->cache, $this->options, $factory, $factory))->process($request, $this);
    }

    /** @param array<string, string|list<string>> $fields */
    protected function get(string $target = '/', array $fields = []): ResponseInterface
    {
        return $this->ask(self::request($target, $fields));
    }

    /** Whatever was asked before, the visitor gets what the application makes for him; and others then get that too. */
    protected function assertUnharmed(ServerRequestInterface $visitor, ServerRequestInterface ...$attacks): void
    {
        foreach ($attacks as $attack) {
            $this->ask($attack);
            $this->ask($attack);
        }
        $alone = ($this->application)($visitor);
        for ($time = 0; $time < 2; $time++) {
            $got = $this->ask($visitor);
            self::assertSame([$alone->getStatusCode(), (string) $alone->getBody()], [$got->getStatusCode(), (string) $got->getBody()]);
        }
        self::assertStringContainsString('; hit', $got->getHeaderLine('Cache-Status'), 'It is a page that is stored, else nothing could happen to it.');
    }

    /** The application answers each of these requests itself, and what it says then is not stored for others. */
    protected function assertNeverStored(ServerRequestInterface $request, string $why = ''): void
    {
        $before = $this->runs;
        $first = $this->ask($request);
        $second = $this->ask($request);
        self::assertSame($before + 2, $this->runs, $first->getHeaderLine('Cache-Status'));
        self::assertStringNotContainsString('stored', $second->getHeaderLine('Cache-Status'));
        self::assertStringContainsString($why, $first->getHeaderLine('Cache-Status'));
    }

    /** @return array<array-key, mixed> */
    private static function query(string $target): array
    {
        \parse_str(\explode('?', $target, 2)[1] ?? '', $parameters);

        return $parameters;
    }
}
