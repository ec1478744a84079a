<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle\DependencyInjection;

use Larder\SymfonyBundle\Lock\LarderStores;
use Symfony\Component\DependencyInjection\Compiler\CompilerPassInterface;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\Reference;
use Symfony\Component\Lock\Store\StoreFactory;

/** Lets framework.lock take Larder's DSNs: Symfony's StoreFactory makes stores of a closed list. */
final class LockStoresPass implements CompilerPassInterface
{
    public function process(ContainerBuilder $container): void
    {
        foreach ($container->findTaggedServiceIds('lock.store') as $id => $_) {
            $store = $container->getDefinition($id);
            $connection = $store->getArguments()[0] ?? null;
            if ($store->getFactory() !== [StoreFactory::class, 'createStore'] || !\is_string($connection)) {
                continue;
            }
            $container->resolveEnvPlaceholders($connection, null, $environment);
            // What the environment says is known at run time only.
            if ($environment !== [] || LarderStores::isOurs($connection)) {
                $store->setFactory([new Reference('larder.lock_stores'), 'create']);
            }
        }
    }
}
