<?php

declare(strict_types=1);

namespace Larder\Tests\Docs;

use Larder\Tests\Support\FpmServer;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\TestCase;

/** The first commands of the page cache's page give what it says. */
#[CoversNothing]
final class PageCacheTest extends TestCase
{
    public function testTheFirstCommands(): void
    {
        if (!FpmServer::isAvailable()) {
            self::markTestSkipped('There is no php-fpm.');
        }
        $page = (string) \file_get_contents(__DIR__ . '/../../docs/page-cache.md');
        self::assertSame(1, \preg_match('/^```php\n(.*?)^```\n.*?^```\n(\$ curl .*?)^```/ms', $page, $part));
        \preg_match_all('/^\$ curl (-\w+) .*\n(.*)$/m', $part[2], $commands, \PREG_SET_ORDER);
        self::assertCount(2, $commands);
        $fpm = new FpmServer(1);
        try {
            $script = $fpm->script('index.php', \str_replace('/var/cache/app', $fpm->directory->file('cache'), $part[1]));
            $connection = $fpm->connect();
            foreach ($commands as [, $flags, $said]) {
                $answer = $connection->request($script, parameters: ['REQUEST_URI' => '/', 'HTTP_HOST' => 'localhost', 'REQUEST_METHOD' => \str_contains($flags, 'I') ? 'HEAD' : 'GET']);
                $got = 'Cache-Status: ' . ($answer->headers['cache-status'][0] ?? '');
                self::assertMatchesRegularExpression('/^' . \preg_replace('/ttl..\d+/', 'ttl=\d+', \preg_quote($said, '/')) . '$/D', $got);
            }
            $connection->close();
        } finally {
            $fpm->stop();
        }
    }
}
