<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Psr\Cache\CacheItemPoolInterface;
use Symfony\Component\DependencyInjection\Attribute\Target;
use Symfony\Contracts\Cache\CacheInterface;
use Symfony\Contracts\Cache\TagAwareCacheInterface;

/** A service that asks for pools as Symfony's documentation says: by type, and by name. */
final readonly class Consumer
{
    public function __construct(
        public CacheInterface $usual,
        public CacheInterface $products,
        #[Target('products')]
        public TagAwareCacheInterface $tagged,
        #[Target('products')]
        public CacheItemPoolInterface $items,
    ) {}
}
