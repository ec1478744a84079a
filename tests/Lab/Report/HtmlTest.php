<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Report\Findings;
use Larder\Lab\Report\Html;
use Larder\Lab\Report\Plain;
use Larder\Lab\Report\Tables;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

final class HtmlTest extends TestCase
{
    private const PAGE = __DIR__ . '/../../../lab/Report/Page';

    public function testTheBundleWasBuiltFromTheSourcesThatAreHere(): void
    {
        $names = ['build.mjs', 'package-lock.json', 'package.json'];
        foreach (\glob(self::PAGE . '/source/*') ?: [] as $path) {
            $names[] = 'source/' . \basename($path);
        }
        \sort($names, \SORT_STRING);
        $sources = \implode("\n", \array_map(static fn(string $name): string => "$name\n" . \str_replace("\r\n", "\n", self::read($name)), $names));

        [$first, $rest] = \explode("\n", self::read('bundle.js'), 2);

        self::assertGreaterThan(10, \count($names));
        self::assertSame(1, \preg_match('~^/\* sources sha256 ([0-9a-f]{64}), what follows sha256 ([0-9a-f]{64});~', $first, $hashes));
        self::assertSame(\hash('sha256', $sources), $hashes[1], 'lab/Report/Page/source/ was changed: npm ci && node build.mjs there, and commit bundle.js.');
        self::assertSame(\hash('sha256', $rest), $hashes[2], 'lab/Report/Page/bundle.js was changed by hand: change source/ and build it.');
    }

    public function testTheBundleIsSmallAndSaysWhoseItIs(): void
    {
        $bundle = self::read('bundle.js');
        $notice = self::read('NOTICE');

        self::assertLessThan(700_000, \strlen($bundle));
        foreach (['Apache ECharts', 'Apache License, Version 2.0', 'The Apache Software Foundation', 'Copyright (c) 2017, Baidu Inc.', 'Redistributions in binary form must reproduce'] as $text) {
            self::assertStringContainsString($text, \substr($bundle, 0, 10_000));
        }
        foreach (['Apache License', 'Version 2.0, January 2004', 'The Apache Software Foundation', 'Copyright (c) 2017, Baidu Inc.', 'Mike Bostock'] as $text) {
            self::assertStringContainsString($text, $notice);
        }
        $package = \json_decode(self::read('package.json'), true, 512, \JSON_THROW_ON_ERROR);
        self::assertIsArray($package);
        self::assertIsArray($package['devDependencies']);
        foreach ($package['devDependencies'] as $version) {
            self::assertIsString($version);
            self::assertMatchesRegularExpression('/^\d+\.\d+\.\d+$/', $version);
        }
    }

    /** @return iterable<string, array{bool}> */
    public static function reports(): iterable
    {
        yield 'a usual report' => [false];
        yield 'one with hostile names' => [true];
    }

    #[DataProvider('reports')]
    public function testThePageAsksForNothingAndRunsNothingButItsOwnScript(bool $hostile): void
    {
        $page = self::page(hostile: $hostile);
        $document = self::parse($page);

        $policy = '';
        foreach ($document->getElementsByTagName('meta') as $meta) {
            $policy = $meta->getAttribute('http-equiv') === 'Content-Security-Policy' ? $meta->getAttribute('content') : $policy;
        }
        self::assertStringStartsWith("default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-", $policy);
        \preg_match('/script-src ([^;]*);/', $policy, $allowed);
        $hashes = [];
        $data = 0;
        foreach ($document->getElementsByTagName('script') as $script) {
            if ($script->getAttribute('type') === 'application/json') {
                ++$data;
                continue;
            }
            self::assertFalse($script->hasAttribute('src'));
        }
        // The bytes between the tags, not what a parser makes of them: that is what a browser's hash is of.
        \preg_match_all('~<script>(.*?)</script>~s', $page, $scripts);
        foreach ($scripts[1] as $script) {
            $hashes[] = "'sha256-" . \base64_encode(\hash('sha256', $script, true)) . "'";
        }
        self::assertSame(1, $data);
        self::assertSame($allowed[1] ?? '', \implode(' ', $hashes));
        self::assertSame(2, \preg_match_all('~<script~i', self::withoutBundle($page)));
        foreach ((new \DOMXPath($document))->query('//@*') ?: [] as $attribute) {
            self::assertInstanceOf(\DOMAttr::class, $attribute);
            self::assertStringStartsNotWith('on', \strtolower($attribute->name));
            if (\in_array(\strtolower($attribute->name), ['href', 'src', 'srcset', 'action', 'data', 'poster', 'background'], true)) {
                self::assertMatchesRegularExpression('/^(#[a-z0-9-]+|data:,)$/', $attribute->value);
            }
        }
        self::assertDoesNotMatchRegularExpression('~url\(|@import~i', self::read('page.css'));
    }

    public function testHostileNamesAreTextAndNothingElse(): void
    {
        $usual = self::parse(self::page());
        $page = self::page(hostile: true);
        $document = self::parse($page);

        $names = static function (\DOMDocument $of): array {
            $found = [];
            // Not getElementsByTagName(): each step of that counts from the beginning.
            foreach ((new \DOMXPath($of))->query('//*') ?: [] as $element) {
                $found[$element->nodeName] = true;
            }
            \ksort($found);

            return \array_keys($found);
        };
        self::assertSame($names($usual), $names($document));
        self::assertDoesNotMatchRegularExpression('/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\x{202E}|\x{0085}/u', self::withoutBundle($page));
        $text = $document->getElementsByTagName('body')->item(0)?->textContent;
        self::assertIsString($text);
        // In notes, command, machine, versions, missing, disqualified, rows.
        self::assertGreaterThan(8, \substr_count($text, Plain::line(Fixture::HOSTILE)));
        $subjects = \array_column(self::rows($document), 1);
        self::assertContains(Plain::line(Fixture::HOSTILE), $subjects);
    }

    public function testEveryFigureOfTheTablesIsInThePageAndEveryResultInItsData(): void
    {
        $report = Fixture::report();
        $document = self::parse((new Html())->render($report));
        $tables = new Tables($report);
        $expected = [];
        foreach ([...\array_merge(...\array_values($tables->all())), $tables->ratios(), $tables->noise(), $tables->missing(), $tables->disqualified()] as $table) {
            if ($table !== null) {
                $expected["table-$table->id"] = \array_map(static fn($row): array => $row->cells, $table->rows);
            }
        }

        $found = [];
        foreach ($document->getElementsByTagName('table') as $table) {
            self::assertNotSame('', \trim($table->getElementsByTagName('caption')->item(0)->textContent ?? ''));
            $rows = [];
            foreach ($table->getElementsByTagName('tr') as $line) {
                $cells = [];
                foreach ($line->childNodes as $cell) {
                    self::assertInstanceOf(\DOMElement::class, $cell);
                    if ($cell->nodeName === 'th') {
                        self::assertContains($cell->getAttribute('scope'), ['row', 'col']);
                    }
                    if (!\str_contains($cell->getAttribute('class'), 'bar')) {
                        $cells[] = $cell->textContent;
                    }
                }
                $rows[] = $cells;
            }
            $found[$table->getAttribute('id')] = \array_slice($rows, 1);
        }

        \ksort($expected);
        \ksort($found);
        self::assertSame($expected, $found);

        $rows = self::rows($document);
        self::assertCount(\count($report->results), $rows);
        foreach ($report->results as $i => $result) {
            self::assertSame([$result->cell->scenario, $result->cell->subject, $result->cell->payload, $result->cell->operation, $result->cell->concurrency], [$rows[$i][0], $rows[$i][1], $rows[$i][6], $rows[$i][7], $rows[$i][8]]);
            self::assertEqualsWithDelta($result->summary->median, $rows[$i][12], $result->summary->median * 0.001);
            self::assertIsArray($rows[$i][15]);
            self::assertLessThanOrEqual(100, \count($rows[$i][15]));
            self::assertIsArray($rows[$i][16]);
            self::assertSame($result->summary->n, $rows[$i][16][\count($rows[$i][16]) - 1]);
        }
    }

    public function testEachPictureHasATitleASentenceAndAnAlternative(): void
    {
        $report = Fixture::report();
        $document = self::parse((new Html())->render($report));
        $figures = self::data($document)['figures'];
        self::assertIsArray($figures);
        $keys = [];
        foreach ($document->getElementsByTagName('figure') as $figure) {
            $keys[] = $key = $figure->getAttribute('data-figure');
            $path = new \DOMXPath($document);
            $text = static fn(string $query): string => \trim((string) $path->evaluate("string($query)", $figure));
            self::assertNotSame('', $text('.//h4'), $key);
            self::assertNotSame('', $text('.//p[@class="says"]'), $key);
            self::assertNotSame('', $text('.//p[@class="how"]'), $key);
            self::assertNotSame('', $text('.//div[@role="img"]/@aria-label'), $key);
            self::assertGreaterThan(0, $path->evaluate('count(ancestor::section//table)', $figure), $key);
        }

        self::assertSame(\array_keys($figures), $keys);
        foreach (['engines intervals short', 'engines intervals 20kB', 'engines intervals 50x50', 'engines curves', 'engines heat', 'serializers points', 'serializers heat', 'loop intervals', 'ratios', 'noise'] as $key) {
            self::assertContains($key, $keys);
        }
    }

    public function testEveryChoiceHasItsSentence(): void
    {
        $report = Fixture::report();
        $figures = self::data(self::parse((new Html())->render($report)))['figures'];
        self::assertIsArray($figures);
        $findings = new Findings();
        foreach (['write', 'read'] as $operation) {
            foreach ([1, 10] as $concurrency) {
                self::assertSame($findings->forPicture($report, '20kB', $operation, $concurrency), $figures['engines intervals 20kB']['says']["20kB|$operation|$concurrency"] ?? null);
                self::assertSame($findings->forCurves($report, 'short', $operation, $concurrency), $figures['engines curves']['says']["short|$operation|$concurrency"] ?? null);
                self::assertSame($findings->forHeatMap($report, '50x50', $operation, $concurrency), $figures['engines heat']['says']["50x50|$operation|$concurrency"] ?? null);
            }
        }
        self::assertSame(['|write|', '|read|', '|size|'], \array_keys($figures['serializers heat']['says']));
    }

    public function testWhatSpeaksAgainstTrustingItIsSaidFirst(): void
    {
        $bad = self::page(partial: true, quiet: false);
        $good = self::page();

        self::assertStringContainsString('<strong class="mark bad">Partial', $bad);
        self::assertStringContainsString('<strong class="mark warn">Noisy machine', $bad);
        $short = (new Html())->render(Fixture::report(quiet: false, interval: null));
        self::assertStringContainsString('<strong class="mark warn">Noise not known', $short);
        self::assertLessThan(\strpos($bad, '<main>'), \strpos($bad, 'class="notes loud"'));
        self::assertStringNotContainsString('Partial: stopped', $good);
        self::assertStringNotContainsString('<strong class="mark warn">', $good);
        self::assertStringContainsString('XCache, which ended with PHP 5', $good);
    }

    public function testTheAnswerIsTheThreeFindingsWhereLarderLosesAmongThem(): void
    {
        $report = Fixture::report();
        $path = new \DOMXPath(self::parse((new Html())->render($report)));
        $spans = [];
        foreach ($path->query('//header//p[@class="answer"]/span') ?: [] as $span) {
            $spans[] = $span->textContent;
        }

        self::assertSame((new Findings())->sentences($report), $spans);
        self::assertSame($report->command, $path->evaluate('string(//header//pre)'));
    }

    public function testARunOfNothingIsAPageToo(): void
    {
        $page = (new Html())->render(new \Larder\Lab\Run\Report('bin/larder bench', [], [], [], [], [], [], [], [], true, false, 1, 1, '2026-01-01T00:00:00Z', 0.0));

        self::assertSame([], self::rows(self::parse($page)));
        self::assertStringContainsString('Partial: stopped before its end', $page);
    }

    public function testALargeRunIsUnderThreeMegabytes(): void
    {
        $report = Fixture::report(rounds: 10, samples: 20);

        self::assertGreaterThan(800, \count($report->results));
        self::assertLessThan(3_000_000, \strlen((new Html())->render($report)));
    }

    /** @return iterable<string, array{string}> */
    public static function grounds(): iterable
    {
        yield 'light' => ['/^:root \{(.*?)\n\}/ms'];
        yield 'dark' => ['/:root:not\(\.paper\) \{(.*?)\}/s'];
    }

    /** WCAG 2.2, 1.4.3 and 1.4.11. */
    #[DataProvider('grounds')]
    public function testColoursStandOutFromTheirGround(string $block): void
    {
        self::assertSame(1, \preg_match($block, self::read('page.css'), $found));
        \preg_match_all('/--([a-z0-9-]+): (#[0-9a-f]{6});/', $found[1], $pairs);
        $colours = \array_combine($pairs[1], $pairs[2]);

        foreach (['text', 'soft', 'link', 'good', 'bad', 'larder'] as $ink) {
            foreach (['page', 'card'] as $ground) {
                self::assertGreaterThanOrEqual(4.5, self::contrast($colours[$ink], $colours[$ground]), "$ink on $ground");
            }
        }
        self::assertGreaterThanOrEqual(4.5, self::contrast($colours['bad'], $colours['bad-ground']));
        self::assertGreaterThanOrEqual(4.5, self::contrast($colours['text'], $colours['warn-ground']));
        self::assertGreaterThanOrEqual(4.5, self::contrast($colours['warn'], $colours['card']));
        // A button that is pressed.
        self::assertGreaterThanOrEqual(4.5, self::contrast($colours['card'], $colours['link']));
        foreach (['larder', 'apcu', 'redis', 'predis', 'memcached', 'files', 'other', 'php', 'igbinary', 'msgpack', 'none', 'limit', 'good', 'bad'] as $mark) {
            self::assertGreaterThanOrEqual(3.0, self::contrast($colours[$mark], $colours['card']), $mark);
        }
        for ($i = 0; $i < 5; ++$i) {
            self::assertGreaterThanOrEqual(4.5, \max(self::contrast('#000000', $colours["heat$i"]), self::contrast('#ffffff', $colours["heat$i"])));
        }
    }

    private static function contrast(string $one, string $other): float
    {
        $light = static function (string $colour): float {
            $parts = \array_map(static function (string $hex): float {
                $part = \hexdec($hex) / 255;

                return $part <= 0.04045 ? $part / 12.92 : (($part + 0.055) / 1.055) ** 2.4;
            }, \str_split(\substr($colour, 1), 2));

            return 0.2126 * $parts[0] + 0.7152 * $parts[1] + 0.0722 * $parts[2];
        };
        $lights = [$light($one), $light($other)];

        return (\max($lights) + 0.05) / (\min($lights) + 0.05);
    }

    private static function page(bool $partial = false, bool $quiet = true, bool $hostile = false): string
    {
        static $pages = [];

        return $pages[\implode(' ', [(int) $partial, (int) $quiet, (int) $hostile])] ??= (new Html())->render(Fixture::report(partial: $partial, quiet: $quiet, hostile: $hostile));
    }

    private static function parse(string $page): \DOMDocument
    {
        $document = new \DOMDocument();
        // The parser is libxml's of HTML 4: it knows neither figure nor section, but takes them as they are.
        $before = \libxml_use_internal_errors(true);
        $document->loadHTML($page);
        \libxml_clear_errors();
        \libxml_use_internal_errors($before);

        return $document;
    }

    /** @return array<mixed> */
    private static function data(\DOMDocument $document): array
    {
        $data = \json_decode($document->getElementById('data')->textContent ?? '', true, 512, \JSON_THROW_ON_ERROR);
        self::assertIsArray($data);

        return $data;
    }

    /** @return list<list<mixed>> */
    private static function rows(\DOMDocument $document): array
    {
        $rows = self::data($document)['rows'];
        self::assertIsArray($rows);

        return $rows;
    }

    /** All of it that is made of the report, and the style. */
    private static function withoutBundle(string $page): string
    {
        $end = \strrpos($page, '<script>');
        self::assertIsInt($end);

        return \substr($page, 0, $end);
    }

    private static function read(string $name): string
    {
        $text = \file_get_contents(self::PAGE . "/$name");
        self::assertIsString($text);

        return $text;
    }
}
