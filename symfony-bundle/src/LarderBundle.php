<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle;

use Larder\Cache;
use Larder\Console\DoctorCommand;
use Larder\Console\TopCommand;
use Larder\Console\WhyCommand;
use Larder\Session\SessionHandler;
use Larder\SymfonyBundle\Cache\LarderAdapter;
use Larder\SymfonyBundle\Console\LarderCommand;
use Larder\SymfonyBundle\DependencyInjection\Caches;
use Larder\SymfonyBundle\DependencyInjection\LockStoresPass;
use Larder\SymfonyBundle\DependencyInjection\PoolsPass;
use Larder\SymfonyBundle\DependencyInjection\ReadyPoolsPass;
use Larder\SymfonyBundle\Lock\LarderStores;
use Larder\SymfonyBundle\Messenger\LarderTransportFactory;
use Larder\SymfonyBundle\Messenger\RefreshListener;
use Symfony\Component\Config\Definition\Configurator\DefinitionConfigurator;
use Symfony\Component\DependencyInjection\Compiler\PassConfig;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\ContainerInterface;
use Symfony\Component\DependencyInjection\Definition;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\DependencyInjection\Reference;
use Symfony\Component\HttpKernel\Bundle\AbstractBundle;
use Symfony\Component\Messenger\Transport\TransportFactoryInterface;

/**
 * Connects Larder to Symfony: cache.adapter.larder, framework.lock: larder://, larder.session_handler, transports of Messenger,
 * commands, and a panel in the profiler.
 *
 * This package translates and does no work of its own: what a cache, a lock or a session is stands in larder/larder.
 */
final class LarderBundle extends AbstractBundle
{
    public function configure(DefinitionConfigurator $definition): void
    {
        $definition->rootNode()
            ->children()
                ->scalarNode('dsn')->defaultValue('sqlite://%kernel.project_dir%/var/larder')->cannotBeEmpty()
                    ->info('Of the pools that name no provider. Not below kernel.cache_dir, which cache:clear replaces.')->end()
                ->variableNode('options')->defaultValue([])
                    ->info('Options of Larder\Cache::open() for this cache, by name; `lazy` is true unless it says otherwise.')->end()
                ->scalarNode('credentials')->defaultNull()
                    ->info('A service that can be called, for user and password at each new connection to Redis.')->end()
                ->variableNode('locks')->defaultValue('sqlite://%kernel.project_dir%/var/larder-locks')
                    ->info('What framework.lock: larder:// means, as of Larder\Lock\Locks::open().')->end()
                ->variableNode('sessions')->defaultValue('sqlite://%kernel.project_dir%/var/larder-sessions')
                    ->info('Of framework.session.handler_id: larder.session_handler, as of Larder\Session\SessionHandler::over().')->end()
            ->end();
    }

    /** @param array{dsn: string, options: array<string, mixed>, credentials: ?string, locks: string|array<string, mixed>, sessions: string|array<string, mixed>} $config */
    public function loadExtension(array $config, ContainerConfigurator $container, ContainerBuilder $builder): void
    {
        $options = $config['options'];
        if ($config['credentials'] !== null) {
            $options['credentials'] = (new Definition(\Closure::class, [new Reference($config['credentials'])]))->setFactory([\Closure::class, 'fromCallable']);
        }
        $builder->setDefinition(Caches::OWN, Caches::definition($config['dsn'], $options));
        $builder->setAlias(Cache::class, Caches::OWN);

        $builder->register('cache.adapter.larder', LarderAdapter::class)
            ->setAbstract(true)
            ->setArguments([new Reference(Caches::OWN), '', 0])
            ->addMethodCall('setLogger', [new Reference('logger', ContainerInterface::IGNORE_ON_INVALID_REFERENCE)])
            ->addTag('cache.pool', ['provider' => Caches::OWN, 'clearer' => 'cache.default_clearer', 'reset' => 'reset'])
            ->addTag('monolog.logger', ['channel' => 'cache']);

        $builder->register('larder.lock_stores', LarderStores::class)->setArguments([$config['locks']]);
        $builder->register('larder.session_handler', SessionHandler::class)->setFactory([SessionHandler::class, 'over'])->setArguments([$config['sessions']]);
        if (\interface_exists(TransportFactoryInterface::class)) {
            $builder->register(LarderTransportFactory::class)->addTag('messenger.transport_factory');
            $builder->register(RefreshListener::class)->addTag('kernel.event_subscriber');
        }
        foreach ([DoctorCommand::class, TopCommand::class, WhyCommand::class] as $class) {
            $command = new $class();
            $builder->register("larder.command.{$command->getName()}", LarderCommand::class)
                ->setArguments([new Definition($class), $config['dsn'], \array_filter($config['options'], static fn(mixed $value, string $name): bool => \is_scalar($value) || $name === 'secret', \ARRAY_FILTER_USE_BOTH), []])
                ->addTag('console.command', ['command' => "larder:{$command->getName()}", 'description' => $command->getDescription()])
                ->addTag(ReadyPoolsPass::WANTS_POOLS);
        }
    }

    public function build(ContainerBuilder $container): void
    {
        // Before and after FrameworkBundle's CachePoolPass (32), which puts provider, namespace and lifetime into the pools.
        $container->addCompilerPass(new PoolsPass(), PassConfig::TYPE_BEFORE_OPTIMIZATION, 64);
        $container->addCompilerPass(new ReadyPoolsPass(), PassConfig::TYPE_BEFORE_OPTIMIZATION, 16);
        $container->addCompilerPass(new LockStoresPass());
    }
}
