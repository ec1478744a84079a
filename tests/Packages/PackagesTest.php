<?php

declare(strict_types=1);

namespace Larder\Tests\Packages;

use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Process\Process;

/**
 * What bin/split makes is what is installed: each package by Composer into an empty project, from its archive, and used there.
 *
 * Composer fetches nothing: packages of others come from the directories into which it has put them for Larder's developers.
 */
#[CoversNothing]
#[Group('long')]
final class PackagesTest extends TestCase
{
    private const ROOT = __DIR__ . '/../..';

    /** Kilobytes of a zip. */
    private const LARGEST = ['larder' => 1_000, 'ext' => 300, 'lab' => 600, 'symfony-bundle' => 100, 'wordpress-plugin' => 1_200];

    private const MIT = ['larder', 'ext', 'lab', 'symfony-bundle'];

    private static ?TemporaryDirectory $split = null;

    /** With each package's archive, NAME.zip, and what it holds, in NAME/. */
    private static function packages(): string
    {
        if (self::$split === null) {
            $split = new TemporaryDirectory('larder-packages');
            self::done([self::ROOT . '/bin/split', $split->file('repositories')]);
            foreach (\array_keys(self::LARGEST) as $name) {
                $zip = $split->file("$name.zip");
                self::done(['git', '-C', $split->file("repositories/$name"), 'archive', '--format=zip', "--output=$zip", 'HEAD']);
                $archive = self::zip($zip);
                \assert($archive->extractTo($split->file($name)));
                // What Composer reads of a tag, it must find in an archive that lies in a directory.
                $package = self::json((string) $archive->getFromName('composer.json'));
                $archive->addFromString('composer.json', \json_encode($package + ['version' => '1.0.0'], \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_SLASHES));
                $archive->close();
            }
            self::$split = $split;
        }

        return self::$split->path;
    }

    public static function tearDownAfterClass(): void
    {
        self::$split = null;
    }

    /** Seen to fail: docs/ in larder, a file of ext/ without the LICENSE, tests of the laboratory autoloaded. */
    public function testWhatEachPackageHolds(): void
    {
        $packages = self::packages();
        foreach (self::LARGEST as $name => $kilobytes) {
            self::assertLessThan($kilobytes * 1000, (int) \filesize("$packages/$name.zip"), $name);
            $package = self::json((string) \file_get_contents("$packages/$name/composer.json"));
            $isMit = \in_array($name, self::MIT, true);
            self::assertSame("larder/$name", $package['name']);
            self::assertSame($isMit ? 'MIT' : 'GPL-2.0-or-later', $package['license'], $name);
            self::assertStringContainsString($isMit ? 'MIT License' : 'GNU GENERAL PUBLIC LICENSE', (string) \file_get_contents("$packages/$name/LICENSE"), $name);
            foreach (self::files("$packages/$name") as $file) {
                $isMit && self::assertDoesNotMatchRegularExpression('/License: *GPL|GNU General Public License/i', (string) \file_get_contents("$packages/$name/$file"), "$name/$file");
                $isMit && \preg_match('/"license"/', $file) !== 1 && self::assertStringNotContainsString('wordpress/', "$name/" . \dirname($file) . '/');
            }
        }
        self::assertSame(['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'bin', 'classes', 'composer.json', 'config', 'larder-serve.php', 'preload.php', 'src'], self::names("$packages/larder"));
        self::assertSame(['larder'], self::names("$packages/larder/bin"));
        self::assertContains('cache.all.php', self::names("$packages/larder/classes"));
        self::assertContains('larder.php', self::names("$packages/wordpress-plugin"));
        self::assertSame(['php-ext', 'wordpress-plugin', 'symfony-bundle'], \array_map(static fn(string $name): mixed => self::json((string) \file_get_contents("$packages/$name/composer.json"))['type'], ['ext', 'wordpress-plugin', 'symfony-bundle']));
    }

    /** Seen to fail: vendor/ and build/ of a checkout that is worked in. */
    public function testComposersArchiveHasWhatGitsHas(): void
    {
        $checkout = new TemporaryDirectory('larder-checkout');
        self::done(['sh', '-c', 'git ls-files -z --cached --others --exclude-standard | tar --null -T - --ignore-failed-read -cf - | tar -x -C ' . \escapeshellarg($checkout->path)], (string) \realpath(self::ROOT));
        self::done(['sh', '-c', 'git init -q && git add -A && git -c user.name=test -c user.email=test@localhost commit -qm all && git archive --output=.git/git.tar HEAD'], $checkout->path);
        // What using it leaves there, and git ignores.
        foreach (['vendor/symfony/console', 'build/packages', '.cache', 'ext/modules', 'ext/build'] as $directory) {
            \mkdir($checkout->file($directory), 0o777, true);
            $checkout->write("$directory/file.php", '<?php');
        }
        $checkout->write('composer.lock', '{}');
        self::done(['composer', 'archive', '--no-interaction', '--format=tar', '--dir=' . $checkout->file('.git'), '--file=composer'], $checkout->path);

        $of = static function (string $archive) use ($checkout): array {
            $files = \array_values(\array_filter(\explode("\n", self::done(['tar', '-tf', $checkout->file(".git/$archive.tar")], $checkout->path)), static fn(string $file): bool => $file !== '' && !\str_ends_with($file, '/')));
            \sort($files);

            return $files;
        };
        self::assertContains('src/Cache.php', $of('git'));
        self::assertSame($of('git'), $of('composer'));
    }

    /** Seen to fail: Larder\Lab in the autoloader of larder/larder. */
    public function testTheLibraryAlone(): void
    {
        $project = $this->project(['larder/larder' => '1.0.0', 'symfony/console' => '*'], self::ROOT . '/vendor');
        $script = $project->write('try.php', <<<'PHP'
            <?php
            require 'vendor/autoload.php';
            $cache = Larder\Cache::open('sqlite://' . __DIR__ . '/cache');
            $cache->set('k', ['v']);
            $cache = Larder\Cache::open('sqlite://' . __DIR__ . '/cache');
            echo json_encode([$cache->get('k'), (new Larder\Psr\SimpleCache($cache))->set('k', 1), class_exists(Larder\Lab\Installation::class), class_exists(Larder\Tests\Support\Wait::class)]);
            PHP);
        self::assertSame('[["v"],true,false,false]', self::done([\PHP_BINARY, $script], $project->path));
        $bench = new Process([$project->file('vendor/bin/larder'), 'bench', 'engines', '--quick'], $project->path);
        self::assertSame(1, $bench->run());
        self::assertStringContainsString('Type: composer require --dev larder/lab', $bench->getErrorOutput());
        self::assertStringContainsString('Larder ', self::done([$project->file('vendor/bin/larder'), '--version'], $project->path));
        self::assertStringContainsString('php', \strtolower(self::done([$project->file('vendor/bin/larder'), 'doctor', '--dsn=sqlite://' . $project->file('doctor')], $project->path)));
    }

    /** Seen to fail: with the autoloader looked for where it was when the laboratory was a folder of the library. */
    public function testTheLaboratory(): void
    {
        $project = $this->project(['larder/lab' => '1.0.0'], self::ROOT . '/vendor');
        $output = self::done([$project->file('vendor/bin/larder'), 'bench', 'loop', '--quick', '--rounds=1', '--subjects=larder-sqlite', '--markdown=' . $project->file('report.md')], $project->path);
        self::assertStringContainsString('SQLite', (string) \file_get_contents($project->file('report.md')), $output);
    }

    public function testTheExtension(): void
    {
        $build = new TemporaryDirectory('larder-ext');
        self::zip(self::packages() . '/ext.zip')->extractTo($build->path);
        self::done(['sh', '-c', 'phpize && ./configure --quiet && make --silent -j2 && NO_INTERACTION=1 TEST_PHP_ARGS=-q make --silent test'], $build->path, 600.0);
        self::assertSame('larder', self::done([\PHP_BINARY, '-n', '-d', 'extension=' . $build->file('modules/larder.so'), '-r', 'echo (new ReflectionExtension("larder"))->getName();']));
    }

    public function testThePlugin(): void
    {
        $project = $this->project(['larder/wordpress-plugin' => '1.0.0'], self::ROOT . '/vendor');
        // It brings its library along, and Composer loads nothing of it.
        $plugin = $project->file('vendor/larder/wordpress-plugin');
        self::assertSame(['src', 'LICENSE', 'classes'], \array_values(\array_intersect(['src', 'LICENSE', 'classes'], self::names("$plugin/vendor/larder/larder"))));
        self::assertDirectoryExists("$plugin/vendor/psr/log");
        $script = $project->write('try.php', <<<'PHP'
            <?php
            require 'vendor/autoload.php';
            $before = class_exists(Larder\Cache::class);
            define('ABSPATH', __DIR__ . '/');
            require 'vendor/larder/wordpress-plugin/autoload.php';
            $cache = Larder\Cache::open('sqlite://' . __DIR__ . '/cache');
            $cache->set('k', 'v');
            echo json_encode([$before, $cache->get('k'), class_exists(Larder\WordPress\ObjectCache::class)]);
            PHP);
        self::assertSame('[false,"v",true]', self::done([\PHP_BINARY, $script], $project->path));
    }

    /** Needs Symfony: make frameworks. */
    #[Group('bridge')]
    public function testTheBundle(): void
    {
        $project = $this->project(['larder/symfony-bundle' => '1.0.0'], self::ROOT . '/build/frameworks');
        $script = $project->write('try.php', <<<'PHP'
            <?php
            require 'vendor/autoload.php';
            $kernel = new class('prod', false) extends Symfony\Component\HttpKernel\Kernel {
                public function registerBundles(): iterable
                {
                    return [new Symfony\Bundle\FrameworkBundle\FrameworkBundle(), new Larder\SymfonyBundle\LarderBundle()];
                }

                public function registerContainerConfiguration(Symfony\Component\Config\Loader\LoaderInterface $loader): void
                {
                    $loader->load(static function (Symfony\Component\DependencyInjection\ContainerBuilder $container): void {
                        $container->loadFromExtension('framework', ['secret' => 's', 'http_method_override' => false, 'handle_all_throwables' => true, 'php_errors' => ['log' => false], 'cache' => ['app' => 'cache.adapter.larder']]);
                        $container->loadFromExtension('larder', ['dsn' => 'sqlite://' . __DIR__ . '/cache']);
                        $container->setAlias('pool', 'cache.app')->setPublic(true);
                    });
                }

                public function getProjectDir(): string
                {
                    return __DIR__;
                }
            };
            $kernel->boot();
            $pool = $kernel->getContainer()->get('pool');
            echo json_encode([$pool::class, $pool->get('k', static fn() => 'v'), $pool->get('k', static fn() => 'w')]);
            PHP);
        self::assertSame('["Larder\\\\SymfonyBundle\\\\Cache\\\\LarderAdapter","v","v"]', self::done([\PHP_BINARY, $script], $project->path));
    }

    /**
     * An empty project into which Composer has installed packages, without those for developers.
     *
     * @param array<string, string> $require versions by package
     * @param string                $others  the directory of packages from which all comes that is not Larder's
     */
    private function project(array $require, string $others): TemporaryDirectory
    {
        $project = new TemporaryDirectory('larder-project');
        $installed = self::json((string) \file_get_contents("$others/composer/installed.json"))['packages'];
        self::assertIsArray($installed);
        $repository = [];
        foreach ($installed as $package) {
            self::assertIsArray($package);
            self::assertIsString($package['install-path'] ?? '');
            $directory = \realpath("$others/composer/" . ($package['install-path'] ?? ''));
            if ($directory !== false && $package['name'] !== 'larder/larder') {
                unset($package['source'], $package['install-path'], $package['installation-source']);
                $repository[] = ['dist' => ['type' => 'path', 'url' => $directory]] + $package;
            }
        }
        $project->write('composer.json', \json_encode([
            'require' => $require,
            'repositories' => [['type' => 'artifact', 'url' => self::packages()], ['type' => 'package', 'package' => $repository], ['packagist.org' => false]],
            'config' => ['allow-plugins' => false],
        ], \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_SLASHES));
        self::done(['composer', 'install', '--no-dev', '--no-interaction', '--no-progress', '--no-scripts'], $project->path, 300.0);

        return $project;
    }

    /**
     * @param list<string> $command
     *
     * @return string what it has printed
     */
    private static function done(array $command, ?string $directory = null, float $seconds = 300.0): string
    {
        $process = new Process($command, $directory, timeout: $seconds);
        self::assertSame(0, $process->run(), \implode(' ', $command) . "\n" . $process->getOutput() . $process->getErrorOutput());

        return $process->getOutput();
    }

    private static function zip(string $file): \ZipArchive
    {
        $archive = new \ZipArchive();
        self::assertTrue($archive->open($file));

        return $archive;
    }

    /** @return array<array-key, mixed> */
    private static function json(string $text): array
    {
        $value = \json_decode($text, true, flags: \JSON_THROW_ON_ERROR);
        self::assertIsArray($value);

        return $value;
    }

    /** @return list<string> */
    private static function names(string $directory): array
    {
        return \array_values(\array_diff(\scandir($directory) ?: [], ['.', '..']));
    }

    /** @return iterable<string> below the directory */
    private static function files(string $directory): iterable
    {
        /** @var iterable<string> $files */
        $files = new \RecursiveIteratorIterator(new \RecursiveDirectoryIterator($directory, \FilesystemIterator::CURRENT_AS_PATHNAME | \FilesystemIterator::SKIP_DOTS));
        foreach ($files as $file) {
            yield \substr($file, \strlen("$directory/"));
        }
    }
}
