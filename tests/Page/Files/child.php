<?php

declare(strict_types=1);

// A process that KillTest kills: records a page with files, or purges it. Arguments: the work, the DSN, the directory.

use Larder\Cache;
use Larder\Page\Middleware;
use Larder\Page\PageCache;
use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\Response;
use Nyholm\Psr7\ServerRequest;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;

require \dirname(__DIR__, 3) . '/vendor/autoload.php';

[, $work, $dsn, $static] = $_SERVER['argv'];
$cache = Cache::open($dsn);
if ($work === 'purge') {
    (new PageCache($cache))->purgeTags('menu');
} else {
    $factory = new Psr17Factory();
    (new Middleware($cache, ['static' => $static], $factory, $factory))->process(new ServerRequest('GET', 'http://shop.example/a'), new class implements RequestHandlerInterface {
        public function handle(ServerRequestInterface $request): ResponseInterface
        {
            return new Response(200, ['Content-Type' => 'text/html; charset=utf-8', 'Cache-Control' => 'max-age=3600', 'Cache-Tags' => 'menu'], \str_repeat('page ', 100));
        }
    });
}
echo "done\n";
