<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Attack;

use Larder\Cache;
use Larder\Tests\Support\FastCgi;
use Larder\Tests\Support\FastCgiResponse;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\TestCase;

/** Scripts in a real php-fpm, behind start(): asked directly by FastCGI, so that no web server forbids an attack. */
abstract class ScriptCase extends TestCase
{
    protected const PAGE = "header('Cache-Control: max-age=60');";

    /** @var array<string, string|int> */
    protected const INI = [];

    private static ?FpmServer $fpm = null;
    private static int $number = 0;

    private TemporaryDirectory $directory;
    private FastCgi $connection;

    public static function tearDownAfterClass(): void
    {
        self::$fpm?->stop();
        self::$fpm = null;
    }

    protected function setUp(): void
    {
        if (!FpmServer::isAvailable()) {
            self::markTestSkipped('There is no php-fpm.');
        }
        self::$fpm ??= new FpmServer(3, ini: static::INI + ['display_errors' => 0, 'html_errors' => 0, 'log_errors' => 1]);
        $this->directory = new TemporaryDirectory();
        $this->connection = self::$fpm->connect();
    }

    protected function tearDown(): void
    {
        if (isset($this->connection)) {
            $this->connection->close();
        }
    }

    /**
     * A script that counts its runs, behind the page cache.
     *
     * @param array<string, mixed> $options the page cache's
     */
    protected function script(string $code, array $options = [], string $before = ''): string
    {
        $cache = $this->opened();
        $options = \var_export($options, true);

        return self::fpm()->script('script' . ++self::$number . '.php', <<<PHP
            $before
            (new Larder\\Page\\PageCache($cache, $options))->start();
            {$this->counted()}
            $code
            PHP);
    }

    /**
     * A handler of PSR-15 that counts its runs, behind the middleware.
     *
     * @param string $code returns the response
     */
    protected function handler(string $code): string
    {
        $cache = $this->opened();

        return self::fpm()->script('script' . ++self::$number . '.php', <<<PHP
            \$factory = new Nyholm\\Psr7\\Factory\\Psr17Factory();
            \$request = new Nyholm\\Psr7\\ServerRequest(\$_SERVER['REQUEST_METHOD'], 'http://' . \$_SERVER['HTTP_HOST'] . \$_SERVER['REQUEST_URI'], getallheaders(), serverParams: \$_SERVER);
            \$response = (new Larder\\Page\\Middleware($cache, [], \$factory, \$factory))->process(\$request, new class implements Psr\\Http\\Server\\RequestHandlerInterface {
                public function handle(Psr\\Http\\Message\\ServerRequestInterface \$request): Psr\\Http\\Message\\ResponseInterface
                {
                    {$this->counted()}
                    $code
                }
            });
            http_response_code(\$response->getStatusCode());
            foreach (\$response->getHeaders() as \$name => \$values) {
                foreach (\$values as \$value) {
                    header("\$name: \$value", false);
                }
            }
            echo \$response->getBody();
            PHP);
    }

    /** Code that opens the cache. */
    private function opened(): string
    {
        return 'Larder\Cache::open(' . \var_export('sqlite://' . $this->directory->path . '/store', true) . ')';
    }

    /** Code that counts a run. */
    private function counted(): string
    {
        return 'file_put_contents(' . \var_export($this->directory->file('runs'), true) . ", '.', FILE_APPEND);";
    }

    protected static function fpm(): FpmServer
    {
        return self::$fpm ?? throw new \LogicException('There is no php-fpm.');
    }

    protected function runs(): int
    {
        $file = $this->directory->file('runs');
        \clearstatcache();

        return \is_file($file) ? (int) \filesize($file) : 0;
    }

    /** @param array<string, string> $variables */
    protected function ask(string $script, array $variables = [], string $body = '', string $target = '/'): FastCgiResponse
    {
        return $this->connection->request($script, [], $body, $variables + [
            'HTTP_HOST' => 'shop.example', 'SERVER_NAME' => 'shop.example', 'REQUEST_URI' => $target, 'QUERY_STRING' => \explode('?', $target, 2)[1] ?? '', 'REQUEST_METHOD' => 'GET',
        ]);
    }

    /** What the application makes is given to this visitor, and kept for no other. */
    protected function assertNeverStored(string $script, ?string $body = null, string $why = ''): FastCgiResponse
    {
        $before = $this->runs();
        $first = $this->ask($script);
        $second = $this->ask($script);
        self::assertSame($before + 2, $this->runs(), $first->body . \json_encode($first->headers) . \json_encode($second->headers));
        foreach ($body === null ? [] : [$first, $second] as $answer) {
            self::assertSame($body, $answer->body);
        }
        self::assertStringContainsString($why, $first->headers['cache-status'][0] ?? '');

        return $first;
    }

    /** Whether somebody has the right to build the page, so that others wait. */
    protected function isBuilt(): bool
    {
        return Cache::open('sqlite://' . $this->directory->path . '/store')->group('page-notes', cacheOnly: true)->get('bhttp://shop.example/') !== null;
    }

    protected function assertStored(string $script, string $body): FastCgiResponse
    {
        $before = $this->runs();
        $first = $this->ask($script);
        $second = $this->ask($script);
        self::assertSame([$body, $body], [$first->body, $second->body]);
        self::assertStringStartsWith('Larder; hit', $second->headers['cache-status'][0] ?? '');
        self::assertSame($before + 1, $this->runs());

        return $second;
    }
}
