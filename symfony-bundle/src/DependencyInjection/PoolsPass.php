<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle\DependencyInjection;

use Symfony\Component\Cache\Adapter\ChainAdapter;
use Symfony\Component\Cache\Adapter\TagAwareAdapter;
use Symfony\Component\DependencyInjection\ChildDefinition;
use Symfony\Component\DependencyInjection\Compiler\CompilerPassInterface;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\Definition;
use Symfony\Component\DependencyInjection\Reference;

/**
 * Gives Larder's pools their caches, and takes the wrapper off them that would keep tags a second time.
 *
 * FrameworkBundle wraps every pool in TagAwareAdapter where tags are wanted, but for its own list of adapters
 * (FrameworkExtension::registerCacheConfiguration()). It makes connections of DSNs by a closed list, too.
 */
final class PoolsPass implements CompilerPassInterface
{
    public const ADAPTER = 'cache.adapter.larder';

    public function process(ContainerBuilder $container): void
    {
        foreach (\array_keys($container->findTaggedServiceIds('cache.pool')) as $id) {
            $pool = $container->getDefinition($id);
            /** @var array{'cache.pool': array{array<string, mixed>}} $tags */
            $tags = $pool->getTags();
            $provider = $tags['cache.pool'][0]['provider'] ?? null;
            if ($pool->getClass() === ChainAdapter::class) {
                self::connectChain($container, $pool);
            } elseif (\is_string($provider) && self::isOurs($container, $pool)) {
                $tags['cache.pool'][0]['provider'] = Caches::service($container, $provider);
                $pool->setTags($tags);
            }
        }
        foreach ($container->findTaggedServiceIds('cache.taggable') as $id => [$tag]) {
            self::unwrap($container, $id, \is_array($tag) ? $tag : []);
        }
    }

    public static function isOurs(ContainerBuilder $container, Definition $pool): bool
    {
        while ($pool instanceof ChildDefinition) {
            if ($pool->getParent() === self::ADAPTER) {
                return true;
            }
            $pool = $container->findDefinition($pool->getParent());
        }

        return false;
    }

    /** A chain names its adapters by their providers, where they have one. */
    private static function connectChain(ContainerBuilder $container, Definition $chain): void
    {
        $links = [];
        foreach (\is_array($chain->getArgument(0)) ? $chain->getArgument(0) : [] as $provider => $adapter) {
            $isOurs = \is_string($adapter) && ($adapter === self::ADAPTER || self::isOurs($container, $container->findDefinition($adapter)));
            if (\is_string($provider) && $isOurs) {
                $provider = Caches::service($container, $provider);
            }
            \is_int($provider) ? $links[] = $adapter : $links[$provider] = $adapter;
        }
        $chain->replaceArgument(0, $links);
    }

    /** @param array<array-key, mixed> $tag */
    private static function unwrap(ContainerBuilder $container, string $id, array $tag): void
    {
        $wrapper = $container->getDefinition($id);
        $inner = $wrapper->getClass() === TagAwareAdapter::class ? $wrapper->getArguments()[0] ?? null : null;
        if (!$inner instanceof Reference || !$container->has((string) $inner)) {
            return;
        }
        $pool = $container->findDefinition((string) $inner);
        if (!self::isOurs($container, $pool)) {
            return;
        }
        $pool->addTag('cache.taggable', $tag);
        $container->removeDefinition($id);
        $container->setAlias($id, (string) $inner)->setPublic($wrapper->isPublic());
    }
}
