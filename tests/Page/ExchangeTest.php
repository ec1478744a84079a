<?php

declare(strict_types=1);

namespace Larder\Tests\Page;

use Larder\Page\Exchange;
use Larder\Page\PageCache;
use Larder\Page\Pages;
use Larder\Page\Reply;
use Larder\Page\Settings;
use Larder\Store\MemoryStore;
use Larder\Store\Store;
use Larder\Tests\Support\HookedStore;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

/** Each request here has a cache of its own, as a process of a web server has. */
#[CoversClass(Exchange::class)]
final class ExchangeTest extends TestCase
{
    /** Nobody waits for a page that could not be stored last time, so its builder takes no right to build. */
    public function testAPurgeCountsWhileAPageIsMadeThatCouldNotBeStoredLastTime(): void
    {
        $store = new MemoryStore(1 << 20);
        foreach (['not stored' => [500, 'broken'], 'stored' => [200, 'old']] as $what => [$status, $body]) {
            $exchange = self::exchange($store);
            self::assertNull($exchange->answer());
            self::assertTrue((new PageCache((new HookedStore($store))->cache()))->purgeTags('menu'));
            $exchange->conclude(new Reply($status, $status === 200 ? ['Cache-Control: max-age=60', 'Cache-Tags: menu'] : [], $body));
            self::assertNull(self::exchange($store)->answer(), $what);
        }
    }

    private static function exchange(Store $store): Exchange
    {
        $settings = Settings::from([]);

        return Exchange::of(new Pages((new HookedStore($store))->cache(), $settings), $settings, ['REQUEST_METHOD' => 'GET', 'HTTP_HOST' => 'shop.example', 'SERVER_NAME' => 'shop.example', 'SERVER_PORT' => '80', 'REQUEST_URI' => '/']);
    }
}
