<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Scenario\Loop;
use Larder\Lab\Scenario\Segment;
use Larder\Lab\Subject\Driver;
use Larder\Lab\Subject\EngineSubjects;
use Larder\Lab\Subject\LarderExtension;
use Larder\Tests\Support\Process;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

final class SubjectsTest extends TestCase
{
    public function testTheNameSaysWhatTheSubjectIs(): void
    {
        foreach (EngineSubjects::all() as $subject) {
            self::assertSame("$subject->engine:$subject->connection:$subject->serializer", $subject->name);
            self::assertTrue($subject->answersTo($subject->engine));
            self::assertSame($subject->engine === 'memcached' ? 'fastlz' : 'none', $subject->compressor, $subject->name);
            self::assertSame($subject->serializer, $subject->parameters['serializer'] ?? null);
            self::assertTrue(\is_a($subject->driver, Driver::class, true), $subject->driver);
            // The driver's connection and the server's must be the same.
            self::assertSame($subject->connection === Cell::PROCESS ? null : $subject->connection, $subject->parameters['connection'] ?? null);
        }
    }

    /** @return iterable<string, array{list<Subject>, array<string, int|string>}> */
    public static function scenarios(): iterable
    {
        $ini = ['apc.enable_cli' => 1, 'apc.shm_size' => '256M', 'opcache.enable_cli' => 1, 'memory_limit' => '1G', 'display_errors' => 'stderr'];
        yield 'engines' => [EngineSubjects::all(), $ini];
        yield 'segment' => [(new Segment())->subjects(), $ini + ['apc.entries_hint' => 32_768]];
    }

    /**
     * But for the serializer of APCu, where APCu is measured, and the extension, where it is what is measured. Seen to fail:
     * without apc.entries_hint for the segment only.
     *
     * @param list<Subject>             $subjects
     * @param array<string, int|string> $expected
     */
    #[DataProvider('scenarios')]
    public function testAllHaveTheSameSettings(array $subjects, array $expected): void
    {
        $all = [];
        foreach ($subjects as $subject) {
            $ini = $subject->ini;
            self::assertSame(\in_array($subject->engine, ['apcu', 'larder-apcu'], true) ? $subject->serializer : 'php', $ini['apc.serializer'] ?? null);
            $isSegment = \in_array($subject->engine, ['segment', 'larder-segment'], true);
            self::assertSame($isSegment ? LarderExtension::ini()['extension'] ?? null : null, $ini['extension'] ?? null);
            self::assertSame($isSegment ? 1 : null, $subject->parameters['shared'] ?? null);
            unset($ini['apc.serializer'], $ini['extension']);
            \ksort($ini);
            $all[\serialize($ini)] = $ini;
        }
        self::assertCount(1, $all);
        self::assertEquals($expected, \array_intersect_key(\reset($all), $expected));
    }

    /** Two of one server do not see each other's entries as somebody else's changes. */
    public function testEachLarderInAServerOrApcuHasAPrefixOfItsOwn(): void
    {
        $prefixes = [];
        foreach (EngineSubjects::all() as $subject) {
            if (isset($subject->parameters['prefix'])) {
                $prefixes[$subject->parameters['prefix']][$subject->engine . ' ' . $subject->serializer] = true;
            }
        }

        self::assertCount(21, $prefixes);
        foreach ($prefixes as $users) {
            self::assertCount(1, $users);
        }
    }

    public function testWhatIsMissingIsNamedWithWhatToType(): void
    {
        foreach (EngineSubjects::all() as $subject) {
            // It is started by this name. Seen to fail: with Valkey's as good.
            self::assertSame(\in_array($subject->service, ['redis', 'redis@network'], true), \in_array('redis-server', \array_column($subject->needs, 'what'), true), $subject->name);
            foreach ($subject->needs as $need) {
                self::assertNotSame('', $need->what);
                self::assertMatchesRegularExpression('/install|require|make ext/', $need->advice);
            }
        }
    }

    public function testThoseOfTheLoopAreEnginesOfTheEnginesWithPlainStrings(): void
    {
        $engines = \array_column(EngineSubjects::all(), null, 'name');
        foreach ((new Loop())->subjects() as $subject) {
            $form = \in_array($subject->engine, ['redis', 'predis'], true) ? 'none' : 'php';
            $engine = $subject->engine === 'larder-request' ? 'larder-sqlite' : $subject->engine;
            $other = $engines["$engine:$subject->connection:$form"];
            self::assertSame(["$subject->engine:$subject->connection", 'none'], [$subject->name, $subject->serializer]);
            self::assertEquals([$other->driver, $other->service, $other->compressor, $other->ini, $other->needs], [$subject->driver, $subject->service, $subject->compressor, $subject->ini, $subject->needs]);
            self::assertSame([], \array_diff_key($other->parameters, $subject->parameters));
            // APCu's serializer is a setting, which strings have nothing to do with.
            self::assertSame($subject->engine === 'apcu' ? 'php' : 'none', $subject->parameters['serializer']);
        }
    }

    /** The module is in no php.ini here, and not where it is looked for. Seen to fail: a met of extension_loaded() in this process. */
    public function testWithoutTheExtensionItIsSaidHowToBuildIt(): void
    {
        $said = static fn(array $environment): string => (string) Process::snippet('
            $need = Larder\Lab\Subject\LarderExtension::need();
            echo json_encode([$need->met, $need->what, $need->advice, Larder\Lab\Subject\LarderExtension::ini()], JSON_UNESCAPED_SLASHES), "\n";', [], [], $environment)->line();
        $none = ['LARDER_EXT' => '', 'PHP_INI_SCAN_DIR' => \PHP_CONFIG_FILE_SCAN_DIR, 'LARDER_MODULE' => '/nowhere/larder.so'];

        self::assertSame('[false,"the PHP extension larder","LARDER_MODULE names /nowhere/larder.so, and there is no such file. Name a larder.so built for this PHP, or type: unset LARDER_MODULE",[]]', $said($none));
        self::assertSame('[false,"the PHP extension larder","make ext, and not LARDER_EXT=0",[]]', $said(['LARDER_EXT' => '0'] + $none));
        // A file that is no module of this PHP.
        self::assertMatchesRegularExpression('~^\[false,"the PHP extension larder","LARDER_MODULE names .*Payloads\.php, which PHP [\d.]+\S* cannot load\. Name a larder\.so [^"]*",\[]]$~', $said(['LARDER_MODULE' => \dirname(__DIR__, 3) . '/lab/Payload/Payloads.php'] + $none));
    }

    /** What was built is found where `make ext` puts it, and loaded by the processes that measure. */
    public function testWhatWasBuiltIsFound(): void
    {
        $module = \dirname(__DIR__, 3) . '/ext/modules/larder.so';
        if (LarderExtension::version() === null) {
            self::markTestSkipped('The extension is not built for this PHP: make ext');
        }
        $said = Process::snippet('
            echo json_encode(Larder\Lab\Subject\LarderExtension::ini(), JSON_UNESCAPED_SLASHES), "\n";', [], [], ['PHP_INI_SCAN_DIR' => \PHP_CONFIG_FILE_SCAN_DIR, 'LARDER_EXT' => '']);

        self::assertContains($said->line(), ['[]', \json_encode(['extension' => $module], \JSON_UNESCAPED_SLASHES)], $said->errors());
    }
}
