<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Scenario\Segment;
use Larder\Lab\Subject\LarderExtension;
use Larder\Tests\Support\Process;
use PHPUnit\Framework\TestCase;

final class SegmentSubjectsTest extends TestCase
{
    /** Seen to fail: without apc.entries_hint in INI for the segment only. */
    public function testAllHaveTheSameSettingsButTheSerializerAndTheExtension(): void
    {
        $all = [];
        foreach ((new Segment())->subjects() as $subject) {
            $ini = $subject->ini;
            if (\in_array($subject->engine, ['segment', 'larder-segment'], true)) {
                self::assertSame(LarderExtension::ini()['extension'] ?? null, $ini['extension'] ?? null);
                self::assertSame(1, $subject->parameters['shared']);
            } else {
                self::assertArrayNotHasKey('shared', $subject->parameters);
            }
            unset($ini['extension'], $ini['apc.serializer']);
            \ksort($ini);
            $all[\serialize($ini)] = $ini;
        }

        self::assertCount(1, $all);
        self::assertSame(32_768, \reset($all)['apc.entries_hint']);
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
