<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Cache;
use Larder\Page\Middleware;
use Larder\Tests\Support\TemporaryDirectory;
use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\Response;
use Nyholm\Psr7\ServerRequest;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;

/** A page whose builder loses the store on the way. */
#[CoversNothing]
#[RequiresPhpExtension('pdo_sqlite')]
final class PageTest extends TestCase
{
    use ForeignLock;

    protected const FORKS = true;

    private const WAIT = 40;

    // Seen to fail: while the builder's process lived, all visitors waited for the page for as long as the option says.
    public function testAPageThatCannotBeWrittenKeepsNobodyWaiting(): void
    {
        $directory = new TemporaryDirectory();
        $open = static fn(float $timeout): Cache => Cache::open(['dsn' => "sqlite://$directory->path/cache", 'timeout' => $timeout]);
        $open(5.0)->set('the database', 'is there');
        $this->worksWhileLocked($directory, fn(\Closure $lock): array => $this->visit($open(0.1), static function () use ($lock): string {
            $lock();

            return 'made, and not stored';
        }));
        $start = \hrtime(true);
        self::assertSame(['made', 'Larder; fwd=uri-miss; stored'], $this->visit($open(5.0), static fn(): string => 'made'));
        self::assertLessThan(self::WAIT / 2, (\hrtime(true) - $start) / 1e9);
    }

    /**
     * @param \Closure(): string $make
     *
     * @return array{string, string} the body, and Cache-Status
     */
    private function visit(Cache $cache, \Closure $make): array
    {
        $factory = new Psr17Factory();
        $application = new class ($make) implements RequestHandlerInterface {
            /** @param \Closure(): string $make */
            public function __construct(private readonly \Closure $make) {}

            public function handle(ServerRequestInterface $request): ResponseInterface
            {
                return new Response(200, ['Cache-Control' => 'max-age=60'], ($this->make)());
            }
        };
        $response = (new Middleware($cache, ['wait' => self::WAIT], $factory, $factory))->process(new ServerRequest('GET', 'http://shop.example/'), $application);

        return [(string) $response->getBody(), $response->getHeaderLine('Cache-Status')];
    }
}
