<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Psr\Cache\CacheItemPoolInterface;
use Symfony\Component\DependencyInjection\Attribute\Target;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\Lock\LockFactory;
use Symfony\Contracts\Cache\CacheInterface;
use Symfony\Contracts\Cache\ItemInterface;
use Symfony\Contracts\Cache\TagAwareCacheInterface;

/** A page that does with each visit what an application does with its caches, and now and then what it does rarely. */
final readonly class WorkPage
{
    /** Products that there are. */
    private const PRODUCTS = 500;

    public function __construct(
        private CacheInterface $cache,
        #[Target('products')]
        private TagAwareCacheInterface $products,
        private LockFactory $locks,
    ) {}

    public function __invoke(Request $request): Response
    {
        $n = $request->query->getInt('n');
        $id = $n % self::PRODUCTS;
        $name = $this->products->get("product_$id", static function (ItemInterface $item) use ($id): string {
            $item->expiresAfter(60 + $id)->tag(["product_$id", 'products']);

            return "name $id";
        });
        $pool = $this->products;
        \assert($pool instanceof CacheItemPoolInterface);
        foreach ($pool->getItems(["a_$id", "b_$id", 'none']) as $key => $item) {
            $key === 'none' || $item->isHit() || $pool->saveDeferred($item->set([$id]));
        }
        $this->cache->get('menu', static fn(): string => \str_repeat('m', 5_000));
        if ($n % 10 === 0) {
            $pool->deleteItem("a_$id");
            $this->products->invalidateTags(["product_$id"]);
        }
        if ($n % 50 === 0) {
            $lock = $this->locks->createLock("work $id", 10);
            $lock->acquire() && $lock->release();
        }
        $n % 1_000 === 0 && $pool->clear();

        return new Response("$id: $name");
    }
}
