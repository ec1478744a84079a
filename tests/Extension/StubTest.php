<?php

declare(strict_types=1);

namespace Larder\Tests\Extension;

use PHPUnit\Framework\TestCase;

/** What the extension says of itself: in its stub, in the header made from that, and to PHP. */
final class StubTest extends TestCase
{
    private const FOLDER = __DIR__ . '/../../ext/';

    /** Seen to fail: a default in the stub changed, without `make arginfo`. */
    public function testTheHeaderIsWhatTheStubGives(): void
    {
        $stub = (string) \file_get_contents(self::FOLDER . 'larder.stub.php');
        $header = (string) \file_get_contents(self::FOLDER . 'larder_arginfo.h');

        // As PHP's generator writes it; `ext/arginfo check`, which needs Composer, compares all of it.
        self::assertMatchesRegularExpression('/^ \* Stub hash: [0-9a-f]{40} \*\/$/m', $header);
        self::assertStringContainsString('Stub hash: ' . \sha1(\str_replace("\r\n", "\n", $stub)), $header, 'Type make arginfo.');
    }

    /** Seen to fail: a source file taken out of config.m4. */
    public function testWhatIsThereIsBuilt(): void
    {
        $config = (string) \file_get_contents(self::FOLDER . 'config.m4');

        foreach ([...\glob(self::FOLDER . '*.c') ?: [], ...\glob(self::FOLDER . 'segment/*.c') ?: []] as $file) {
            self::assertMatchesRegularExpression('/[\s\[]' . \preg_quote(\substr($file, \strlen(self::FOLDER)), '/') . '[\s\]]/', $config);
        }
    }

    /** Seen to fail: "support-zts": false; another name. */
    public function testThePackageIsTheExtension(): void
    {
        $package = \json_decode((string) \file_get_contents(self::FOLDER . 'composer.json'), true, flags: \JSON_THROW_ON_ERROR);
        $library = \json_decode((string) \file_get_contents(self::FOLDER . '../composer.json'), true, flags: \JSON_THROW_ON_ERROR);
        self::assertIsArray($package);
        self::assertIsArray($library);
        $extension = $package['php-ext'];
        self::assertIsArray($extension);

        self::assertSame('php-ext', $package['type']);
        self::assertSame($library['license'], $package['license']);
        // Composer knows a package by its name alone, whatever its type.
        self::assertNotSame($library['name'], $package['name']);
        self::assertSame('larder', $extension['extension-name']);
        self::assertTrue($extension['support-nts']);
        self::assertTrue($extension['support-zts']);
        self::assertIsArray($extension['configure-options']);
        $config = (string) \file_get_contents(self::FOLDER . 'config.m4');
        foreach ($extension['configure-options'] as $option) {
            self::assertIsArray($option);
            self::assertIsString($option['name']);
            self::assertStringContainsString('PHP_ARG_ENABLE([' . \substr($option['name'], \strlen('enable-')) . ']', $config);
        }
    }
}
