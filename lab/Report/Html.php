<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Report\Page\Data;
use Larder\Lab\Report\Page\Front;
use Larder\Lab\Report\Page\Markup;
use Larder\Lab\Report\Page\Method;
use Larder\Lab\Report\Page\Pictures;
use Larder\Lab\Report\Page\Sections;
use Larder\Lab\Run\Report;

/**
 * A report as one page that needs nothing else: no file beside it, and no request to anywhere.
 *
 * All text and all tables are in the HTML; the script (Page/bundle.js, made by Page/build.mjs) only draws pictures of
 * them. The page's own policy forbids it everything but that one script, by its hash.
 */
final class Html
{
    private const TITLE = 'What caches for PHP cost here';

    /** @throws \RuntimeException if a part of the page is not where it was installed */
    public function render(Report $report): string
    {
        $findings = new Findings();
        $tables = new Tables($report);
        $pictures = new Pictures($report, $findings);
        $data = new Data($report);
        $script = self::part('bundle.js');
        $mark = "document.documentElement.classList.add('js')";
        $policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src " . self::hash($mark) . ' ' . self::hash($script) . "; base-uri 'none'; form-action 'none'";
        $sections = (new Sections($report, $tables, $pictures))->render();

        return '<!doctype html>' . "\n"
            . '<html lang="en"><head><meta charset="utf-8">' . "\n"
            . Markup::void('meta', ['http-equiv' => 'Content-Security-Policy', 'content' => $policy]) . "\n"
            . Markup::void('meta', ['name' => 'viewport', 'content' => 'width=device-width, initial-scale=1']) . "\n"
            . Markup::void('meta', ['name' => 'color-scheme', 'content' => 'light dark']) . "\n"
            . Markup::void('meta', ['name' => 'referrer', 'content' => 'no-referrer']) . "\n"
            . Markup::void('link', ['rel' => 'icon', 'href' => 'data:,']) . "\n"
            . Markup::element('title', self::TITLE . ' · ' . \substr($report->started, 0, 10)) . "\n"
            . '<style>' . self::part('page.css') . "</style>\n<script>$mark</script></head>\n<body>\n"
            . (new Front($report, $findings, $tables))->render(self::TITLE)
            . "<main>\n$sections" . (new Method($report))->render() . "</main>\n"
            . '<script type="application/json" id="data">' . $data->json($pictures->all()) . "</script>\n"
            . "<script>$script</script>\n</body></html>\n";
    }

    private static function part(string $name): string
    {
        $path = __DIR__ . "/Page/$name";
        $text = \is_file($path) ? \file_get_contents($path) : false;

        return $text !== false ? $text : throw new \RuntimeException("Cannot read the page's part $path: install Larder again.");
    }

    private static function hash(string $script): string
    {
        return "'sha256-" . \base64_encode(\hash('sha256', $script, true)) . "'";
    }
}
