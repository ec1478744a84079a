<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Report\Markdown;
use PHPUnit\Framework\TestCase;

final class MarkdownTest extends TestCase
{
    public function testEveryLineOfATableHasTheSameNumberOfCells(): void
    {
        $tables = 0;
        $cells = null;
        foreach (\explode("\n", (new Markdown())->render(Fixture::report(hostile: true))) as $line) {
            if (!\str_starts_with($line, '| ')) {
                $cells = null;
                continue;
            }
            // A pipe behind an odd number of backslashes is text.
            $count = \preg_match_all('/(?<!\\\\)(?:\\\\\\\\)*\|/', $line);
            $tables += $cells === null ? 1 : 0;
            self::assertSame($cells ??= $count, $count, $line);
        }

        self::assertSame(12 + 4 + 1 + 5 + 2, $tables);
    }

    public function testNothingBecomesMarkup(): void
    {
        $markdown = (new Markdown())->render(Fixture::report(hostile: true));
        self::assertStringContainsString('````sh', $markdown);
        $outside = \preg_replace('/^````sh\n.*\n````$/m', '', $markdown);
        self::assertIsString($outside);

        self::assertStringNotContainsString('<', $outside);
        self::assertStringNotContainsString('http://', $outside);
        self::assertDoesNotMatchRegularExpression('/(?<!\\\\)[`\[]/', $outside);
        self::assertDoesNotMatchRegularExpression('/[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]/', $outside);
        self::assertStringContainsString('\*\*x\*\*', $outside);
    }

    public function testACommandCannotEndItsOwnBlock(): void
    {
        \preg_match('/^(`{3,})sh\n(.*)\n(`{3,})$/m', (new Markdown())->render(Fixture::report(hostile: true)), $block);

        self::assertSame($block[1], $block[3]);
        self::assertStringNotContainsString($block[1], $block[2]);
        self::assertStringContainsString('bin/larder bench engines serializers loop --seed=1', $block[2]);
    }

    public function testUsualNamesStayReadable(): void
    {
        $markdown = (new Markdown())->render(Fixture::report(scenarios: ['engines']));

        self::assertStringContainsString('| Memcached, uncompressed, socket | igbinary |', $markdown);
        self::assertStringContainsString('| **Redis by phpredis, socket, lzf** | Engines |', $markdown);
    }

    public function testItSaysWhatTheTerminalSays(): void
    {
        $report = Fixture::report(partial: true, quiet: false);
        $markdown = (new Markdown())->render($report);

        foreach ([...$report->notes, 'Where Larder loses: ', '| Engines: read a 50x50 array, one process | OPcache |'] as $sentence) {
            self::assertStringContainsString($sentence, $markdown);
        }
        self::assertStringContainsString('**This run was stopped before its end.**', $markdown);
        self::assertStringContainsString('apt-get install php8.2-lzf', $markdown);
        self::assertStringContainsString('| **Memcached, TCP, msgpack** | Engines | read gave', $markdown);
        self::assertStringContainsString('| processor | Made Up 3000 |', $markdown);
    }
}
