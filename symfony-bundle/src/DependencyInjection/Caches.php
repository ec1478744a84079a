<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle\DependencyInjection;

use Larder\Cache;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\DependencyInjection\ContainerInterface;
use Symfony\Component\DependencyInjection\Definition;
use Symfony\Component\DependencyInjection\Reference;

/** The services that are a Larder cache: one a DSN, which all pools with this provider share. */
final class Caches
{
    public const OWN = 'larder.cache';

    /** @param array<string, mixed> $options of Cache::open() */
    public static function definition(#[\SensitiveParameter] string $dsn, #[\SensitiveParameter] array $options = []): Definition
    {
        $logger = new Reference('logger', ContainerInterface::IGNORE_ON_INVALID_REFERENCE);

        return (new Definition(Cache::class))
            ->setFactory([Cache::class, 'open'])
            // Its first read is the beginning, which saves a round trip a request.
            ->setArguments([['dsn' => $dsn] + $options + ['logger' => $logger, 'lazy' => true]])
            ->addTag('monolog.logger', ['channel' => 'cache'])
            ->addTag('kernel.reset', ['method' => 'refresh']);
    }

    /**
     * The service of a provider: the application's cache if it has this DSN, or the DSN's own, which is made if it is not there, or
     * the provider itself.
     */
    public static function service(ContainerBuilder $container, #[\SensitiveParameter] string $provider): string
    {
        $container->resolveEnvPlaceholders($provider, null, $environment);
        if ($environment === [] && !\str_contains($provider, '://')) {
            return $provider;
        }
        $own = $container->hasDefinition(self::OWN) ? $container->getDefinition(self::OWN)->getArgument(0) : [];
        if (\is_array($own) && $container->getParameterBag()->resolveValue($own['dsn'] ?? '') === $container->getParameterBag()->resolveValue($provider)) {
            return self::OWN;
        }
        $id = '.' . self::OWN . '.' . ContainerBuilder::hash($provider);
        $container->hasDefinition($id) || $container->setDefinition($id, self::definition($provider));

        return $id;
    }
}
