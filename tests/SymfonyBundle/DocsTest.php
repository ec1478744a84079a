<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Larder\Session\SessionHandler;
use Larder\SymfonyBundle\Cache\LarderAdapter;
use Larder\SymfonyBundle\LarderBundle;
use Larder\SymfonyBundle\Messenger\LarderTransport;
use Larder\Tests\Bridge\Frameworks;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Component\Lock\LockFactory;

/** What docs/symfony.md says works, in a small application that Composer makes of the packages in build/frameworks/. */
#[CoversNothing]
#[Group('bridge')]
final class DocsTest extends TestCase
{
    private const ROOT = __DIR__ . '/../..';

    private TemporaryDirectory $app;

    protected function setUp(): void
    {
        Frameworks::demand();
        $this->app = new TemporaryDirectory();
        $this->app->write('composer.json', \json_encode(self::project(), \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_SLASHES));
        foreach (['src', 'bin', 'config', 'config/packages'] as $directory) {
            \mkdir($this->app->file($directory));
        }
        $this->app->write('src/Kernel.php', <<<'PHP'
            <?php
            namespace App;
            final class Kernel extends \Symfony\Component\HttpKernel\Kernel
            {
                use \Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
            }
            PHP);
        $this->app->write('bin/console', <<<'PHP'
            <?php
            require __DIR__ . '/../vendor/autoload.php';
            (new \Symfony\Bundle\FrameworkBundle\Console\Application(new \App\Kernel('dev', true)))->run();
            PHP);
        // The second one is what Symfony Flex writes, which is not there.
        $this->app->write('config/bundles.php', \sprintf('<?php return [%s::class => ["all" => true], %s::class => ["all" => true]];', FrameworkBundle::class, LarderBundle::class));
        $this->app->write('config/packages/framework.yaml', "framework: { secret: 's', http_method_override: false, handle_all_throwables: true, php_errors: { log: true } }\n");
        $this->sh('composer update --quiet');
    }

    public function testThePageBeginsWithFiveLinesThatWork(): void
    {
        [$lines] = self::blocks('');
        self::assertCount(5, \explode("\n", $lines));
        $this->install($lines);

        $use = 'require "vendor/autoload.php"; $kernel = new App\Kernel("dev", true); $kernel->boot();'
            . ' $pool = $kernel->getContainer()->get("cache.app"); echo $pool::class, " ", $pool->get("key", fn() => getmypid());';
        $first = $this->php($use);
        self::assertStringStartsWith(LarderAdapter::class . ' ', $first);
        self::assertSame($first, $this->php($use), 'Another process finds it.');
        self::assertDirectoryExists($this->app->file('var/larder'));
        $this->sh('php bin/console cache:clear');
        self::assertSame($first, $this->php($use), 'cache:clear leaves it alone.');
        $this->sh('php bin/console cache:pool:clear cache.app');
        self::assertNotSame($first, $this->php($use));

        [$example] = self::blocks('php');
        self::assertSame('{"EUR":1.08}', $this->php('require "vendor/autoload.php"; $kernel = new App\Kernel("dev", true); $kernel->boot(); $pool = $kernel->getContainer()->get("cache.app");'
            . \str_replace('use Larder\Computation;', '', $example) . ' echo json_encode($rates);', 'use Larder\Computation;'));
    }

    public function testEachConfigurationIsTaken(): void
    {
        $this->install(self::blocks('')[0]);
        $blocks = self::blocks('yaml');
        self::assertGreaterThanOrEqual(3, \count($blocks));
        foreach ($blocks as $i => $block) {
            // Below /var/lib root alone makes directories.
            $this->app->write("config/packages/page$i.yaml", \str_replace('/var/lib/app', $this->app->path, $block));
        }
        $ids = ['products' => LarderAdapter::class, 'prices' => LarderAdapter::class, 'menus' => LarderAdapter::class, 'lock.factory' => LockFactory::class, 'messenger.transport.async' => LarderTransport::class, 'larder.session_handler' => SessionHandler::class];
        // Nothing uses them, so they would go.
        $this->app->write('config/packages/used.yaml', "services:\n" . \implode('', \array_map(static fn(string $id): string => "    used.$id: { alias: $id, public: true }\n", \array_keys($ids))));
        $this->sh('rm -r var/cache && php bin/console lint:container');
        $classes = $this->php('require "vendor/autoload.php"; $kernel = new App\Kernel("dev", true); $kernel->boot();'
            . ' echo json_encode(array_map(fn($id) => $kernel->getContainer()->get("used.$id")::class, ' . \var_export(\array_keys($ids), true) . '));');
        self::assertSame(\array_values($ids), \json_decode($classes));
    }

    private function install(string $lines): void
    {
        $output = $this->sh(\str_replace('/path/to/larder', (string) \realpath(self::ROOT), $lines));
        self::assertStringContainsString($this->app->file('var/larder'), $output);
    }

    /** @return list<string> the page's blocks of this language */
    private static function blocks(string $language): array
    {
        \preg_match_all("/^```$language\\n(.*?)\\n```$/ms", (string) \file_get_contents(self::ROOT . '/docs/symfony.md'), $blocks);

        return $blocks[1];
    }

    private function php(string $code, string $before = ''): string
    {
        $this->app->write('run.php', "<?php $before $code");

        return $this->sh('php run.php');
    }

    /** @return string what the commands print, which must all succeed */
    private function sh(string $commands): string
    {
        $process = new Process(['sh', '-ec', $commands], ['COMPOSER_HOME' => $this->app->file('composer'), 'COMPOSER_ALLOW_SUPERUSER' => '1', 'COMPOSER_NO_INTERACTION' => '1', 'COMPOSER_NO_AUDIT' => '1', 'LARDER_DSN' => null], $this->app->path);
        $output = $process->output(120.0);
        self::assertSame(0, $process->wait(), "$commands\n$output" . $process->errors());

        return $output;
    }

    /** @return array<string, mixed> a composer.json that asks no network */
    private static function project(): array
    {
        $installed = self::json('build/frameworks/composer/installed.json');
        $repositories = [['packagist.org' => false]];
        foreach ($installed['packages'] as ['name' => $name, 'version' => $version]) {
            $repositories[] = ['type' => 'path', 'url' => \realpath(self::ROOT . "/build/frameworks/$name"), 'options' => ['versions' => [$name => \ltrim($version, 'v')]]];
        }

        return [
            'name' => 'app/app', 'type' => 'project', 'repositories' => $repositories,
            'require' => ['symfony/framework-bundle' => '*', 'symfony/lock' => '*', 'symfony/messenger' => '*', 'symfony/yaml' => '*'],
            'replace' => self::json('tests/Bridge/composer.json')['replace'],
            'autoload' => ['psr-4' => ['App\\' => 'src/'], 'files' => [(string) \realpath(self::ROOT . '/tests/Bridge/deepclone.php')]],
        ];
    }

    private static function json(string $file): mixed
    {
        return \json_decode((string) \file_get_contents(self::ROOT . "/$file"), true, 64, \JSON_THROW_ON_ERROR);
    }
}
