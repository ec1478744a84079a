<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Configuration;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

#[Group('slow')]
final class PluginBuildTest extends TestCase
{
    public function testTheSameSourceGivesTheSameBytes(): void
    {
        $other = new TemporaryDirectory();
        BuiltPlugin::build($other->path);
        $zip = \dirname(BuiltPlugin::path()) . '/larder.zip';
        self::assertFileEquals($zip, $other->file('larder.zip'));
        self::assertSame(['.', '..', 'larder', 'larder.zip'], \scandir($other->path));
        \file_put_contents($other->file('larder/left-over.php'), '');
        BuiltPlugin::build($other->path);
        self::assertFileEquals($zip, $other->file('larder.zip'), 'Nothing of an older one stays.');
        self::assertFileDoesNotExist($other->file('larder/left-over.php'));
    }

    public function testTheZipHasWhatTheFolderHas(): void
    {
        $zip = new \ZipArchive();
        self::assertTrue($zip->open(\dirname(BuiltPlugin::path()) . '/larder.zip'));
        $names = [];
        for ($i = 0; $i < $zip->numFiles; $i++) {
            $name = (string) $zip->getNameIndex($i);
            $names[] = $name;
            self::assertSame((string) \file_get_contents(\dirname(BuiltPlugin::path()) . '/' . $name), $zip->getFromIndex($i), $name);
            $zip->getExternalAttributesIndex($i, $system, $attributes);
            self::assertSame(0o100644, $attributes >> 16, $name);
        }
        self::assertSame($names, \array_map(static fn(string $file): string => 'larder/' . $file, BuiltPlugin::files()));
    }

    /** Seen to fail: another hash there, so that what a site leaves in /var/tmp stayed for ever. */
    public function testTheLaboratoryAndTheBuildKnowASitesName(): void
    {
        self::assertSame(
            [Configuration::siteName(['DB_NAME' => 'shop', 'AUTH_KEY' => 'a key'])],
            BuiltPlugin::run('define("DB_NAME", "shop"); define("AUTH_KEY", "a key"); $table_prefix = "wp_"; echo Larder\WordPress\Presence::name();'),
        );
    }

    public function testNothingOfTheDevelopersGoesAlong(): void
    {
        $foreign = \preg_grep('~\.stub\.php$|/(tests?|source|node_modules|vendor)/|(?<!^composer)\.json$|\.(sh|mjs|md|neon|dist)$|^build$|/\.|^vendor/larder/larder/src/(Psr|Console/.*Command)|symfony~i', BuiltPlugin::files());
        self::assertSame([], \array_values((array) $foreign));
    }

    public function testEveryClassOfItsLibraryCanBeLoaded(): void
    {
        $classes = [];
        foreach (BuiltPlugin::files() as $file) {
            // PredisStream extends a class of Predis, which the plugin does not bring.
            if (\preg_match('~^vendor/larder/larder/src/(?!Driver/Redis/PredisStream)(.*)\.php$~', $file, $match) === 1) {
                $classes[] = 'Larder\\' . \strtr($match[1], '/', '\\');
            } elseif (\preg_match('~^src/(?!Cli/Command|Admin/QueryMonitor)(.*)\.php$~', $file, $match) === 1) {
                $classes[] = 'Larder\WordPress\\' . \strtr($match[1], '/', '\\');
            }
        }
        self::assertGreaterThan(100, \count($classes));
        $answer = BuiltPlugin::run(
            'foreach (array_slice($argv, 1) as $class) { class_exists($class) || interface_exists($class) || trait_exists($class) || print("not there: $class\n"); } echo "done\n";',
            $classes,
        );
        self::assertSame(['done'], $answer);
    }

    /** Not by their files' names, which an update may have removed. */
    public function testEachBundleOfClassesIsFoundByTheAutoloader(): void
    {
        $list = \json_decode(BuiltPlugin::run('echo json_encode(require $argv[1]);', [BuiltPlugin::path('classes.php')])[0], true);
        self::assertIsArray($list);
        $bundles = [];
        foreach (BuiltPlugin::files() as $file) {
            $code = (string) \file_get_contents(BuiltPlugin::path($file));
            \preg_match_all('~class_exists\\(\'(Larder.Classes.[^\']+)~', $code, $match);
            \array_push($bundles, ...$match[1]);
            if (\str_starts_with($file, 'vendor/')) {
                self::assertDoesNotMatchRegularExpression('~require __DIR__ \. \'[^\']*(?<!\.all|HttpDate|RequestKey|StoredReply)\.php\'~', $code, $file);
            }
        }
        $bundles = \array_values(\array_unique($bundles));
        self::assertGreaterThan(5, \count($bundles));
        self::assertSame([], \array_diff($bundles, \array_keys($list)));
        foreach ($bundles as $bundle) {
            self::assertFileExists((string) $list[$bundle]);
        }
    }

    public function testItsLibraryKeepsAValueWithoutAnythingElse(): void
    {
        $directory = new TemporaryDirectory();
        $code = '$cache = Larder\Cache::open("sqlite://$argv[1]/data"); $cache->set("k", $argv[2]); echo Larder\Cache::open("sqlite://$argv[1]/data")->get("k");';
        self::assertSame(['value'], BuiltPlugin::run($code, [$directory->path, 'value']));
        self::assertFileExists($directory->file('data/larder.db'));
    }

    /** The first copy of a library that is loaded is everybody's, and many plugins still have the first version of this one. */
    public function testAnotherPluginsOlderLoggerInterfaceDoesNoHarm(): void
    {
        $code = <<<'PHP'
            eval('namespace Psr\Log;
                interface LoggerInterface { public function warning($message, array $context = array()); public function log($level, $message, array $context = array()); }
                abstract class AbstractLogger implements LoggerInterface { public function warning($message, array $context = array()) { $this->log("warning", $message, $context); } }');
            $logger = new Larder\Console\Support\Complaints();
            // A file where the directory ought to be.
            $cache = Larder\Cache::open(['dsn' => "sqlite://$argv[1]/file/data", 'logger' => $logger]);
            echo json_encode($cache->set('k', 1)), ' ', count($logger->take()) > 0 ? 'said' : 'not said', "\n";
            PHP;
        $directory = new TemporaryDirectory();
        $directory->write('file', '');
        self::assertSame(['false said'], BuiltPlugin::run($code, [$directory->path]));
    }

    public function testVersionsAgree(): void
    {
        $version = static fn(string $file, string $label): string => \preg_match("/^[ *]*$label: *(\S+)/m", (string) \file_get_contents(BuiltPlugin::path($file)), $match) === 1 ? $match[1] : $file;
        $plugin = $version('larder.php', 'Version');
        self::assertSame($plugin, $version('drop-ins/object-cache.php', 'Version'));
        self::assertSame($plugin, $version('readme.txt', 'Stable tag'));
        foreach (['Requires at least', 'Requires PHP', 'License'] as $label) {
            self::assertSame($version('larder.php', $label), $version('readme.txt', $label));
        }
    }

    public function testAnotherPathAndAWrongOne(): void
    {
        $other = new TemporaryDirectory();
        BuiltPlugin::build($other->file('a b/c'));
        self::assertFileExists($other->file('a b/c/larder/larder.php'));
        $this->expectExceptionMessage('usage');
        BuiltPlugin::build('--help');
    }
}
