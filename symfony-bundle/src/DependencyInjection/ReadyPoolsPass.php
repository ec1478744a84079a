<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle\DependencyInjection;

use Larder\SymfonyBundle\Profiler\CallLog;
use Larder\SymfonyBundle\Profiler\LarderDataCollector;
use Larder\SymfonyBundle\Profiler\TracedAdapter;
use Symfony\Component\DependencyInjection\Compiler\CompilerPassInterface;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\ContainerInterface;
use Symfony\Component\DependencyInjection\Reference;

/** Tells the commands which pools there are, and traces their calls where Symfony's profiler traces those of caches. */
final class ReadyPoolsPass implements CompilerPassInterface
{
    /** Tags commands; their last argument is the pools. */
    public const WANTS_POOLS = 'larder.wants_pools';

    public function process(ContainerBuilder $container): void
    {
        $isTraced = $container->hasDefinition('data_collector.cache');
        if ($isTraced) {
            $container->register('larder.calls', CallLog::class)
                ->setArguments([new Reference('profiler.is_disabled_state_checker', ContainerInterface::IGNORE_ON_INVALID_REFERENCE)]);
            $container->register('larder.data_collector', LarderDataCollector::class)
                ->setArguments([new Reference('larder.calls')])
                ->addTag('data_collector', ['template' => LarderDataCollector::getTemplate(), 'id' => LarderDataCollector::NAME]);
        }
        $pools = [];
        foreach ($container->findTaggedServiceIds('cache.pool') as $id => [$tag]) {
            $pool = $container->getDefinition($id);
            if ($pool->isAbstract() || !PoolsPass::isOurs($container, $pool)) {
                continue;
            }
            $name = \is_array($tag) && \is_string($tag['name'] ?? null) ? $tag['name'] : $id;
            $cache = $pool->getArgument(0);
            $source = $cache instanceof Reference ? $container->findDefinition((string) $cache)->getArgument(0) : null;
            if (\is_array($source)) {
                $pools[$name] = [$source['dsn'] ?? '', $pool->getArgument(1)];
            }
            if ($isTraced) {
                $pool->setClass(TracedAdapter::class)->addMethodCall('traceInto', [new Reference('larder.calls'), $name]);
            }
        }
        foreach ($container->findTaggedServiceIds(self::WANTS_POOLS) as $id => $_) {
            $container->getDefinition($id)->replaceArgument(3, $pools)->clearTag(self::WANTS_POOLS);
        }
    }
}
