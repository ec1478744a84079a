<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Report\Html;
use Larder\Lab\Report\Tables;
use Larder\Lab\Run\Result;
use PHPUnit\Framework\TestCase;

final class HtmlTest extends TestCase
{
    public function testThePageAsksForNothingAndRunsNothing(): void
    {
        $page = (new Html())->render(Fixture::hostile());
        $document = self::parse($page);

        self::assertStringContainsString("default-src 'none'", $page);
        self::assertSame(0, $document->getElementsByTagName('script')->length);
        foreach (self::elements($document) as $element) {
            foreach ($element->attributes as $attribute) {
                self::assertDoesNotMatchRegularExpression('/^on|^src|^srcset$|^action$/', $attribute->nodeName);
                if (\in_array($attribute->nodeName, ['href', 'xlink:href'], true)) {
                    self::assertMatchesRegularExpression('/^(#|data:,$)/', (string) $attribute->nodeValue);
                }
            }
        }
    }

    public function testHostileNamesAreTextAndNothingElse(): void
    {
        $names = static function (string $page): array {
            $names = [];
            foreach (self::elements(self::parse($page)) as $element) {
                $names[$element->nodeName] = true;
            }
            \ksort($names);

            return \array_keys($names);
        };

        self::assertSame($names((new Html())->render(Fixture::report())), $names((new Html())->render(Fixture::hostile())));
    }

    public function testEveryFigureOfTheTablesIsInThePage(): void
    {
        $report = Fixture::report();
        $cells = [];
        foreach (self::elements(self::parse((new Html())->render($report)), 'td') as $cell) {
            $cells[$cell->textContent] = true;
        }
        foreach ((new Tables($report))->all() as $tables) {
            foreach ($tables as $table) {
                foreach ($table->rows as $row) {
                    foreach (\array_slice($row->cells, 1) as $cell) {
                        self::assertArrayHasKey($cell, $cells);
                    }
                }
            }
        }
    }

    public function testEachPictureHasATitleADescriptionAndALegend(): void
    {
        $document = self::parse((new Html())->render(Fixture::report()));
        // What the samples look like is a picture in the picture.
        $pictures = \array_filter(self::elements($document, 'svg'), static fn(\DOMElement $picture): bool => $picture->parentNode?->nodeName !== 'svg');
        self::assertCount(1 + 12, $pictures, 'the first, and one a group');
        $ids = [];
        foreach ($pictures as $picture) {
            self::assertSame('img', $picture->getAttribute('role'));
            foreach (\explode(' ', $picture->getAttribute('aria-labelledby')) as $id) {
                $ids[] = $id;
            }
            self::assertNotSame('', $picture->getElementsByTagName('title')->item(0)?->textContent);
            self::assertMatchesRegularExpression('/ is first with .+ last with /', (string) $picture->getElementsByTagName('desc')->item(0)?->textContent);
            self::assertStringContainsString('95 % interval', $picture->textContent);
            self::assertStringContainsString('on a logarithmic scale', $picture->textContent);
        }
        self::assertSame($ids, \array_unique($ids));
    }

    public function testTheFirstPictureStandsBeforeAllElse(): void
    {
        $page = (new Html())->render(Fixture::report());
        $place = static fn(string $text): int => \strpos($page, $text) ?: self::fail("There is no $text.");

        self::assertLessThan($place('<aside'), $place('<svg'));
        self::assertLessThan($place('<table'), $place('<svg'));
        self::assertStringContainsString('Engines: read a 50x50 array, one process', \substr($page, $place('<main'), 200));
    }

    /** Rows stand in the order of their figures, each with what its samples look like; Larder's are marked, and names come before ids. */
    public function testRowsAreSortedAndNamed(): void
    {
        $report = Fixture::report();
        $picture = self::parse((new Html())->render($report))->getElementsByTagName('svg')->item(0);
        self::assertNotNull($picture);
        $places = $names = [];
        foreach ($picture->getElementsByTagName('line') as $line) {
            if ($line->getAttribute('class') === 'middle' && \str_ends_with($line->getAttribute('x1'), '%')) {
                $places[] = (float) $line->getAttribute('x1');
            }
        }
        foreach ($picture->getElementsByTagName('text') as $text) {
            $names[$text->textContent] = $text->getAttribute('class');
        }
        $sorted = $places;
        \sort($sorted);

        self::assertSame($sorted, $places);
        self::assertCount(\count(\preg_grep('~^engines/.*/50x50/read/~', \array_map(static fn(Result $result): string => $result->cell->id(), $report->results)) ?: []), $places);
        self::assertSame(\count($places), $picture->getElementsByTagName('path')->length);
        self::assertSame('ours', $names['SQLite through Larder, igbinary'] ?? null);
        self::assertSame('', $names['Redis by phpredis, socket, igbinary, other core'] ?? null);
        self::assertArrayNotHasKey('redis:socket:igbinary', $names);
    }

    public function testWhatSpeaksAgainstTrustingItIsSaidFirst(): void
    {
        $page = (new Html())->render(Fixture::report(['partial' => true]));
        $header = \substr($page, 0, (int) \strpos($page, '<main'));

        foreach (['Partial: stopped before its end', 'Noisy machine: differences of 10 % cannot be told', '1 disqualified'] as $mark) {
            self::assertStringContainsString($mark, $header);
        }
    }

    /**
     * getElementsByTagName() begins anew for each of them, and there are many.
     *
     * @return list<\DOMElement>
     */
    private static function elements(\DOMDocument $document, string $name = '*'): array
    {
        $elements = (new \DOMXPath($document))->query("//$name");
        self::assertInstanceOf(\DOMNodeList::class, $elements);

        return \array_values(\array_filter(\iterator_to_array($elements), static fn(\DOMNode|\DOMNameSpaceNode $node): bool => $node instanceof \DOMElement));
    }

    private static function parse(string $page): \DOMDocument
    {
        $document = new \DOMDocument();
        $before = \libxml_use_internal_errors(true);
        $document->loadHTML($page, \LIBXML_NONET | \LIBXML_PARSEHUGE);
        \libxml_use_internal_errors($before);

        return $document;
    }
}
