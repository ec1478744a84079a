<?php

// Makes a picture (SVG) of what the demonstration prints; arguments are the numbers of the acts that are in it:
//
//     FORCE_COLOR=1 php demo/run.php | php demo/picture.php 1 4 5 7 > docs/images/demo.svg

declare(strict_types=1);

const COLUMN = 8.43;
const ROW = 19;
const MARGIN = 22;
const COLOURS = ['1' => ['#f0f6fc', true], '2' => ['#7d8590', false], '32' => ['#3fb950', false], '33' => ['#d29922', false], '36' => ['#39c5cf', false], '1;36' => ['#39c5cf', true], '1;31' => ['#f85149', true], '1;33' => ['#d29922', true]];

$wanted = array_slice($argv, 1);
$lines = [];
$act = '';
foreach (explode("\n", rtrim((string) stream_get_contents(STDIN))) as $line) {
    if (preg_match('/^\e\[36m──\e\[0m\e\[1;36m (\d+) /u', $line, $match) === 1) {
        $act = $match[1];
    }
    if ($act === '' || $wanted === [] || in_array($act, $wanted, true)) {
        $lines[] = $line;
    }
}

$text = '';
foreach ($lines as $row => $line) {
    $column = 0;
    preg_match_all('/(?:\e\[([\d;]+)m)?([^\e]+)(?:\e\[0m)?/u', $line, $runs, PREG_SET_ORDER);
    foreach ($runs as [, $code, $run]) {
        $length = (int) preg_match_all('/./us', $run);
        $lead = $length - (int) preg_match_all('/./us', ltrim($run, ' '));
        [$colour, $bold] = COLOURS[$code] ?? ['#c9d1d9', false];
        if (trim($run) !== '') {
            // Each run has its place and its length, so that columns stay columns in whatever font there is.
            $text .= sprintf(
                '<text x="%.2f" y="%d" textLength="%.2f" lengthAdjust="spacingAndGlyphs" fill="%s"%s>%s</text>' . "\n",
                MARGIN + ($column + $lead) * COLUMN,
                MARGIN + 14 + $row * ROW,
                ((int) preg_match_all('/./us', trim($run, ' '))) * COLUMN,
                $colour,
                $bold ? ' font-weight="bold"' : '',
                htmlspecialchars(trim($run, ' '), ENT_XML1),
            );
        }
        $column += $length;
    }
}

$width = (int) ceil(2 * MARGIN + 88 * COLUMN);
$height = 2 * MARGIN + count($lines) * ROW;
echo <<<SVG
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height" width="$width" height="$height" xml:space="preserve">
    <title>What make demo prints</title>
    <rect width="$width" height="$height" rx="10" fill="#0d1117"/>
    <g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">
    $text</g>
    </svg>

    SVG;
