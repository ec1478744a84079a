<?php

declare(strict_types=1);

namespace Larder\Tests\Packages;

use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Process\Process;

/** bin/release in a clone of this checkout, with what git knows of it. */
#[CoversNothing]
#[Group('long')]
final class ReleaseTest extends TestCase
{
    private const ROOT = __DIR__ . '/../..';

    private const VERSION = '98.7.6';

    private TemporaryDirectory $directory;

    private string $clone;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory('larder-release');
        $this->clone = $this->directory->file('larder');
        $present = \trim(self::done(['bin/snapshot'], self::ROOT));
        self::done(['git', 'clone', '--quiet', '--shared', '--no-checkout', self::ROOT, $this->clone]);
        self::done(['git', 'reset', '--quiet', '--hard', \trim(self::done(['git', 'rev-parse', $present], self::ROOT))], $this->clone);
        \symlink((string) \realpath(self::ROOT . '/vendor'), "$this->clone/vendor");
        \file_put_contents("$this->clone/.git/info/exclude", "/vendor\n");
        foreach (['user.name' => 'Somebody', 'user.email' => 'somebody@example.org', 'advice.detachedHead' => 'false'] as $name => $value) {
            self::done(['git', 'config', $name, $value], $this->clone);
        }
    }

    /** Seen to fail: a tag in a dry run, a version that was left as it was, a checksum of another file. */
    public function testADryRunAndARelease(): void
    {
        $before = $this->state();
        self::done(['bin/release', '--dry-run', self::VERSION], $this->clone, 300.0);
        self::assertSame($before, $this->state(), 'nothing has changed');
        $this->checkArchives();

        $output = self::done(['bin/release', self::VERSION], $this->clone, 300.0);
        self::assertStringContainsString('Tagged v' . self::VERSION, $output);
        self::assertSame([self::VERSION, '', ''], [\ltrim(\trim(self::done(['git', 'describe', '--exact-match'], $this->clone)), 'v'), self::done(['git', 'status', '--porcelain'], $this->clone), self::done(['git', 'diff', 'HEAD', 'v' . self::VERSION], $this->clone)]);
        self::assertSame('v' . self::VERSION, \trim(self::done(['git', 'describe', '--exact-match'], "$this->clone/build/release/packages/ext")));
        $this->checkArchives();
        $changes = (string) \file_get_contents("$this->clone/CHANGELOG.md");
        self::assertMatchesRegularExpression('/^## \[Unreleased\]\n\n## \[98\.7\.6\] - \d{4}-\d\d-\d\d\n\n### Added\n\n- /m', $changes);

        self::assertStringContainsString('CHANGELOG.md has nothing under', $this->refused('99.0.0'));
        self::assertStringContainsString('there is a tag v' . self::VERSION, $this->refused(self::VERSION));
        self::assertStringContainsString('98.7.5 comes before 98.7.6', $this->refused('98.7.5'));
    }

    public function testWhatIsNoVersionAndChangesThatAreNotCommitted(): void
    {
        foreach (['', '1.0', 'v1.0.0', '1.0.0-rc1', '01.0.0', '--help'] as $version) {
            self::assertStringContainsString('usage:', $this->refused($version), $version);
        }
        \file_put_contents("$this->clone/new.php", '<?php');
        self::assertStringContainsString('changes that are not committed', $this->refused('98.7.6'));
    }

    private function checkArchives(): void
    {
        $release = "$this->clone/build/release";
        $archives = \array_map(\basename(...), \glob("$release/larder-*") ?: []);
        $expected = \array_map(static fn(string $name): string => "larder-$name" . self::VERSION, ['', 'ext-', 'lab-', 'library-', 'symfony-bundle-', 'wordpress-plugin-']);
        self::assertSame($expected, \array_map(static fn(string $file): string => (string) \preg_replace('/\.(zip|cdx\.json)$/', '', $file), $archives));
        self::assertCount(6, \explode("\n", \trim(self::done(['sha256sum', '--check', '--strict', 'SHA256SUMS'], $release))));

        $of = static function (string $archive, string $file) use ($release): string {
            $zip = new \ZipArchive();
            self::assertTrue($zip->open("$release/larder-$archive-" . self::VERSION . '.zip'));

            return (string) $zip->getFromName($file);
        };
        $folder = 'library-' . self::VERSION;
        self::assertStringContainsString("CURRENT = '98.7.6'", $of('library', "larder-$folder/src/Config/Version.php"));
        self::assertStringContainsString("SERIES = '98.7.'", $of('library', "larder-$folder/src/Config/SegmentPlace.php"));
        self::assertStringContainsString('namespace Larder', $of('library', "larder-$folder/classes/cache.all.php"));
        self::assertStringContainsString('PHP_LARDER_VERSION "98.7.6"', $of('ext', 'larder-ext-98.7.6/php_larder.h'));
        self::assertStringContainsString("\n * Version: 98.7.6\n", $of('wordpress-plugin', 'larder/larder.php'));
        self::assertStringContainsString("\n * Version: 98.7.6\n", $of('wordpress-plugin', 'larder/drop-ins/object-cache.php'));
        self::assertStringContainsString("CURRENT = '98.7.6'", $of('wordpress-plugin', 'larder/vendor/larder/larder/src/Config/Version.php'));
        self::assertStringContainsString("\nStable tag: 98.7.6\n", $of('wordpress-plugin', 'larder/readme.txt'));
        self::assertStringNotContainsString('Unreleased', $of('wordpress-plugin', 'larder/readme.txt'));

        $bill = \json_decode((string) \file_get_contents("$release/larder-98.7.6.cdx.json"), true, flags: \JSON_THROW_ON_ERROR);
        self::assertIsArray($bill);
        self::assertSame(['CycloneDX', '1.5'], [$bill['bomFormat'], $bill['specVersion']]);
        self::assertMatchesRegularExpression('/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/', $bill['serialNumber']);
        $components = \array_column($bill['components'], 'version', 'name');
        self::assertSame(['larder/ext', 'larder/lab', 'larder/symfony-bundle', 'larder/wordpress-plugin', 'psr/cache', 'psr/simple-cache', 'psr/log'], \array_keys($components));
        self::assertSame([self::VERSION], \array_values(\array_unique(\array_slice($components, 0, 4))));
        self::assertSame(\ltrim((string) \Composer\InstalledVersions::getPrettyVersion('psr/log'), 'v'), $components['psr/log']);
        // Each reference is of a component, and each component has its row.
        $references = [$bill['metadata']['component']['bom-ref'], ...\array_column($bill['components'], 'bom-ref')];
        self::assertEqualsCanonicalizing($references, \array_column($bill['dependencies'], 'ref'));
        self::assertSame([], \array_diff(\array_merge(...\array_column($bill['dependencies'], 'dependsOn')), $references));
    }

    /** @return array{string, string, string} what a dry run may not change */
    private function state(): array
    {
        return [self::done(['git', 'rev-parse', 'HEAD'], $this->clone), self::done(['git', 'status', '--porcelain'], $this->clone), self::done(['git', 'tag'], $this->clone)];
    }

    private function refused(string $version): string
    {
        $process = new Process(['bin/release', $version], $this->clone);
        self::assertNotSame(0, $process->run());

        return $process->getErrorOutput();
    }

    /** @param list<string> $command */
    private static function done(array $command, ?string $directory = null, float $seconds = 60.0): string
    {
        $process = new Process($command, $directory, timeout: $seconds);
        self::assertSame(0, $process->run(), \implode(' ', $command) . "\n" . $process->getOutput() . $process->getErrorOutput());

        return $process->getOutput();
    }
}
