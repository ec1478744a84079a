<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Symfony\Component\DependencyInjection\Attribute\Target;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Contracts\Cache\CacheInterface;
use Symfony\Contracts\Cache\ItemInterface;
use Symfony\Contracts\Cache\TagAwareCacheInterface;

/** A page that asks its pools in all the ways there are. */
final readonly class BusyPage
{
    public function __construct(private CacheInterface $cache, #[Target('products')] private TagAwareCacheInterface $products) {}

    public function __invoke(): Response
    {
        $price = $this->products->get('price_7', static function (ItemInterface $item): int {
            $item->expiresAfter(60)->tag('shop');
            \usleep(3_000);

            return 950;
        });
        $this->products->get('price_7', static fn(): int => 0);
        $pool = $this->products;
        \assert($pool instanceof \Psr\Cache\CacheItemPoolInterface);
        foreach (['price_8', 'price_9'] as $key) {
            $pool->saveDeferred($pool->getItem($key)->set(8));
        }
        $pool->commit();
        foreach ($pool->getItems(['price_7', 'price_8', 'price_10']) as $item) {
            $item->isHit();
        }
        $pool->hasItem('price_9');
        $pool->deleteItem('price_9');
        $this->products->invalidateTags(['old']);
        $this->cache->get('menu', static fn(): string => 'home');

        return new Response("<html><body>It costs $price.</body></html>");
    }
}
