<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Larder\SymfonyBundle\LarderBundle;
use Psr\Log\NullLogger;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Bundle\TwigBundle\TwigBundle;
use Symfony\Bundle\WebProfilerBundle\WebProfilerBundle;
use Symfony\Component\Config\Loader\LoaderInterface;
use Symfony\Component\DependencyInjection\Compiler\CompilerPassInterface;
use Symfony\Component\DependencyInjection\ContainerBuilder;
use Symfony\Component\HttpKernel\Kernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

/** An application of Symfony with the bundle, whose configuration a test gives. */
final class Application extends Kernel
{
    use MicroKernelTrait {
        registerContainerConfiguration as private unused;
    }

    /**
     * @param array<string, array<string, mixed>> $config by the name of the bundle
     * @param array<string, class-string>         $services whose constructors get what they ask for, by id
     */
    public function __construct(private readonly string $root, private readonly array $config, private readonly array $services = [], bool $debug = false)
    {
        // Kernels of one process have classes of their own, by this name.
        parent::__construct('e' . \substr(\hash('sha256', \serialize([$root, $config, $services])), 0, 12), $debug);
    }

    public function registerBundles(): iterable
    {
        return [new FrameworkBundle(), ...$this->isProfiled() ? [new TwigBundle(), new WebProfilerBundle()] : [], new LarderBundle()];
    }

    public function registerContainerConfiguration(LoaderInterface $loader): void
    {
        $loader->load(function (ContainerBuilder $container): void {
            $this->config('framework', [
                'secret' => 'secret', 'test' => true, 'http_method_override' => false, 'handle_all_throwables' => true, 'php_errors' => ['log' => false],
                'router' => ['resource' => 'kernel::loadRoutes', 'type' => 'service', 'utf8' => true],
            ], $container);
            foreach (\array_diff_key($this->config, ['framework' => true]) as $name => $_) {
                $this->config($name, [], $container);
            }
            $container->register('kernel', self::class)->setSynthetic(true)->setPublic(true)->addTag('controller.service_arguments')->addTag('routing.route_loader');
            // What it has to say, tests see by other means.
            $container->register('logger', NullLogger::class);
            foreach ($this->services as $id => $class) {
                $container->register($id, $class)->setAutowired(true)->setAutoconfigured(true)->setPublic(true);
            }
        });
    }

    public function getProjectDir(): string
    {
        return $this->root;
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->add('page', '/')->controller('page');
        foreach ($this->isProfiled() ? ['wdt' => '/_wdt', 'profiler' => '/_profiler'] : [] as $name => $prefix) {
            $routes->import("@WebProfilerBundle/Resources/config/routing/$name.php", 'php')->prefix($prefix);
        }
    }

    protected function build(ContainerBuilder $container): void
    {
        // Nobody uses these, so they would go.
        $container->addCompilerPass(new class implements CompilerPassInterface {
            public function process(ContainerBuilder $container): void
            {
                foreach ($container->getDefinitions() as $id => $definition) {
                    if (\preg_match('/^lock\..+\.factory$/', $id) === 1) {
                        $definition->setPublic(true);
                    }
                }
            }
        });
    }

    private function isProfiled(): bool
    {
        return isset($this->config['web_profiler']);
    }

    /** @param array<string, mixed> $usual */
    private function config(string $name, array $usual, ContainerBuilder $container): void
    {
        $container->loadFromExtension($name, ($this->config[$name] ?? []) + $usual);
    }
}
