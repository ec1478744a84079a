<?php

declare(strict_types=1);

namespace Larder\Tests\Segment;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** What anybody types who builds an extension, and what PIE does: in a copy of ext/ with nothing in it that is not ours. */
final class StandardBuildTest extends TestCase
{
    private const PATIENCE = 300.0;

    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        if (\trim((string) \shell_exec('command -v phpize 2>/dev/null')) === '') {
            self::markTestSkipped('Needs phpize: install it with bin/setup ext (on Debian, apt-get install php-dev).');
        }
        $this->directory = new TemporaryDirectory('larder-phpize');
        $root = \dirname(__DIR__, 2);
        \exec(\sprintf(
            'cd %s && { git ls-files -z ext || find ext -type f -print0; } | xargs -0 ls -d 2>/dev/null | tar -c -T - | tar -x -C %s',
            \escapeshellarg($root),
            \escapeshellarg($this->directory->path),
        ));
        self::assertFileExists($this->directory->file('ext/config.m4'));
    }

    // Seen to fail: a file ext/build, where phpize makes a folder of that name.
    public function testPhpize(): void
    {
        $this->type('phpize');
        self::assertFileExists($this->directory->file('ext/configure'));
    }

    #[Group('long')]
    public function testPhpizeConfigureMakeAndMakeTest(): void
    {
        $said = $this->type('phpize && ./configure && make -j2 && make test NO_INTERACTION=1 REPORT_EXIT_STATUS=1 TESTS=-j2');
        self::assertMatchesRegularExpression('/^Tests passed +: +2\d/m', $said);
    }

    /** What PIE is told is true: the extension's name, and the option that config.m4 knows. */
    public function testWhatIsSaidToPie(): void
    {
        /** @var array{type: string, "php-ext": array{"extension-name": string, "configure-options": list<array{name: string}>}} $said */
        $said = \json_decode((string) \file_get_contents($this->directory->file('ext/composer.json')), true, flags: \JSON_THROW_ON_ERROR);
        $config = (string) \file_get_contents($this->directory->file('ext/config.m4'));
        self::assertSame('php-ext', $said['type']);
        self::assertStringContainsString('PHP_NEW_EXTENSION([' . $said['php-ext']['extension-name'] . ']', $config);
        foreach ($said['php-ext']['configure-options'] as $option) {
            self::assertStringContainsString('PHP_ARG_ENABLE([' . \substr($option['name'], \strlen('enable-')) . ']', $config);
        }
    }

    private function type(string $command): string
    {
        $process = new Process(['sh', '-c', 'cd ' . \escapeshellarg($this->directory->file('ext')) . ' && { ' . $command . '; } 2>&1'], Extension::environment());
        $status = $process->wait(self::PATIENCE);
        $said = $process->output();
        self::assertSame(0, $status, \substr($said, -3000));

        return $said;
    }
}
